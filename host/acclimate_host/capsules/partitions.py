# SPDX-License-Identifier: MIT
"""Partition tables of the ESP32: read one, add a capsule partition, write it.

A table is up to 95 entries of 32 bytes (magic AA 50, type, subtype, offset, size, name, flags),
an entry EB EB with the MD5 of what is before it, and 255 up to 3072 bytes. Layout as in
Espressif's "Partition Tables" guide.
"""

import hashlib
import struct
from dataclasses import dataclass

from acclimate_host.errors import Refused

TABLE_AT = 0x8000
TABLE_BYTES = 0xC00
PAGE_BYTES = 4096
NAME = "capsule"
DATA, SUBTYPE = 1, 0x40  # the first of the subtypes that are free for applications
_ENTRY = struct.Struct("<2sBBII16sI")
_MAGIC, _MD5 = b"\xaa\x50", b"\xeb\xeb"
_APP = 0
_APP_ALIGN = 0x10000


@dataclass(frozen=True)
class Partition:
    """One entry."""

    name: str
    type: int
    subtype: int
    offset: int
    size: int
    flags: int = 0

    @property
    def end(self):
        return self.offset + self.size


def read(data):
    """Return the list of Partitions in a table's bytes.

    :raises Refused: no table, or its MD5 differs.
    """
    found = []
    for at in range(0, min(len(data), TABLE_BYTES) - 31, 32):
        entry = data[at : at + 32]
        if entry[:2] == _MD5:
            if hashlib.md5(data[:at]).digest() != entry[16:]:
                raise Refused("partition table: its MD5 differs")
            return found
        if entry == b"\xff" * 32:
            if found:
                return found
            break
        magic, type, subtype, offset, size, name, flags = _ENTRY.unpack(entry)
        if magic != _MAGIC:
            break
        text = name.rstrip(b"\0").decode("ascii", "replace")
        found.append(Partition(text, type, subtype, offset, size, flags))
    raise Refused("this is no partition table")


def write(partitions):
    """Return the bytes of a table, with MD5 and filled up to 3072 bytes."""
    data = b"".join(
        _ENTRY.pack(_MAGIC, p.type, p.subtype, p.offset, p.size, p.name.encode(), p.flags)
        for p in partitions
    )
    data += _MD5 + b"\xff" * 14 + hashlib.md5(data).digest()
    if len(data) > TABLE_BYTES:
        raise Refused(f"partition table of {len(partitions)} entries: at most 95")
    return data.ljust(TABLE_BYTES, b"\xff")


def check(partitions, flash_bytes):
    """Raise Refused when partitions overlap, are not aligned or leave the flash."""
    last = TABLE_AT + PAGE_BYTES
    for p in sorted(partitions, key=lambda p: p.offset):
        align = _APP_ALIGN if p.type == _APP else PAGE_BYTES
        if p.offset % align or p.size % PAGE_BYTES or not p.size:
            raise Refused(f"partition {p.name} at {p.offset:#x}, {p.size:#x} bytes: not aligned")
        if p.offset < last:
            raise Refused(f"partition {p.name} at {p.offset:#x}: overlaps what ends at {last:#x}")
        if p.end > flash_bytes:
            raise Refused(f"partition {p.name} ends at {p.end:#x}, the flash at {flash_bytes:#x}")
        last = p.end


def find(partitions, name=NAME):
    """Return the partition of a name, or None."""
    return next((p for p in partitions if p.name == name), None)


def gaps(partitions, flash_bytes):
    """Return the free places as a list of (offset, bytes), in whole pages."""
    free, last = [], TABLE_AT + PAGE_BYTES
    for p in sorted(partitions, key=lambda p: p.offset):
        if p.offset > last:
            free.append((last, p.offset - last))
        last = max(last, p.end)
    if last < flash_bytes:
        free.append((last, flash_bytes - last))
    return free


def with_capsule(partitions, size, flash_bytes, shrink=None):
    """Return a table with a capsule partition of such a size; an old one is replaced.

    :param shrink: name of a partition (the file system) whose end is given up where no gap is
        large enough. Its content is lost.
    :raises Refused: there is no room; says how much there is, and what could be shrunk.
    """
    if size % PAGE_BYTES or size < 4 * PAGE_BYTES:
        raise Refused(f"capsule partition of {size} bytes: four or more pages of {PAGE_BYTES}")
    rest = [p for p in partitions if p.name != NAME]
    fitting = [gap for gap in gaps(rest, flash_bytes) if gap[1] >= size]
    if fitting:
        offset = min(fitting, key=lambda gap: gap[1])[0]
    elif shrink is None:
        largest = max((n for _, n in gaps(rest, flash_bytes)), default=0)
        names = ", ".join(p.name for p in rest if p.type == DATA and p.size > 2 * size)
        hint = f"; --shrink one of: {names}" if names else ""
        raise Refused(f"partition of {size:,} bytes: the largest gap has {largest:,}{hint}")
    else:
        old = find(rest, shrink)
        if old is None or old.size - size < 4 * PAGE_BYTES:
            raise Refused(f"--shrink {shrink}: no such partition, or it is too small")
        rest[rest.index(old)] = Partition(
            old.name, old.type, old.subtype, old.offset, old.size - size, old.flags
        )
        offset = old.end - size
    made = [*rest, Partition(NAME, DATA, SUBTYPE, offset, size)]
    made.sort(key=lambda p: p.offset)
    check(made, flash_bytes)
    return made
