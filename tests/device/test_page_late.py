# SPDX-License-Identifier: MIT
"""Cards that answer late or not at all: asked again, then pages stay in RAM."""
# NOT_ON = {"samd21": "cards and the test need more than its 32 KB"}

from page_cases import page, raises

from acclimate.flash import RetryingDevice
from acclimate.pager import Card, Pager, PagerError, RamFallback


class LateCard:
    """A card that refuses so many calls, by a number or by raising."""

    def __init__(self):
        self.data = bytearray(32 * 512)
        self.late = self.calls = 0
        self.raises = False

    def _is_late(self):
        self.calls += 1
        if self.late:
            self.late -= 1
            if self.raises:
                raise OSError(110)
            return True
        return False

    def readblocks(self, block, buffer):
        if self._is_late():
            return -110
        buffer[:] = self.data[block * 512 : block * 512 + len(buffer)]

    def writeblocks(self, block, buffer):
        if self._is_late():
            return -110
        self.data[block * 512 : block * 512 + len(buffer)] = buffer

    def ioctl(self, what, value):
        return {4: 32, 5: 512}.get(what)


def test_a_late_answer_is_waited_for():  # case: K6
    card = LateCard()
    pager = Pager(Card(card, 2, 16))
    into = bytearray(700)
    for card.raises in (False, True):
        card.late = 4
        pager.page_out(1, page(1, 700))
        card.late = 4
        pager.page_in(1, memoryview(into))
    patient = RetryingDevice(card, tries=3, wait_ms=0)
    card.late, card.calls = 3, 0
    raises(OSError, patient.readblocks, 0, bytearray(512))
    assert card.calls == 3 and patient.retries == 2
    raises(ValueError, RetryingDevice, card, 0)


def test_a_card_that_is_gone_leaves_pages_in_ram():  # case: K6
    card = LateCard()
    spare = RamFallback(Pager(Card(card, 2, 16)), bytearray(96))
    views = [memoryview(bytearray([i] * 40)) for i in range(4)]
    spare.page_out(0, views[0])
    card.late = 1 << 20
    spare.page_out(1, views[1])
    spare.page_out(2, views[2])
    assert spare.failed == 2 and "110" in spare.reason
    text = raises(PagerError, spare.page_out, 3, views[3])
    assert "40 bytes, 16 of RAM" in text, text
    into = memoryview(bytearray(40))
    spare.page_in(2, into)
    assert into == views[2]
    raises(OSError, spare.page_in, 0, into)  # written, and not to be had any more
    card.late = 0
    spare.page_in(0, into)
    assert into == views[0]
    spare.page_out(1, views[3])  # the card is back, and what it has is what counts
    spare.page_in(1, into)
    assert into == views[3] and "pages refused" in repr(spare)


def test_without_a_card_all_pages_are_in_ram():  # case: K6
    spare = RamFallback(None, bytearray(80))
    into = memoryview(bytearray(40))
    assert "not written" in raises(PagerError, spare.page_in, 7, into)
    for value in (1, 2):  # each step writes its page again, to the same place
        spare.page_out(7, memoryview(bytearray([value] * 40)))
        spare.page_in(7, into)
        assert into[0] == value
    assert spare.erases_left() is None
    second = memoryview(bytearray([3] * 40))
    spare.page_out(8, second)  # to the last byte
    spare.page_in(8, into)
    assert into == second
    assert "0 of RAM" in raises(PagerError, spare.page_out, 9, second[:1])


def test_what_a_card_refused_is_not_read_from_its_buffer():
    card = LateCard()
    medium, into = Card(card, 2, 16), bytearray(4)
    medium.program(512, b"kept")
    card.late = 5
    raises(OSError, medium.program, 512, b"lost")
    medium.readinto(512, into)
    assert into == b"kept"
