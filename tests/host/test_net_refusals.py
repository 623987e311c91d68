# SPDX-License-Identifier: MIT
"""What a network refuses says why: other releases, damage of any byte, arenas, labels, numbers."""

import subprocess

import capsule_cases as cases
import numpy as np
import pytest
from net_cases import sample, schemes, step_of, stored, trained_net, values_for

from acclimate import _native
from acclimate.net import Net, NetError
from acclimate.net import interpreter as _net_py
from acclimate.store import WEIGHTS
from acclimate_host.compile.encode import encode
from acclimate_host.paths import repository
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


@pytest.fixture(autouse=True)
def twin():
    twin_net.register()
    yield
    twin_net.register()


@pytest.fixture(scope="module")
def case():
    graph = trained_net(0)
    program = encode(step_of(graph, schemes(graph)[0]), values_for(graph, 0))
    return program, bytes(stored(sample(graph, np.random.default_rng(0)))), graph


def refused(function, *arguments, **named):
    with pytest.raises(NetError) as caught:
        function(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def core_with(tmp_path, old, new):
    """A core in which one definition of the format differs."""
    source = repository() / "native_modules" / "net"
    for file in source.glob("*.[ch]"):
        text = file.read_text()
        if file.name == "net_format.h":
            assert old in text
            text = text.replace(old, new)
        (tmp_path / file.name).write_text(text)
    files = [str(f) for f in tmp_path.glob("*.c") if not f.name.endswith("_mod.c")]
    command = "gcc -std=c99 -O0 -ffp-contract=off -shared -fPIC -o core.so".split()
    subprocess.run([*command, *files, "-lm"], cwd=tmp_path, check=True)
    return twin_net.load(tmp_path / "core.so")


@pytest.mark.case("J7")
@pytest.mark.parametrize(
    "old, new, where",
    [
        pytest.param(
            "#define NET_FORMAT 6\n",
            "#define NET_FORMAT 1\n",
            "open",
            marks=pytest.mark.slow,
        ),
        ("#define NET_OP_CONV 1\n", "#define NET_OP_CONV 30\n", "predict"),
    ],
)
def test_a_native_module_of_another_release_is_named(case, tmp_path, old, new, where):
    program, x, _ = case
    _native.register("net", core_with(tmp_path, old, new))
    if where == "open":
        text = refused(Net, program.code, program.weights)
    else:
        text = refused(Net(program.code, program.weights).predict, x)
    assert "native module" in text and "release: install again" in text


@pytest.mark.case("J7")
def test_a_program_of_another_release_is_named(case):
    program, _, _ = case
    old = bytearray(program.code)
    old[4] = 1
    assert refused(Net, bytes(old), program.weights) == "program: format 1; this release runs 6"


@pytest.mark.parametrize("has_binascii", [True, False])
def test_any_flipped_bit_of_a_program_is_refused(case, monkeypatch, has_binascii):
    """Of the header too: small modules trust what the CRC covers."""
    program, _, _ = case
    if not has_binascii:
        monkeypatch.setitem(__import__("sys").modules, "binascii", None)
    for i in [*range(72), *range(72, len(program.code), 7 if has_binascii else 29)]:
        for bit in range(8) if has_binascii and i < 72 else (i % 8,):
            changed = bytearray(program.code)
            changed[i] ^= 1 << bit
            refused(Net, bytes(changed), program.weights)


@pytest.mark.case("J7")
def test_programs_of_every_length_are_refused(case):
    program, _, _ = case
    for length in [*range(0, 200), *range(200, len(program.code), 37)]:
        refused(Net, program.code[:length], program.weights)


@pytest.mark.parametrize("native", [None, _net_py])
def test_labels_inputs_and_arenas_out_of_range(case, native):
    program, x, graph = case
    classes = graph["fc.y"].shape[0]
    net = Net(program.code, program.weights)
    net._native = native or net._native
    before = bytes(net._arena)
    for label in (-1, classes, classes + 1, 1 << 20):
        assert f"label: expected 0 to {classes - 1}" in refused(net.train_step, x, label)
    for wrong in (b"", x[:-1], x + b"0"):
        assert "x: expected" in refused(net.predict, wrong)
        assert "x: expected" in refused(net.train_step, wrong, 0)
    for wrong in (np.zeros(len(x)), [0.0] * len(x)):
        assert "x: expected" in refused(net.predict, wrong)
    for wrong in (np.zeros(len(x), np.float32), np.zeros(len(x), np.int16)):
        assert refused(net.predict, wrong) == "x: expected bytes, got wider numbers"
    for label in (np.zeros(classes, int), None, 0.0, "a"):
        assert "label: expected" in refused(net.train_step, x, label)
    for rate in (-0.1, float("nan"), float("inf"), 1 << 41):
        assert "rate: expected" in refused(net.set_rate, rate)
    for momentum in (-1, 1.01, 230, 256, float("nan")):
        assert "momentum: expected" in refused(net.set_momentum, momentum)
    assert bytes(net._arena) == before
    short = bytearray(program.arena_bytes - 1)
    assert f"this program needs {program.arena_bytes}" in refused(
        Net, program.code, program.weights, short
    )
    assert bytes(short) == bytes(len(short))


def test_the_interpreter_takes_the_inputs_that_the_core_takes(case):
    """Signed or not, of numpy or not: stored values are the same bytes to both."""
    program, x, _ = case
    values = np.random.default_rng(3).integers(-128, 128, len(x), np.int8)
    found = []
    for native in (None, _net_py):
        for x in (values.tobytes(), values, values.view(np.uint8), memoryview(values)):
            net = Net(program.code, program.weights)
            net._native = net._trainer = native or net._native
            net.set_rate(0.01)
            best, share = net.predict(x), net.train_step(x, 1)
            found.append((best, share, bytes(net.outputs()), bytes(net.weights())))
    assert len(set(found)) == 1


def test_outputs_come_as_the_real_numbers_that_they_mean(case):
    program, x, graph = case
    network = values_for(graph, 0)
    net = Net(program.code, program.weights)
    net.predict(x)
    wanted = network.real_output(np.frombuffer(bytes(net.outputs()), np.int8))
    assert net.real_outputs() == pytest.approx(wanted, rel=1e-6)
    assert net.best() == int(np.argmax(wanted))
    net.set_rate(0.05)
    assert sum(1 for _ in net.train([(x, 0)], budget=0)) > 1  # as 1: it always goes on


def test_an_arena_of_just_its_bytes_is_enough_and_nothing_beyond_is_touched(case):
    program, x, _ = case
    arena = bytearray(b"\xa5" * (program.arena_bytes + 64))
    net = Net(program.code, program.weights, arena)
    net.set_rate(0.05)
    for label in (0, 1):
        net.train_step(x, label)
    assert arena[program.arena_bytes :] == b"\xa5" * 64
    other = Net(program.code, program.weights, bytearray(program.arena_bytes))
    other.set_rate(0.05)
    for label in (0, 1):
        other.train_step(x, label)
    assert bytes(other.weights()) == bytes(net.weights())


def test_what_was_trained_goes_to_a_store_and_comes_back_after_a_reset(case):
    program, x, _ = case
    kept = cases.store(cases.flash(slot_pages=24))
    kept.swap_capsule(cases.capsule(1, program.weights))
    net = Net(program.code, kept.view(WEIGHTS))
    assert net.save(kept) is False  # nothing was learned yet
    net.set_rate(0.05)
    net.train_step(x, 1)
    assert net.save(kept) is True
    again = cases.store(kept.flash)
    other = Net(program.code, program.weights)
    other.load(again)
    assert bytes(other.weights()) == bytes(net.weights()) != program.weights
    kept.swap_capsule(cases.capsule(2, bytes(8)))
    assert f"expected {len(program.weights)} bytes, got 8" in refused(other.load, kept)
    assert bytes(other.weights()) == bytes(net.weights())
