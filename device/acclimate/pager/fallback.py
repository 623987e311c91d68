# SPDX-License-Identifier: MIT
"""Keeps in a fixed RAM buffer the pages that a medium refuses.

    try:
        pager = Pager(Card(sdcard.SDCard(spi, cs), first=2048, blocks=64))
    except OSError as error:
        pager = None                            # no card: all pages go to RAM
    net = Net(program, weights, pager=RamFallback(pager, bytearray(8192)))

A page that was written and cannot be read back is still an error: its content is nowhere else.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate import _buffers
from acclimate.pager.core import PagerError


class RamFallback:
    """A page store of RAM behind another one.

    ``failed`` counts the pages that the medium refused; ``reason`` is why the latest one was.

    :param pager: acclimate.pager.core.Pager, or None; :param ram: bytearray for what it refuses
    """

    def __init__(self, pager: "Any", ram: "WriteableBuffer") -> None:
        self.pager = pager
        self.failed = 0
        self.reason = "" if pager else "no medium"
        self._ram = ram
        self._used = 0
        self._places = {}  # page -> (start, bytes) of its place in RAM
        self._here = {}  # page -> whether its latest content is there

    def page_out(self, number: int, view: "ReadableBuffer") -> None:
        """Write a page; keep it in RAM where the medium refuses it.

        :raises PagerError: names what is needed and left of both
        """
        if self.pager is not None:
            try:
                self.pager.page_out(number, view)
                if number in self._here:
                    self._here[number] = False
                return
            except OSError as error:
                self.reason = str(error)
        self.failed += 1
        n = len(view)
        start, size = self._places.get(number, (self._used, 0))
        if size < n:
            if self._used + n > len(self._ram):
                left = len(self._ram) - self._used
                raise PagerError(
                    "page %d: %d bytes, %d of RAM are left; medium: %s"
                    % (number, n, left, self.reason)
                )
            start, self._used = self._used, self._used + n
            self._places[number] = (start, n)
        _buffers.copy(self._ram, start, view, 0, n)
        self._here[number] = True

    def page_in(self, number: int, view: "WriteableBuffer") -> None:
        """Read a page back from where it is."""
        if self._here.get(number):
            _buffers.copy(view, 0, self._ram, self._places[number][0], len(view))
        elif self.pager is None:
            raise PagerError("page %d was not written in this step" % number)
        else:
            self.pager.page_in(number, view)

    def erases_left(self) -> int | None:
        """As that of the pager; None without one."""
        return self.pager.erases_left() if self.pager is not None else None

    def __repr__(self):
        return "RamFallback(%r, %d of %d bytes of RAM): %d pages refused%s" % (
            self.pager,
            self._used,
            len(self._ram),
            self.failed,
            ": " + self.reason if self.reason else "",
        )
