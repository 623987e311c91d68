# SPDX-License-Identifier: MIT
"""A board's capsule region as a Flash of this computer, over its cable.

The device's own Store runs here on it, so nothing about the journal is known twice. What a look
changes (a Store counts its boots) stays in this computer's copy of the pages.
"""

import base64

from acclimate.flash import Flash
from acclimate.store import Store, Wanted
from acclimate_host.capsules import region as regions
from acclimate_host.capsules.flasher import shape
from acclimate_host.capsules.layout import HEADER
from acclimate_host.capsules.region import Region
from acclimate_host.errors import BoardError, Refused

PAGE_BYTES = 4096  # of a file that stands for a flash
_SMALL_PAGE = 1024  # pages up to this are programmed in units of 64 bytes
_PIECE = 512
_VERDICTS = {1: "accept", 0: "reject", -1: "undecided"}
_CODE = """
from binascii import a2b_base64 as _from64, b2a_base64 as _to64
def _show(at, n):
    _b = bytearray(n)
    {read}
    print(_to64(_b).decode(), end='')
def _put(at, text):
    _b = _from64(text)
    {write}
def _erase(at):
    {erase}
"""
_BLOCKS = {
    "read": "_device.readblocks(at // {page}, _b, at % {page})",
    "write": "_device.writeblocks(at // {page}, _b, at % {page})",
    "erase": "_device.ioctl(6, at // {page})",
}
_FLASH = {
    "read": "_flash.readinto(at, _b)",
    "write": "_flash.program(at, _b)",
    "erase": "_flash.erase(at)",
}
_FILE = {
    "read": "_file.seek(at); _file.readinto(_b)",
    "write": "_file.seek(at); _file.write(_b); _file.flush()",
    "erase": "_file.seek(at); _file.write(b'\\xff' * {page}); _file.flush()",
}


class CableFlash(Flash):
    """The region of an open board.

    :param writes: let the board's flash change; else only the copy here does.
    :raises Refused: there is no region yet.
    """

    def __init__(self, board, region: Region, writes: bool = False) -> None:
        self._board = board
        self._sends = writes
        self._pages: dict[int, bytearray] = {}
        size, page = self._open(region)
        super().__init__(size, page, 64 if page <= _SMALL_PAGE else 4)

    def _open(self, region: Region) -> tuple[int, int]:
        if region.code:
            size, page = shape(self._board, region)
            calls = _BLOCKS
        elif region.path:
            calls, page = _FILE, PAGE_BYTES
            try:
                self._board.exec(f"_file = open({region.path!r}, 'r+b')\n_file.seek(0, 2)")
            except BoardError:
                raise Refused(f"{self._board.name}: no region at {region.path} yet") from None
            size = int(self._board.exec("print(_file.tell())"))
        else:
            calls = _FLASH
            self._board.exec(region.flash_code(), 30)
            size, page = map(
                int, self._board.exec("print(_flash.size, _flash.erase_bytes)").split()
            )
        calls = {name: text.format(page=page) for name, text in calls.items()}
        self._board.exec(_CODE.format(**calls), 30)
        return size, page

    def _page(self, at: int) -> bytearray:
        start = at - at % self.erase_bytes
        if start not in self._pages:
            data = bytearray()
            while len(data) < self.erase_bytes:
                n = min(_PIECE, self.erase_bytes - len(data))
                data += base64.b64decode(self._board.exec(f"_show({start + len(data)}, {n})", 30))
            self._pages[start] = data
        return self._pages[start]

    def _read(self, at: int, buffer) -> None:
        for i in range(len(buffer)):
            buffer[i] = self._page(at + i)[(at + i) % self.erase_bytes]

    def _program(self, at: int, buffer) -> None:
        page, start = self._page(at), at % self.erase_bytes
        for i, byte in enumerate(buffer):
            page[start + i] &= byte
        if self._sends:
            text = base64.b64encode(bytes(buffer)).decode()
            self._board.exec(f"_put({at}, '{text}')", 30)
            del self._pages[at - start]  # read back from the board

    def _erase(self, at: int) -> None:
        self._pages[at] = bytearray(b"\xff" * self.erase_bytes)
        if self._sends:
            self._board.exec(f"_erase({at})", 30)
            del self._pages[at]


def open_store(board, region: Region | None = None, writes: bool = False, key=None) -> Store:
    """Return the Store of a board's region, opened here.

    Its boots are counted on the board only if it writes, and a trial never ends by them.
    """
    flash = CableFlash(board, region or regions.region_of(board), writes)
    return Store(flash, Wanted(key=key), max_boots=60)


def read_digest(store: Store) -> str:
    """Return the SHA-256 in the header of the model in use, in hexadecimal."""
    at = HEADER.offset("digest")
    return bytes(store.head.bytes[at : at + 32]).hex()


def describe(store: Store) -> dict[str, object]:
    """Return what a region holds as a dictionary."""
    has, journal = store.active is not None, store.journal
    verdict = store.verdict()
    return {
        "state": store.state,
        "model": store.head.model if has else 0,
        "version": store.head.version if has else 0,
        "floor": journal.floor,
        "boots": max(0, journal.boots - 1) if store.state == "trial" else 0,
        "verdict": _VERDICTS[verdict[0]] if verdict else "",
        "score": verdict[1] if verdict else None,
        "erases": journal.erases,
        "slot_bytes": store.slots.bytes,
        "sha256": read_digest(store) if has else "",
        "note": store.note,
    }
