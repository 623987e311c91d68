# SPDX-License-Identifier: MIT
"""Training with pages on every kind of medium: gradients and weights as without a plan, bit for
bit, pages checked, wear stopped at its budget."""

import os
import pty
import threading
import tty

import numpy as np
import pytest
from net_cases import sample, stored, trained_net, values_for
from test_net_paging_float import float_network

from acclimate.flash import BlockFlash, FileFlash
from acclimate.net import FloatNet, Net
from acclimate.pager import Card, Files, Host, Pager, PagerError, SpiRam
from acclimate_host.compile.encode import encode
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.connect.pages import PageKeeper
from acclimate_host.paths import built
from acclimate_host.poet.fit import fit
from acclimate_host.sparse.scheme import full
from acclimate_host.testing.nor import NorFlash
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(
    not built("twin", "libacclimate_net.so").exists(), reason="run: make twin"
)
SIZE = 1 << 15
OPTIONS = dict(recompute=False, time_limit=600, gap=0.3)
_GATHER = 16  # field of the state: whether gathered gradients move the weights


class Blocks:
    """A block device of 512-byte blocks in memory; `erasable`: raw flash of 4096-byte blocks."""

    def __init__(self, erasable=False):
        self.data, self.size = bytearray(2 * SIZE), 4096 if erasable else 512
        self.erasable = erasable

    def readblocks(self, block, buffer, offset=0):
        at = block * self.size + offset
        buffer[:] = self.data[at : at + len(buffer)]

    def writeblocks(self, block, buffer, offset=None):
        at = block * self.size + (offset or 0)
        old = self.data[at : at + len(buffer)]
        if self.erasable and offset is not None:  # flash clears bits only
            assert bytes(a & b for a, b in zip(old, buffer, strict=True)) == bytes(buffer)
        self.data[at : at + len(buffer)] = buffer

    def ioctl(self, what, block):
        if what == 6 and self.erasable:
            self.data[block * self.size : (block + 1) * self.size] = b"\xff" * self.size
        return {4: len(self.data) // self.size, 5: self.size}.get(what, 0)


class Chip:
    """A serial RAM behind SPI and its chip select."""

    def __init__(self):
        self.data, self.at, self.begun = bytearray(SIZE), None, False

    def value(self, level):
        self.begun = not level
        self.at = None

    def write(self, data):
        assert self.begun
        if self.at is None:
            self.at, self.code = int.from_bytes(data[1:4], "big"), data[0]
            return
        assert self.code == 2
        self.data[self.at : self.at + len(data)] = data

    def readinto(self, buffer):
        assert self.begun and self.code == 3
        buffer[:] = self.data[self.at : self.at + len(buffer)]


def serial_line():
    """A Host on one end of a serial line (a pseudo-terminal), its keeper on the other."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    keeper = PageKeeper(SIZE)
    theirs = os.fdopen(master, "rb+", 0)

    def serve():
        try:
            keeper.serve(theirs)
        except OSError:
            pass  # the board has hung up

    threading.Thread(target=serve, daemon=True).start()
    return Host(_Whole(os.fdopen(slave, "rb+", 0)), SIZE)


class _Whole:
    """A stream whose readinto waits for the whole buffer, as machine.UART's with a timeout."""

    def __init__(self, stream):
        self.stream, self.write = stream, stream.write

    def readinto(self, buffer):
        view, done = memoryview(buffer), 0
        while done < len(view):
            done += self.stream.readinto(view[done:])
        return done


MEDIA = {
    "flash file": lambda folder: FileFlash(str(folder / "pages.bin"), SIZE, erase_bytes=4096),
    "a file to a block": lambda folder: Files(str(folder / "pages"), SIZE // 1024, 1024),
    "raw flash": lambda folder: BlockFlash(Blocks(erasable=True)),
    "SD card": lambda folder: Card(Blocks(), 3, SIZE // 512),
    "SPI RAM": lambda folder: SpiRam(*[Chip()] * 2, SIZE),
    "host over serial": lambda folder: serial_line(),
}


@pytest.fixture(scope="module")
def case():
    """(network, program without a plan, Fitted with pages, samples)."""
    twin_net.register()
    graph = trained_net(1)
    network = values_for(graph, 1)
    plain = encode(plain_step(graph, full(graph)), network)
    found = fit(network, full(graph), 1800, **OPTIONS)
    assert found.program.arena_bytes <= 1800 < plain.arena_bytes and found.page_bytes
    random = np.random.default_rng(1)
    return plain, found, [stored(sample(graph, random)) for _ in range(3)]


def trained(program, samples, pager=None):
    net = Net(bytearray(program.code), program.weights, seed=7, pager=pager)
    net.set_rate(20000, -18)
    return [net.train_step(x, i % 2) for i, x in enumerate(samples)], bytes(net.weights())


@pytest.mark.parametrize("name", MEDIA)
def test_every_medium_trains_to_the_same_bits(name, case, tmp_path):
    plain, found, samples = case
    pager = Pager(MEDIA[name](tmp_path), endurance=10000)
    assert trained(found.program, samples, pager) == trained(plain, samples)
    steps = len(samples)
    assert pager.written_bytes == steps * sum(found.page_bytes) > 0
    assert pager.erases == steps * sum(map(pager.blocks_for, found.page_bytes))
    assert pager.erases_left() == 10000 * pager.blocks - pager.erases


@pytest.mark.parametrize("byte", [0, 40, 60])
def test_a_damaged_page_stops_the_step(byte, case):
    _, found, samples = case
    chip = Chip()
    pager = Pager(SpiRam(chip, chip, SIZE))
    page_in = pager.page_in

    def damaged(number, view):
        chip.data[pager._places[number] * pager.block_bytes + byte] ^= 1
        page_in(number, view)

    pager.page_in = damaged
    with pytest.raises(PagerError, match="is damaged|is not there any more"):
        trained(found.program, samples, pager)


def test_training_stops_at_the_erase_budget_and_not_before(case):
    _, found, samples = case
    flash = NorFlash(8 * 512, 512)
    each = sum(-(-(size + 32) // 512) for size in found.page_bytes)
    pager = Pager(flash, endurance=each)  # so as many steps as there are blocks
    for _ in range(pager.blocks):
        trained(found.program, samples[:1], pager)
    most = pager.blocks * each
    assert pager.erases_left() == 0 and sum(flash.erases) == most and max(flash.erases) == each
    with pytest.raises(PagerError, check=naming(most, most)):
        trained(found.program, samples[:1], pager)
    assert sum(flash.erases) == most


def gathered(program, kind, samples, pager=None):
    """Bytes of the gradients that some steps gather, the weights standing still."""
    net = kind(bytearray(program.code), program.weights, seed=7, pager=pager)
    net.set_rate(*((0.05,) if kind is FloatNet else (20000, -18)))
    net._put(_GATHER, 0)
    for i, x in enumerate(samples):
        net.train_step(x, i % 2)
    at, size = program.field("state"), program.field("kept_bytes")
    assert bytes(net.weights()) == program.weights
    return bytes(net._arena[at : at + size])


@pytest.mark.parametrize("number", ["int8", "float32"])
def test_gradients_with_a_plan_are_equal_to_the_bit(number, case):
    graph, random = trained_net(1), np.random.default_rng(3)
    if number == "int8":
        network, kind, samples = values_for(graph, 1), Net, case[2]
    else:
        network, kind = float_network(graph), FloatNet
        channels, height, width = graph["x"].shape
        samples = [
            random.normal(size=(height, width, channels)).astype("<f4").tobytes() for _ in range(2)
        ]
    plain = encode(plain_step(graph, full(graph)), network, "accumulate")
    ram = int(0.9 * plain.arena_bytes)
    found = fit(network, full(graph), ram, optimizer="accumulate", **OPTIONS)
    assert found.program.arena_bytes <= ram and found.page_bytes
    wanted = gathered(plain, kind, samples)
    chip = Chip()
    got = gathered(found.program, kind, samples, Pager(SpiRam(chip, chip, SIZE)))
    assert got == wanted and len(set(got)) > 20
