# SPDX-License-Identifier: MIT
"""Bring a region image into a board: by its prompt, by esptool, as a file for its loader."""

import base64
import hashlib
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from acclimate_host import boards
from acclimate_host.capsules import partitions
from acclimate_host.errors import AcclimateError, ConnectError, Missing, Refused

_PIECE = {True: 128, False: 512}  # bytes at a time, on pages of 1 KB and on larger ones
_BEGIN = """
from binascii import a2b_base64 as _from64
_count, _size = _device.ioctl(4, 0), _device.ioctl(5, 0)
_word = bytearray(64)
def _is_blank(i):
    for at in range(0, _size, 64):
        _device.readblocks(i, _word, at)
        if _word != b'\\xff' * 64: return False
    return True
def _put(i, at, text): _device.writeblocks(i, _from64(text), at)
print(_count, _size)
"""
_HASH = """
try:
    from hashlib import sha256 as _sha
except ImportError:
    from acclimate._sha256 import sha256 as _sha
_h = _sha()
for _i in {pages}:
    for _at in range(0, _size, 64):
        _device.readblocks(_i, _word, _at)
        _h.update(_word)
print(''.join(['%02x' % b for b in _h.digest()]))
"""
UF2_FAMILIES = {"nrf52840": 0xADA52840, "samd21": 0x68ED2B88}
# The description that has a family's flash, and the pages that its Flash erases together.
_UF2_BOARDS = {"nrf52840": ("feather_nrf52840", 4096), "samd21": ("feather_m0_express", 1024)}


def shape(board, region):
    """Return (bytes, bytes of a page) of a board's region, a block device."""
    if not region.code:
        raise Missing(f"{board.name}: its flash is no block device; prepare a file with --uf2")
    board.exec(region.code, 30)
    count, size = map(int, board.exec(_BEGIN, 30).split())
    return count * size, size


def write_region(board, image, page_bytes, progress=None):
    """Write an image to the device of ``shape``; read it back, compare; return pages written.

    Pages that are blank in the image are erased where they are not blank. The journal's pages,
    which say what counts, come last: a cut before leaves a region without a model.
    """
    blank = b"\xff" * page_bytes
    pages = [image[at : at + page_bytes] for at in range(0, len(image), page_bytes)]
    order = [*range(2, len(pages)), 1, 0]
    board.exec("for _i in (0, 1): _is_blank(_i) or _device.ioctl(6, _i)", 30)
    written = []
    for done, i in enumerate(order):
        board.exec(f"_is_blank({i}) or _device.ioctl(6, {i})", 30)
        if pages[i] != blank:
            _write_page(board, i, pages[i], _PIECE[page_bytes <= 1024])
            written.append(i)
        if progress:
            progress(done + 1, len(order))
    want = hashlib.sha256(b"".join(pages[i] for i in sorted(written))).hexdigest()
    if board.exec(_HASH.format(pages=sorted(written)), 120).strip() != want:
        raise AcclimateError(f"{board.name}: the region reads back different from what was sent")
    return len(written)


def _write_page(board, i, page, piece):
    end = len(page.rstrip(b"\xff"))
    for at in range(0, end, piece):
        text = base64.b64encode(page[at : at + piece]).decode()
        board.exec(f"_put({i}, {at}, '{text}')", 30)


def esptool(*arguments):
    """Run esptool, the ESP32's own tool; its last line is the error's text."""
    try:
        import esptool as _  # noqa: F401
    except ImportError:
        raise Missing("ESP32 partitions need esptool: pip install 'acclimate[esp32]'") from None
    command = [sys.executable, "-m", "esptool", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        lines = (result.stdout + result.stderr).strip().splitlines()
        raise ConnectError("esptool: " + (lines[-1] if lines else "failed"), "open")
    return result.stdout


def write_esp32(port, image_of, run=esptool):
    """Write a capsule partition of a chip at a port; return the Partition.

    :param image_of: takes the partition's bytes, returns the image.
    :param run: runs esptool; the sizes are compared before it writes anything.
    :raises Refused: no such partition, or the capsule does not fit.
    """
    with tempfile.TemporaryDirectory() as folder:
        table, image = Path(folder, "table.bin"), Path(folder, "image.bin")
        at, size = hex(partitions.TABLE_AT), hex(partitions.TABLE_BYTES)
        run("--port", port, "read-flash", at, size, table)
        place = partitions.find(partitions.read(table.read_bytes()))
        if place is None:
            raise Refused("the chip has no partition capsule; make a table: --table FILE")
        image.write_bytes(image_of(place.size))
        run("--port", port, "write-flash", hex(place.offset), image)
        run("--port", port, "verify-flash", hex(place.offset), image)
    return place


def full_image(firmware, firmware_at, table, place, image, output, chip="esp32", run=esptool):
    """Write a whole flash image: firmware with another partition table, and the capsule region.

    :param firmware: bytes that stand at firmware_at of the flash and hold a table.
    """
    at = partitions.TABLE_AT - firmware_at
    if at < 0 or len(firmware) < at + partitions.TABLE_BYTES:
        raise Refused(f"firmware of {len(firmware)} bytes: it has no partition table in it")
    partitions.read(firmware[at:])
    changed = firmware[:at] + table + firmware[at + len(table) :]
    if firmware_at + len(changed) > place.offset and place.end > firmware_at:
        raise Refused(f"the firmware reaches into the capsule partition at {place.offset:#x}")
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "firmware.bin"), Path(folder, "region.bin")
        one.write_bytes(changed)
        two.write_bytes(image)
        run(
            "--chip",
            chip,
            "merge-bin",
            "-o",
            output,
            hex(firmware_at),
            one,
            hex(place.offset),
            two,
        )
    return output


def uf2_page(family, start, size):
    """Return the page of a family's flash; a loader would write a region wherever it is told.

    :raises Refused: the region is not whole pages, or not where firmware and loader leave room.
    """
    name, page = _UF2_BOARDS[family]
    board = boards.load(name)
    first = board.value("flash.start")
    last = first + board.value("flash.bytes")
    if start % page or size % page or size < 4 * page:
        raise Refused(
            f"{family}: {size:#x} bytes at {start:#x}: expected four pages of {page} or more"
        )
    if not first <= start <= start + size <= last:
        raise Refused(
            f"{family}: {start:#x} to {start + size:#x}: expected a place from {first:#x} to "
            f"{last:#x}, beside are firmware and loader ({name}.toml)"
        )
    return page


def uf2(image, start, family):
    """Return a region image as UF2, which the boards' USB loaders take like a file.

    Blocks of 512 bytes with 256 of content each, as in Microsoft's UF2 specification.
    """
    parts = [image[at : at + 256].ljust(256, b"\xff") for at in range(0, len(image), 256)]
    out = bytearray()
    for number, part in enumerate(parts):
        head = struct.pack(
            "<8I",
            0x0A324655,
            0x9E5D5157,
            0x2000,
            start + 256 * number,
            256,
            number,
            len(parts),
            family,
        )
        out += head + part + bytes(220) + struct.pack("<I", 0x0AB16F30)
    return bytes(out)
