# SPDX-License-Identifier: MIT
"""Pages in files of a board's flash file system, one file to a block, all made beforehand.

    pager = Pager(Files("/pages", 24), endurance=10000)

For file systems that never write in place (littlefs, what MicroPython has on its own flash):
there a change in one large file copies all that follows it, and needs room for the copy. Here
it copies one block. All files stay open, so a training step opens, makes and allocates nothing.
On FAT, which writes in place, acclimate.flash.FileFlash does with one file.

The pager counts one erase for each block of a page; the file system adds one for the page's
header, which is written last, and now and then one for its own records.
"""

try:  # for editors and checkers on a computer; boards have neither
    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

import os

from acclimate.flash import FlashError
from acclimate.flash.file import open_file
from acclimate.pager.media import _Medium

_BLANK = b"\xff" * 64


class Files(_Medium):
    """Blocks of a page store as files ``folder/0``, ``folder/1`` and so on.

    :param folder: made where it is not there
    :param blocks: files; one that is there with another length is made anew
    :param block_bytes: the file system's block, so that each file fills one (4096)
    """

    def __init__(self, folder: str, blocks: int, block_bytes: int = 4096) -> None:
        super().__init__(blocks * block_bytes, block_bytes)
        if block_bytes % len(_BLANK):
            raise ValueError("block of %d bytes: not a multiple of 64" % block_bytes)
        self._files = []
        try:
            os.mkdir(folder)
        except OSError:
            pass  # it is there, or the first file says what is wrong
        try:
            for i in range(blocks):
                self._files.append(_opened("%s/%d" % (folder, i), block_bytes))
        except OSError as error:
            self.close()
            made = len(self._files)
            for i in range(made + 1):
                _remove("%s/%d" % (folder, i))
            text = "%s: %d of %d blocks could be made (%s)" % (folder, made, blocks, error)
            raise FlashError(text) from error

    def readinto(self, at: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer with the bytes from at on."""
        self._move(at, buffer, False)

    def program(self, at: int, buffer: "ReadableBuffer") -> None:
        """Write the buffer, and have it stored before this returns."""
        self._move(at, buffer, True)

    def _move(self, at, buffer, writes):
        n, size, done = len(buffer), self.erase_bytes, 0
        self._bounds(at, n)
        while done < n:
            file = self._files[at // size]
            file.seek(at % size)
            part = min(n - done, size - at % size)
            piece = buffer if part == n else memoryview(buffer)[done : done + part]
            if writes:
                put = file.write(piece)
                if put != part:
                    raise FlashError("block %d took %s of %d bytes" % (at // size, put, part))
                file.flush()
            elif file.readinto(piece) != part:
                raise FlashError("block %d ends early" % (at // size))
            at, done = at + part, done + part

    def close(self) -> None:
        """Close the files; the pages stay."""
        for file in self._files:
            file.close()


def _opened(path, size):
    try:
        there = os.stat(path)[6]
    except OSError:
        there = -1
    if there != size:
        with open_file(path, "wb") as file:
            for _ in range(0, size, len(_BLANK)):
                file.write(_BLANK)
    return open_file(path, "r+b")


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass
