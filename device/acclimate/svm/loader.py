# SPDX-License-Identifier: MIT
"""Load a machine that only answers: its file, and the native module that is the machine.

This module unloads itself where it is a file of its own.
"""

import gc
import sys

_NATIVES = {}  # put in by the installer: name of a native module -> its length and CRC-32


def _checksum():
    try:
        from binascii import crc32 as found

        return found
    except ImportError:
        from acclimate._crc32 import crc32 as plain
    return plain


def _native(name):
    """Function `read` of a native module, once its bytes are those that were installed."""
    if name not in sys.modules:
        crc32 = _checksum()
        folder = __file__.rpartition("/")[0]
        found, size, piece = 0, 0, bytearray(64)
        with open(folder + "/" + name + ".mpy", "rb") as file:
            while True:
                count = file.readinto(piece)
                if not count:
                    break
                found = crc32(piece[:count], found)
                size += count
        if (size, found & 0xFFFFFFFF) != _NATIVES[name]:
            raise ImportError(name + ".mpy differs: acclimate install --only predict")
        del crc32, piece, file
        gc.collect()  # native code needs one block
        sys.path.insert(0, folder)
        try:
            __import__(name)
        finally:
            sys.path.pop(0)
    return sys.modules[name].read


def load(path, other):
    """Return the machine of a file or stream; `other` answers what native code does not."""
    try:
        stream = path if hasattr(path, "seek") else open(path, "rb")
    except OSError as error:
        from acclimate.svm.answers import open_new

        stream = open_new(path, error)
    file = bytearray(stream.seek(0, 2))
    stream.seek(0)
    stream.readinto(file)
    if stream is not path:
        stream.close()
    found = _made(file, other)
    if sys.modules.pop("acclimate._svm_load", None):
        del sys.modules["acclimate"]._svm_load
    if not isinstance(found, int):
        return found
    from acclimate.svm.answers import refuse

    refuse(path, found, file)


def _made(file, other):
    """The machine of a file's bytes, or the number of what is wrong with them."""
    small = "_svm_weights" in _NATIVES and file[5:7] in (b"\0b", b"\0B")  # linear, over bytes
    if "_svm_weights" in _NATIVES and len(file) > 18 and file[18] & 2:
        import acclimate.svm.scaled  # noqa: F401  before the small heap is in pieces
    read = _native("_svm_weights" if small else "_svm_predict")
    found = read(file)
    if found:
        return found
    at = 44 + (file[16] + 3 & ~3)
    if file[18] & 2 or not file[7]:
        found = read(file, at, other)
        if found != 7:  # READ_SCALER: one that Python computes
            return found
    from acclimate.svm.answers import scaled  # rows are scaled first

    return scaled(read, file, at)
