# SPDX-License-Identifier: MIT
"""Which model does a flash image hold? Read from the documented byte tables alone.

Shares no code with the store: struct, zlib and hashlib on the raw image.
"""

import hashlib
import hmac
import struct
import zlib

STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK, EMPTY = range(1, 7)
_PAGE = struct.Struct("<4sIIIHHHH4sI")
_RECORD = struct.Struct("<HBBHHI")
_LIMIT = 1 << 30
_BLANKS = 3  # places that nothing was written to, after which no record follows


def generations(image, page_bytes, slot_pages=None):
    """Return the generation of both journal pages; 0 for one without a valid header."""
    found = []
    for at in (0, page_bytes):
        fields = _PAGE.unpack_from(image, at)
        valid = fields[0] == b"AJNL" and zlib.crc32(image[at : at + 28]) == fields[9]
        valid = valid and max(fields[1:4]) < _LIMIT and slot_pages in (None, fields[6])
        found.append(fields[1] if valid else 0)
    return found


def newest_record(image, page_bytes, slot_pages=None):
    """Return (state, slot, other slot is kept, boots) of the newest record, or None.

    A record counts when it is whole in one of the pages that are of the newest generation, or
    whose header does not tell.
    """
    found = generations(image, page_bytes, slot_pages)
    generation = max(found)
    if not generation:
        return None
    pages = [at for at, own in zip((0, page_bytes), found, strict=True) if own in (0, generation)]
    # Where both have a whole record at one place, the page in use is believed: it comes last.
    pages.sort(key=lambda at: at == (page_bytes if found[1] > found[0] else 0))
    newest, blank = (EMPTY, 0, False, 0), 0
    for index in range((page_bytes - 32) // 12):
        is_blank = True
        for page in pages:
            at = page + 32 + 12 * index
            sequence, state, bits, _, _, crc = _RECORD.unpack_from(image, at)
            body = struct.pack("<I", generation) + image[at : at + 8]
            if sequence == index and zlib.crc32(body) == crc and 1 <= state <= EMPTY:
                newest = state, bits & 1, bool(bits & 2), bits >> 2
                is_blank = False
            # What is in a page without a header may be of an older generation.
            if found[page > 0] and image[at : at + 12] != b"\xff" * 12:
                is_blank = False
        blank = blank + 1 if is_blank else 0
        if blank == _BLANKS:
            break
    return newest


def floor_of(image, page_bytes):
    """Return the highest version that the journal names as tried or refused."""
    found = generations(image, page_bytes)
    page = page_bytes if found[1] > found[0] else 0
    if not max(found):
        return 0
    floor = _PAGE.unpack_from(image, page)[2]
    for index in range((page_bytes - 32) // 12):
        at = page + 32 + 12 * index
        _, state, _, low, high, crc = _RECORD.unpack_from(image, at)
        body = struct.pack("<I", max(found)) + image[at : at + 8]
        if zlib.crc32(body) == crc and state not in (STAGED, VERIFIED):
            floor = max(floor, low | high << 16)
    return floor


def verdict(found, wanted, allowed=()):
    """Name what is wrong with the bytes in use: "lost", "wrong", or "" for nothing.

    :param wanted: the model that the clean image holds; :param allowed: others that may be in use.
    """
    if found == wanted or found in allowed:
        return ""
    return "lost" if found is None else "wrong"


def whole_capsule(image, start, limit, key):
    """Return the capsule at start if it is whole and signed, else None."""
    total = struct.unpack_from("<I", image, start + 8)[0]
    if image[start : start + 4] != b"ACAP" or not 100 <= total <= limit:
        return None
    data = bytes(image[start : start + total])
    if hashlib.sha256(data[:32] + data[96:]).digest() != data[32:64]:
        return None
    signed = hmac.new(key, data[:64], "sha256").digest()
    return data if signed == data[64:96] else None


def _order(data):
    """Version, then the count of saves: 128 of them at most lie between two slots."""
    return struct.unpack_from("<I", data, 16)[0], data[7] >> 1


def model_of(image, page_bytes, key):
    """Return the bytes of the model in effect, or None."""
    image = bytes(image)
    slot_bytes = (len(image) // page_bytes - 2) // 2 * page_bytes
    slots = [
        whole_capsule(image, 2 * page_bytes + slot * slot_bytes, slot_bytes, key)
        for slot in (0, 1)
    ]
    record = newest_record(image, page_bytes)
    if record is None:
        whole = [data for data in slots if data]
        return max(whole, key=_order) if whole else None
    state, slot, other, _ = record
    if state == EMPTY:
        return None
    if state in (STAGED, VERIFIED):
        return slots[1 - slot] if other else None
    return slots[slot] or (slots[1 - slot] if other else None)
