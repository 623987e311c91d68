# SPDX-License-Identifier: MIT
"""A file as flash.

flash = FileFlash("capsule.bin", 65536)
"""

import os

from acclimate.flash.base import Flash, FlashError

_PIECE_BYTES = 64
_BLANK = b"\xff" * 64
_NOT_THERE = 2  # ENOENT


class FileFlash(Flash):
    """A file of fixed length, made once; on CircuitPython the drive must be writable by code.

    :param path: made and filled with 255 where it does not exist.
    """

    def __init__(self, path: str, size: int = 0, erase_bytes: int = 4096, unit: int = 4) -> None:
        try:
            found = os.stat(path)[6]
        except OSError as error:
            if error.args[0] != _NOT_THERE:  # a file may well be there: it is not made anew
                raise FlashError("%s: cannot be looked at: %s" % (path, error)) from None
            if not size:
                raise FlashError("%s: no such file; give its size" % path) from None
            super().__init__(size, erase_bytes, unit)  # refuses a size before the file is made
            _fill(path, size)
            found = size
        if not found or (size and found != size):
            raise ValueError("%s has %d bytes, not %d" % (path, found, size))
        super().__init__(found, erase_bytes, unit)
        self._file = open_file(path, "r+b")

    def _read(self, at, buffer):
        self._file.seek(at)
        if self._file.readinto(buffer) != len(buffer):
            raise FlashError("flash: the file ends before byte %d" % (at + len(buffer)))

    def _program(self, at, buffer):
        self._file.seek(at)
        self._put(buffer)

    def _erase(self, at):
        self._file.seek(at)
        for _ in range(0, self.erase_bytes, _PIECE_BYTES):
            self._file.write(_BLANK)
        self._put(b"")

    def _put(self, data):
        if self._file.write(data) != len(data):
            raise FlashError("flash: the file took less")
        self._file.flush()
        if hasattr(os, "sync"):
            os.sync()

    def close(self) -> None:
        self._file.close()


def _fill(path, size):
    """Make a file under another name first: part of one would be taken for another region."""
    made = path + ".new"
    try:
        with open_file(made, "wb") as file:
            for _ in range(0, size, _PIECE_BYTES):
                file.write(_BLANK)
        os.rename(made, path)
    except BaseException:
        try:
            os.remove(made)
        except OSError:
            pass
        raise


def open_file(path, mode):
    """Open a file; a drive that is read-only is named with the line for ``boot.py``."""
    try:
        return open(path, mode)
    except OSError as error:
        if error.args[0] == 30:
            raise FlashError(
                "%s: the drive is read-only; add storage.remount('/', False) to boot.py" % path
            ) from None
        raise
