# SPDX-License-Identifier: MIT
"""The block protocol over lines that lose, repeat, reorder and damage packets."""

import random

import capsule_cases as cases
import pytest

from acclimate.pull import Receiver
from acclimate.pull.blocks import READY, REFUSED
from acclimate.store import CapsuleError
from acclimate_host.capsules.blocks import Sender, block_bytes_for
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.encryption import seal
from acclimate_host.errors import AcclimateError, Refused
from acclimate_host.testing.nor import PowerCut
from harness.errors import naming


class Line:
    """Two directions; each packet may be lost, doubled, delayed or damaged."""

    def __init__(self, receiver, seed, loss=0.0, double=0.0, reorder=0.0, damage=0.0):
        self.receiver = receiver
        self.draw = random.Random(seed)
        self.loss, self.double, self.reorder, self.damage = loss, double, reorder, damage
        self.down, self.up = [], []

    def _carry(self, queue, packet):
        if self.draw.random() < self.loss:
            return
        packet = bytearray(packet)
        if self.draw.random() < self.damage:
            packet[self.draw.randrange(len(packet))] ^= 1 << self.draw.randrange(8)
        place = len(queue)
        if queue and self.draw.random() < self.reorder:
            place = self.draw.randrange(len(queue))
        queue.insert(place, bytes(packet))
        if self.draw.random() < self.double:
            queue.append(bytes(packet))

    def send(self, packet):
        self._carry(self.down, packet)

    def receive(self, timeout_s):
        for packet in self.down:
            answer = self.receiver.take(packet, len(packet))
            if answer:
                self._carry(self.up, answer)
        self.down.clear()
        return self.up.pop(0) if self.up else None


def kept():
    store = cases.store(cases.flash(8))
    store.swap_capsule(cases.capsule(1))
    return store


LINES = {
    "good": {},
    "lossy": {"loss": 0.3},
    "doubling": {"double": 0.5},
    "reordering": {"reorder": 0.7, "double": 0.2},
    "damaging": {"damage": 0.3},
    "all": {"loss": 0.25, "double": 0.2, "reorder": 0.5, "damage": 0.15},
}


@pytest.mark.case("C5")
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("window,block", [(1, 11), (8, 40), (20, 200)])
def test_a_capsule_arrives_whatever_the_line_does(name, window, block):
    new = cases.capsule(2, cases.weights(1500, 2))
    for seed in range(3):
        store = kept()
        receiver = Receiver(store, window, 240)
        line = Line(receiver, seed, **LINES[name])
        Sender(new, block).run(line.send, line.receive, tries=200)
        assert receiver.state == READY and store.state == "verified", seed
        store.confirm()
        assert cases.active(store) == new


@pytest.mark.parametrize("name", ["good", "all"])
def test_an_update_arrives_too(name):
    new = cases.capsule(2, cases.tuned(cases.weights(301, 1), 3))
    store = kept()
    line = Line(Receiver(store, 8, 64), 5, **LINES[name])
    Sender(update(cases.capsule(1), new), 48).run(line.send, line.receive, tries=200)
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.case("C8")
def test_a_good_line_needs_no_block_twice():
    new = cases.capsule(2, cases.weights(1500, 2))
    line = Line(Receiver(kept(), 8, 64), 1)
    sender = Sender(new, 64)
    sender.run(line.send, line.receive)
    windows = -(-sender.count // 8)
    assert sender.sent <= sender.count + 2 * windows + 2


def test_a_reset_goes_on_from_the_last_whole_page():
    new = cases.capsule(2, cases.weights(1700, 2))
    store = kept()
    receiver = Receiver(store, 4, 64)
    line = Line(receiver, 1)
    store.flash.cut_after(300)
    with pytest.raises(PowerCut):
        Sender(new, 64, 9).run(line.send, line.receive)
    store.flash.power_on()
    again = cases.store(store.flash)
    assert cases.active(again) == cases.capsule(1)
    receiver = Receiver(again, 4, 64)
    line = Line(receiver, 1)
    sender = Sender(new, 64, 10)
    sender.run(line.send, line.receive)
    assert sender.sent < sender.count  # pages that were whole were not sent again
    again.confirm()
    assert cases.active(again) == new


def test_an_interrupted_transfer_gives_way_to_another_session():
    store = kept()
    receiver = Receiver(store, 4, 64)
    line = Line(receiver, 1)
    first = Sender(cases.capsule(2), 64, 1)
    line.send(first.offer())
    line.send(first.block(0))
    assert line.receive(0)
    new = cases.capsule(3)
    Sender(new, 64, 2).run(line.send, line.receive)
    line.send(first.block(1))  # a late packet of the old session
    assert line.receive(0) is None
    store.confirm()
    assert cases.active(store) == new


OBJECT_KEY = bytes(range(50, 82))


def keyed(store, window=8, block=240):
    return Receiver(store, window, block, object_key=OBJECT_KEY)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("window,block", [(1, 40), (8, 40), (20, 200), (4, 240)])
def test_an_encrypted_capsule_arrives_whatever_the_line_does(name, window, block):
    for seed, more in enumerate((0, 1, 2, 3)):  # lengths around whole pages of 512 bytes
        new = cases.capsule(2, cases.weights(1500, 2))
        new = cases.capsule(2, cases.weights(1500 - len(new) % 512 + more, 2))
        store = kept()
        line = Line(keyed(store, window), seed, **LINES[name])
        Sender(seal(new, OBJECT_KEY), block).run(line.send, line.receive, tries=200)
        assert store.state == "verified", more
        store.confirm()
        assert cases.active(store) == new


@pytest.mark.parametrize("name", ["good", "all"])
def test_an_encrypted_update_arrives_too(name):
    new = cases.capsule(2, cases.tuned(cases.weights(301, 1), 3))
    store = kept()
    line = Line(keyed(store, 8, 64), 5, **LINES[name])
    sealed = seal(update(cases.capsule(1), new), OBJECT_KEY)
    Sender(sealed, 48).run(line.send, line.receive, tries=200)
    store.confirm()
    assert cases.active(store) == new


@pytest.mark.parametrize("cut", range(150, 1850, 97))
def test_an_encrypted_capsule_goes_on_from_the_last_whole_page_after_a_reset(cut):
    new = cases.capsule(2, cases.weights(1700, 2))
    store = kept()
    store.flash.cut_after(cut)
    line = Line(keyed(store, 4, 64), 1)
    try:
        Sender(seal(new, OBJECT_KEY), 64, 9).run(line.send, line.receive)
    except PowerCut:
        pass
    store.flash.power_on()
    again = cases.store(store.flash)
    line = Line(keyed(again, 4, 64), 1)
    sender = Sender(seal(new, OBJECT_KEY), 64, 10)
    if again.state != "verified":
        sender.run(line.send, line.receive)
        if cut > 900:  # two pages of 512 bytes lie in the flash
            assert sender.sent < sender.count
    again.confirm()
    assert cases.active(again) == new


def test_what_is_plain_and_what_no_key_reads_are_refused_before_the_first_erase():
    new = cases.capsule(2)
    sealed = seal(new, OBJECT_KEY)
    for receiver, data, reason in (
        (keyed, new, "encryption"),
        (keyed, update(cases.capsule(1), new), "encryption"),
        (keyed, seal(new, bytes(32)), "encryption"),
        (keyed, seal(b"x" * 200, OBJECT_KEY), "magic"),
        (Receiver, sealed, "encryption"),
    ):
        store = kept()
        erases = store.journal.erases
        line = Line(receiver(store), 1)
        with pytest.raises(Refused, match=reason):
            Sender(data, 64).run(line.send, line.receive)
        assert store.journal.erases == erases and cases.active(store) == cases.capsule(1)
    with pytest.raises(CapsuleError, match="31 bytes"):
        Receiver(kept(), object_key=bytes(31))


def test_an_encrypted_file_that_was_changed_anywhere_is_never_taken():
    new = cases.capsule(2, cases.weights(1500, 2))
    sealed = seal(new, OBJECT_KEY)
    for at in [*range(0, 80, 3), *range(80, len(sealed), 61), len(sealed) - 1]:
        bad = bytearray(sealed)
        bad[at] ^= 1
        store = kept()
        line = Line(keyed(store, 4, 64), 1)
        with pytest.raises(Refused, match="encryption"):
            Sender(bytes(bad), 64).run(line.send, line.receive)
        assert cases.active(store) == cases.capsule(1)


@pytest.mark.parametrize("size", [1, 71, 72, 73, 88, 144, 160, 72 + 528 + 16, 72 + 528 + 1])
def test_a_length_that_no_encryption_makes_is_refused(size):
    line = Line(keyed(kept(), 4, 64), 1)
    with pytest.raises(Refused, match="size"):
        Sender(bytes(size), 64).run(line.send, line.receive)


@pytest.mark.parametrize(
    "capsule,reason",
    [
        (cases.capsule(1), "version"),
        (cases.capsule(2, key=bytes(32)), "authenticity"),
        (cases.capsule(2, board=4), "board"),
        (cases.capsule(2, cases.weights(5000, 1)), "oversized"),
        (b"x" * 200, "magic"),
        (cases.capsule(2) + b"1", "truncated"),
        (b"x" * 20, "size"),
    ],
)
def test_what_is_refused_is_named_before_the_first_erase(capsule, reason):
    store = kept()
    erases = store.journal.erases
    line = Line(Receiver(store, 4, 64), 1)
    with pytest.raises(Refused, match=reason):
        Sender(capsule, 64).run(line.send, line.receive)
    assert store.journal.erases == erases and cases.active(store) == cases.capsule(1)


def test_a_model_on_trial_is_not_overwritten():
    store = kept()
    new = cases.capsule(2)
    line = Line(Receiver(store, 4, 64), 1)
    Sender(new, 64, 1).run(line.send, line.receive)
    store.trial()
    with pytest.raises(Refused, match="store not ready"):
        Sender(cases.capsule(3), 64, 2).run(line.send, line.receive)
    assert cases.active(store) == new


@pytest.mark.case("E19")
def test_damage_that_the_sender_itself_made_is_found_at_the_end():
    store = kept()
    bad = bytearray(cases.capsule(2))
    bad[-1] ^= 1
    receiver = Receiver(store, 4, 64)
    line = Line(receiver, 1)
    with pytest.raises(Refused, match="integrity"):
        Sender(bytes(bad), 64).run(line.send, line.receive)
    assert receiver.state == REFUSED and cases.active(store) == cases.capsule(1)


def test_any_bytes_are_passed_over():
    receiver = Receiver(kept(), 4, 64)
    draw = random.Random(3)
    for _ in range(3000):
        packet = draw.randbytes(draw.randrange(0, 90))
        assert receiver.take(packet, len(packet)) is None
    sender = Sender(cases.capsule(2), 64, 1)
    for packet in (sender.offer(), sender.block(0), sender.ask()):
        for at in range(len(packet)):
            for n in (at, len(packet)):
                bad = bytearray(packet)
                bad[at] ^= 1
                assert receiver.take(bad, n) is None


def test_a_silent_device_is_an_error():
    with pytest.raises(AcclimateError, check=naming("3 x 0.5 s")):
        Sender(cases.capsule(2)).run(lambda packet: None, lambda wait: None, 0.5, 3)


@pytest.mark.case("C7")
def test_blocks_fit_the_line():
    assert block_bytes_for(51) == 42  # LoRa at its slowest
    assert block_bytes_for(247, is_ble=True) == 235
    assert block_bytes_for(2000, is_ble=True) == 503
    assert block_bytes_for(5000) == 1024
    assert block_bytes_for(23, is_ble=True) == 11  # the smallest ATT MTU: writes of 20 bytes
    with pytest.raises(Refused, check=naming(16)):
        block_bytes_for(16)
    assert Sender(bytes(10000), 100).estimate_s(1000) == pytest.approx(10.9)
    for window, block in ((0, 64), (65, 64), (4, 7), (4, 2000)):
        with pytest.raises(ValueError, check=naming(1, 64)):
            Receiver(kept(), window, block)
