# SPDX-License-Identifier: MIT
"""The page store on the smallest board, over a medium that itself allocates nothing."""

from page_cases import check_medium, page, raises

from acclimate.pager import Pager, PagerError


class Ram:
    """A medium that itself allocates nothing."""

    size, erase_bytes, unit = 1024, 256, 4

    def __init__(self):
        self.data = bytearray(1024)

    def erase(self, at):
        pass

    def program(self, at, buffer):
        for i in range(len(buffer)):
            self.data[at + i] = buffer[i]

    def readinto(self, at, buffer):
        for i in range(len(buffer)):
            buffer[i] = self.data[at + i]


def test_nothing_is_allocated_after_the_first_steps():
    check_medium(Ram(), locked=True)


def test_a_damaged_page_is_refused():
    medium, back = Ram(), memoryview(bytearray(100))
    pager = Pager(medium)
    pager.page_out(0, page(0))
    medium.data[80] ^= 4
    assert "damaged" in raises(PagerError, pager.page_in, 0, back)
