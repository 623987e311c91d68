# SPDX-License-Identifier: MIT
"""The bytes of a whole capsule region, and the larger region where a model does not fit.

The image is made by the device's own Store on a model of the flash, so that nothing about the
journal is written down twice.
"""

from dataclasses import dataclass

from acclimate.store import Store, Wanted
from acclimate.store.slots import JOURNAL_PAGES
from acclimate_host.capsules.build import read
from acclimate_host.capsules.layout import ENUMS
from acclimate_host.errors import Refused
from acclimate_host.testing.nor import NorFlash


def slot_bytes(region_bytes, page_bytes):
    """Return the most bytes of a capsule in a region; 0 when it has not even four pages."""
    return max(0, (region_bytes // page_bytes - JOURNAL_PAGES) // 2) * page_bytes


def region_bytes_for(capsule_bytes, page_bytes, headroom=0.25):
    """Return the length of a region whose slots take such a capsule, and some growth of it.

    :param headroom: share by which the model may grow.
    """
    pages = -(-int(capsule_bytes * (1 + headroom)) // page_bytes)
    return (JOURNAL_PAGES + 2 * max(1, pages)) * page_bytes


def region_image(capsule, region_bytes, page_bytes=4096, key=None):
    """Return the bytes of a region in which the capsule is confirmed.

    :param key: checks its authenticity, where one is given.
    :raises Refused: it does not fit, or is not whole and authentic.
    """
    seen = read(capsule)
    room = slot_bytes(region_bytes, page_bytes)
    if seen.total > room:
        raise TooLarge(seen.total, region_bytes, page_bytes)
    if not seen.intact:
        raise Refused("integrity: the capsule's SHA-256 is not that of its content")
    if key is not None and not seen.authentic(key, capsule):
        raise Refused("authenticity: the capsule was not signed with this key")
    flash = NorFlash(region_bytes, page_bytes)
    own = key if isinstance(key, bytes) else None
    wanted = Wanted(model=seen.model, key=own, unsigned=own is None)
    store = Store(flash, wanted, chunk_bytes=64)
    if seen.epoch:
        store.journal.keep(ENUMS["Floors"][1]["KEYS"], 0, seen.epoch)
    store.swap_capsule(capsule)
    return bytes(flash.data)


class TooLarge(Refused):
    """A capsule does not fit a region; ``needed_bytes`` is the region that it needs."""

    def __init__(self, total, region_bytes, page_bytes):
        self.needed_bytes = region_bytes_for(total, page_bytes)
        room = slot_bytes(region_bytes, page_bytes)
        super().__init__(
            f"capsule of {total:,} bytes, a slot has {room:,}: "
            f"it needs a region of {self.needed_bytes:,} bytes"
        )


@dataclass(frozen=True)
class Fit:
    """What a board can take of a capsule, compared before anything is sent.

    ``way`` is "fits", "new layout" (a larger region in the flash that is free) or "no room".
    """

    way: str
    total: int
    slot: int
    needed: int
    free: int

    def text(self):
        """Return it in one line."""
        if self.way == "fits":
            return f"fits: {self.total:,} bytes, a slot has {self.slot:,}"
        if self.way == "new layout":
            return (
                f"too large for this region: {self.total:,} bytes, a slot has {self.slot:,}; "
                f"a region of {self.needed:,} bytes fits in the flash ({self.free:,} free)"
            )
        return (
            f"no room: {self.total:,} bytes need a region of {self.needed:,} bytes, the flash has "
            f"{self.free:,} free; shrink the model or the file system"
        )


def fit(total, region_bytes, free_bytes, page_bytes=4096):
    """Return the Fit of a capsule.

    :param region_bytes: of the region that is there. :param free_bytes: that a region could
        have: what is there, and the free flash beside it.
    """
    slot = slot_bytes(region_bytes, page_bytes)
    needed = region_bytes_for(total, page_bytes)
    way = "fits" if total <= slot else "new layout" if needed <= free_bytes else "no room"
    return Fit(way, total, slot, needed, free_bytes)
