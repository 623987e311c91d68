# SPDX-License-Identifier: MIT
"""Look at the flash map of an ESP32 before anything is written: overlaps, alignment, headroom."""

import ast

from acclimate_host.capsules import partitions
from acclimate_host.capsules.image import region_bytes_for, slot_bytes
from acclimate_host.capsules.partitions import PAGE_BYTES, Partition
from acclimate_host.errors import Refused

_LITTLE = 0.02  # share of a place that should be left
_ASK = """
try:
    import esp32
    for _p in esp32.Partition.find(0) + esp32.Partition.find(1): print(list(_p.info())[:5])
    from esp import flash_size
    print(flash_size())
except ImportError: pass
"""


def of_board(board):
    """Return (partitions, bytes of flash) of an open board; ([], 0) where it has no table."""
    lines = [ast.literal_eval(line) for line in board.exec(_ASK, 30).splitlines()]
    table = [Partition(p[4], p[0], p[1], p[2], p[3]) for p in lines if isinstance(p, list)]
    sizes = [line for line in lines if isinstance(line, int)]
    table.sort(key=lambda p: p.offset)
    return table, sizes[0] if sizes else max((p.end for p in table), default=0)


def judge(table, flash_bytes, capsule_bytes=0, romfs_bytes=0, firmware_bytes=0):
    """Return (state, text) for each partition, then for what is wrong or tight.

    States are those of ``acclimate doctor``: ok, note, problem. Sizes are those of what shall
    be written there; 0: nothing.
    """
    found = [
        ("ok", f"{p.offset:#9x} {p.size:#9x}  {'app' if p.type == 0 else 'data'}  {p.name}")
        for p in sorted(table, key=lambda p: p.offset)
    ]
    try:
        partitions.check(table, flash_bytes)
    except Refused as error:
        found.append(("problem", str(error)))
    if firmware_bytes:
        apps = [p for p in table if p.type == 0]
        for p in apps or [None]:
            found.append(_room("firmware", firmware_bytes, p, p.size if p else 0, "app"))
    if romfs_bytes:
        p = partitions.find(table, "romfs")
        found.append(_room("ROMFS image", romfs_bytes, p, p.size if p else 0, "romfs"))
    if capsule_bytes:
        p = partitions.find(table)
        room = slot_bytes(p.size, PAGE_BYTES) if p and p.size >= 4 * PAGE_BYTES else 0
        state, text = _room("capsule", capsule_bytes, p, room, partitions.NAME)
        if state == "problem":
            need = region_bytes_for(capsule_bytes, PAGE_BYTES)
            text += f": acclimate flash-capsule --table FILE makes one of {need:,}"
        found.append((state, text))
    return found


def _room(what, size, place, room, name):
    if place is None:
        return "problem", f"no partition {name}, so no place for the {what}"
    left = room - size
    text = f"{what} of {size:,} bytes in {place.name}: {room:,} there, "
    if left < 0:
        return "problem", text + f"{-left:,} too few"
    text += f"{left:,} left"
    if left < _LITTLE * room:
        return "note", text + f" ({size / room:.2%} full): the next one may not fit"
    return "ok", text
