# SPDX-License-Identifier: MIT
"""Downloads and radio lines, as people met them elsewhere."""

import random
import ssl
from types import SimpleNamespace

import capsule_cases as cases
import pytest
from test_client_tls import TlsServer, certificates  # noqa: F401 (a fixture)

from acclimate.pull import Client, Receiver, sockets
from acclimate.pull import client as client_module
from acclimate.pull.blocks import READY
from acclimate.store import delta
from acclimate_host import cli
from acclimate_host.capsules.blocks import Sender, block_bytes_for
from acclimate_host.capsules.repository import Repository
from acclimate_host.commands import send as send_command
from acclimate_host.connect import open_board, why_not
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Refused
from acclimate_host.testing.nor import NorFlash
from harness import web
from harness.errors import naming

KB = 1024


# ---- a GATT characteristic -----------------------------------------------------------------


class Gatt:
    """Writes without response and notifications of one connection, as bad as they are.

    Both sides offer an ATT MTU and the smaller counts. What is longer than MTU - 3, or than the
    512 bytes of an attribute, loses its end, and nobody is told.
    """

    def __init__(self, receiver, ours=517, theirs=247, loss=0.0, seed=1):
        self.receiver, self.mtu = receiver, min(ours, theirs)
        self.loss, self.draw = loss, random.Random(seed)
        self.up, self.longest, self.lost = [], 0, 0

    def _carry(self, packet):
        self.longest = max(self.longest, len(packet))
        if self.draw.random() < self.loss:
            self.lost += 1
            return None
        return bytes(packet[: min(512, self.mtu - 3)])

    def send(self, packet):
        packet = self._carry(packet)
        answer = self.receiver.take(packet, len(packet)) if packet else None
        answer = self._carry(answer) if answer else None
        if answer:
            self.up.append(answer)

    def receive(self, timeout_s):
        return self.up.pop(0) if self.up else None


def store_of(size=0):
    store = cases.store(cases.flash(8) if not size else NorFlash(size, 4096))
    store.swap_capsule(cases.capsule(1))
    return store


@pytest.mark.case("C6", "C7")
@pytest.mark.parametrize("theirs", [23, 27, 48, 100, 185, 247, 512, 515, 517, 984])
def test_the_block_follows_the_mtu_and_nothing_is_cut(theirs):
    new = cases.capsule(2, cases.weights(1500, 2))
    store = store_of()
    line = Gatt(Receiver(store, 8, 1024), theirs=theirs, ours=984)
    block = block_bytes_for(line.mtu, is_ble=True)
    sender = Sender(new, block)
    sender.run(line.send, line.receive)
    assert line.receiver.state == READY and line.longest <= min(512, line.mtu - 3)
    assert block + 9 == min(512, line.mtu - 3)
    assert sender.rate() == pytest.approx(len(new) / sender.seconds)
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.case("C11")
def test_only_twenty_bytes_arrive_at_the_smallest_mtu_and_a_refusal_does_too():
    line = Gatt(Receiver(store_of(), 64, 64), theirs=23)
    sender = Sender(cases.capsule(2, key=bytes(32)), block_bytes_for(23, is_ble=True))
    with pytest.raises(Refused, match="authentici"):
        sender.run(line.send, line.receive)
    assert line.longest <= 20


@pytest.mark.case("C7")
def test_a_longer_write_than_the_line_carries_is_never_taken_for_a_whole_one():
    """600 bytes in one write: the receiver sees 512 and waits, the old model stays."""
    store = store_of()
    line = Gatt(Receiver(store, 8, 1024), theirs=984, ours=984)
    sender = Sender(cases.capsule(2, cases.weights(1500, 2)), 600 - 9)
    with pytest.raises(AcclimateError, check=naming(0, 600)):
        sender.run(line.send, line.receive, timeout_s=0, tries=5)
    assert line.longest == 600 and line.receiver.state != READY
    assert cases.active(store) == cases.capsule(1)


@pytest.mark.case("C8")
@pytest.mark.parametrize("seed", range(3))
def test_no_loss_in_a_burst_of_hundreds_of_packets_is_invisible(seed):
    new = cases.capsule(2, cases.weights(9000, 2))
    store = store_of(8 * 4096)
    line = Gatt(Receiver(store, 64, 64), theirs=27, loss=0.2, seed=seed)
    sender = Sender(new, block_bytes_for(27, is_ble=True))
    assert sender.count > 500
    sender.run(line.send, line.receive, timeout_s=0, tries=200)
    assert line.lost > 80 and line.receiver.state == READY
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.case("B10", "C5")
def test_fifty_kilobytes_travel_in_small_numbered_blocks():
    new = cases.capsule(2, cases.weights(50 * KB, 2))
    store = store_of(32 * 4096)
    receiver, longest = Receiver(store, 8, 240), 0
    draw, up, held = random.Random(5), [], []

    def put(packet):
        nonlocal longest
        longest = max(longest, len(packet))
        held.append(packet)
        if draw.random() < 0.1:
            held.append(packet)  # QoS 1 delivers at least once
        if len(held) > 1 and draw.random() < 0.3:
            held[-1], held[-2] = held[-2], held[-1]

    def get(_):
        for packet in held:
            answer = receiver.take(packet, len(packet))
            if answer:
                up.append(answer)
        held.clear()
        return up.pop(0) if up else None

    Sender(new, 240).run(put, get, tries=50)
    assert receiver.state == READY and longest <= 249
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.case("C6", "C10")
def test_time_is_told_before_anything_is_sent_and_the_rate_after(tmp_path, monkeypatch, capsys):
    (tmp_path / "m").write_bytes(cases.capsule(2, cases.weights(150 * KB, 2)))

    def send(data, *_, **__):
        said = capsys.readouterr().out
        assert f"{len(data):,} bytes, at least 65 s at 2457 bytes/s" in said
        return 700, 70.0

    monkeypatch.setattr(send_command, "send", send)
    command = ["send", str(tmp_path / "m"), "--mqtt", "127.0.0.1", "--topic", "t"]
    assert cli.main([*command, "--rate", "2457"]) in (0, None)
    assert "700 packets, 70.0 s, 2,196 bytes/s" in capsys.readouterr().out


# ---- little heap ---------------------------------------------------------------------------


class Tight:
    """A socket of a board whose heap has room for reads of 100 bytes only."""

    def __init__(self, sock, sizes):
        self._sock, self._sizes = sock, sizes

    def __getattr__(self, name):
        return getattr(self._sock, name)

    def recv_into(self, buffer):
        self._sizes.append(len(buffer))
        if len(buffer) > 100:
            raise MemoryError
        return self._sock.recv_into(buffer)


@pytest.fixture
def served(tmp_path):
    repository = Repository(tmp_path / "repository", cases.KEY)
    repository.publish(cases.capsule(2))
    with web.Server(web.files(repository.folder)) as server:
        server.repository = repository
        yield server


@pytest.mark.case("C4")
def test_the_buffer_of_a_download_shrinks_until_it_fits(served, monkeypatch):
    store, sizes, real = store_of(), [], sockets.connect
    monkeypatch.setattr(sockets, "connect", lambda *where: Tight(real(*where), sizes))
    assert Client(store, served.url, wait_s=0).pull()
    assert sizes[:4] == [512, 256, 128, 64] and set(sizes[3:]) == {64}
    store.confirm()
    assert cases.active(store) == cases.capsule(2)


@pytest.mark.case("C4")
def test_where_nothing_fits_one_line_says_so_and_the_model_stays(served, monkeypatch):
    store, real = store_of(), sockets.connect

    def refuse(*where):
        real(*where).close()
        raise MemoryError

    monkeypatch.setattr(sockets, "connect", refuse)
    client = Client(store, served.url, wait_s=0)
    with pytest.raises(MemoryError, match="bytes of heap free, too few; https needs more"):
        client.pull()
    assert cases.active(store) == cases.capsule(1)
    monkeypatch.setattr(sockets, "connect", real)
    assert client.pull()  # the heap has room again


@pytest.mark.case("C4")
def test_an_update_that_does_not_fit_the_heap_gives_way_to_the_whole(served, monkeypatch):
    store = store_of()
    new = cases.capsule(3, cases.tuned(cases.weights(301, 1), 5))
    manifest = served.repository.publish(new, bases=[cases.capsule(1)])
    assert min(e.size for e in manifest.entries) < len(new)

    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(delta, "Updater", refuse)
    assert Client(store, served.url, wait_s=0).pull()
    assert served.requests[-1].path == "/objects/" + manifest.entries[0].name
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.case("C4")
def test_heap_that_ends_while_a_model_is_written_keeps_the_old_one(served, monkeypatch):
    store = store_of()

    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(store, "write", refuse)
    with pytest.raises(OSError, match="no heap for what came"):
        Client(store, served.url, wait_s=0).pull()
    assert cases.active(cases.store(store.flash)) == cases.capsule(1)


def test_a_buffer_larger_than_the_heap_is_halved_at_once(monkeypatch):
    def limited(size):
        if size > 200:
            raise MemoryError
        return real(size)

    real = bytearray
    monkeypatch.setattr(client_module, "bytearray", limited, raising=False)
    store = SimpleNamespace(wanted=SimpleNamespace(model=7))
    client = Client(store, "http://a", buffer_bytes=4096)
    assert len(client._buffer) == 128


_TLS = """
import gc, ssl
from acclimate.store import Store, Updater, Wanted
from acclimate.pull import Client
from acclimate.flash import FileFlash
store = Store(FileFlash("region", 65536), Wanted(model=7, key={key!r}), chunk_bytes=64)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.verify_mode = ssl.CERT_REQUIRED
context.load_verify_locations(cadata={certificate!r})
gc.collect()
# What is not in the room is taken to the last pieces: those that an import left are no room.
room, hold, size = bytearray(30 * 1024), None, 512
while size >= 16:
    try:
        hold = (hold, bytearray(size))
    except MemoryError:
        size //= 2
room = None
gc.collect()
client = Client(store, {url!r}, wait_s=0, attempts=3, context=context, buffer_bytes=4096)
print(gc.mem_free() < 31 * 1024, client.pull(), store.state)
"""


@pytest.mark.case("C4")
def test_tls_with_thirty_kilobytes_of_heap(tmp_path, certificates):  # noqa: F811
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    repository = Repository(tmp_path / "repository", cases.KEY)
    repository.publish(cases.capsule(2, cases.weights(20 * KB, 1)))
    der = ssl.PEM_cert_to_DER_cert(certificates[0][0].read_text())
    with TlsServer(web.files(repository.folder), *certificates[0]) as server:
        with open_board("desktop", heap_bytes=400 * KB) as board:
            install(board, only=["pull"], yes=True)
            code = _TLS.format(key=cases.KEY, certificate=der, url=server.url)
            assert board.exec(code) == "True True verified\n"
