# SPDX-License-Identifier: MIT
"""The device package as a ROMFS image, and the way of an image to a board.

Bytecode in ROMFS runs in place; source would be compiled into RAM, so none goes in. Native code
is copied to RAM from there as from anywhere else.
"""

import base64
import hashlib

from mpremote.romfs import VfsRomWriter

from acclimate_host.connect import package
from acclimate_host.errors import AcclimateError, BoardError, Missing, NoRegion, Refused

MAGIC = VfsRomWriter.ROMFS_HEADER
NATIVE_NOTE = "native modules in ROMFS are still copied to RAM when they are imported"
_REGION = """
import vfs
_at = -1
if not hasattr(vfs, 'rom_ioctl'): print(-1, 0, 0, _at)
else:
    _count = vfs.rom_ioctl(1)
    _dev = vfs.rom_ioctl(2, {number}) if {number} < _count else -22
    if isinstance(_dev, int): print(-2, 0, 0, _at)
    elif hasattr(_dev, 'ioctl'):
        _size = _dev.ioctl(5, 0)
        print(_dev.ioctl(4, 0) * _size, _size, 1, _at)
    else:
        try:
            from uctypes import addressof
            _at = addressof(_dev) if len(_dev) else -1
        except ImportError: pass
        _size = vfs.rom_ioctl(6, {number})
        print(len(_dev), _size if _size > 0 else max(1, len(_dev)), 0, _at)
"""
_READ = """
from binascii import b2a_base64 as _to64
_end = _dev.ioctl(5, 0) if hasattr(_dev, 'ioctl') else 0
def _read(at, n):
    if not _end: return bytes(_dev[at:at + n])
    b = bytearray(n)
    _dev.readblocks(at // _end, b, at % _end)
    return b
"""
_HASH = """
import hashlib as _h
_h = _h.sha256()
for _a in range(0, {size}, 256): _h.update(_read(_a, min(256, {size} - _a)))
print(_to64(_h.digest()).decode())
"""
_PIECE_BYTES = 256
_PREPARE_BYTES = 32768


def build(arch=None, only=None, pure=False):
    """Return a ROMFS image with the device package in lib/acclimate.

    :param arch: of the board; None: bytecode only. :param only: names of modules.
    """
    files = package.build(arch, only, pure=pure)
    writer = VfsRomWriter()
    writer.opendir("lib")
    writer.opendir(package.PACKAGE)
    for name, data in sorted(files.items()):
        writer.mkfile(name, data)
    writer.closedir()
    writer.closedir()
    return bytes(writer.finalise())


def region(board, number=0):
    """Return (bytes, bytes of a block, is it a block device?, address or -1) of a ROMFS region.

    :raises Missing: this firmware has no ROMFS. NoRegion: it has, but no such region, or an
        empty one.
    """
    try:
        size, block, is_device, at = map(int, board.exec(_REGION.format(number=number)).split())
    except BoardError as error:
        if "ImportError" not in error.traceback:
            raise
        size = -1
    if size == -1:
        raise Missing(
            f"{board.name}: this firmware has no ROMFS: it needs MicroPython 1.25 or "
            "newer, built with it"
        )
    if size == -2:
        raise NoRegion(f"{board.name}: ROMFS is there, but no region {number}: its table has none")
    if size == 0:
        raise NoRegion(f"{board.name}: ROMFS region {number} has 0 bytes on this board")
    return size, block, bool(is_device), at


def deploy(board, image, number=0, progress=None):
    """Write an image to a board's ROMFS region and read it back; return the region's bytes.

    :raises Refused: it is no image, or larger than the region; nothing was written.
    """
    if not image.startswith(MAGIC):
        raise Refused("this is no ROMFS image")
    size, block, is_device, _ = region(board, number)
    if len(image) > size:
        sizes = f"image of {len(image):,} bytes, the region has {size:,}"
        raise Refused(f"{board.name}: {sizes}: make a smaller one, as --only svm,loop")
    piece = _prepare(board, number, len(image), block, is_device)
    board.exec("from binascii import a2b_base64 as _from64\n" + _READ)
    for at in range(0, len(image), piece):
        part = image[at : at + piece].ljust(piece if at + piece > len(image) else 0, b"\xff")
        text = base64.b64encode(part[: size - at]).decode()
        if is_device:
            call = f"_dev.writeblocks({at // block}, _from64('{text}'), {at % block})"
        else:
            call = f"vfs.rom_ioctl(4, {number}, {at}, _from64('{text}'))"
        board.exec(call)
        if progress:
            progress(min(at + piece, len(image)), len(image))
    if not is_device:
        board.exec(f"vfs.rom_ioctl(5, {number})")
    if not _is_there(board, image):
        raise AcclimateError(f"{board.name}: the region reads back different from what was sent")
    return size


def _prepare(board, number, total, block, is_device):
    """Erase what the image needs; return how many bytes to write at once."""
    if is_device:
        for i in range(-(-total // block)):
            board.exec(f"_dev.ioctl(6, {i})", 30)
        return min(_PIECE_BYTES, block)
    least = int(board.exec(f"print(vfs.rom_ioctl(3, {number}, {total}))", 120))
    if least < 0:
        raise AcclimateError(f"{board.name}: ROMFS cannot be erased: error {least}")
    return max(_PIECE_BYTES, least)


def _is_there(board, image):
    try:
        answer = board.exec(_HASH.format(size=len(image)), 120).strip()
        return base64.b64decode(answer) == hashlib.sha256(image).digest()
    except BoardError as error:
        if "Error" not in error.traceback or "hash" not in error.traceback:
            raise
    for at in range(0, len(image), _PIECE_BYTES):
        part = image[at : at + _PIECE_BYTES]
        answer = board.exec(f"print(_to64(_read({at}, {len(part)})).decode())")
        if base64.b64decode(answer.strip()) != part:
            return False
    return True
