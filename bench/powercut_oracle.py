# SPDX-License-Identifier: MIT
"""Which model does a flash image hold? Read from the documented byte tables alone.

Shares no code with the store: struct, zlib and hashlib on the raw image.
"""

import hashlib
import hmac
import struct
import zlib

STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK, EMPTY = range(1, 7)
_PAGE = struct.Struct("<4sIIIHHHH4sIII")
KEYS, MANIFEST = 7, 8  # records of floors, which change no state
_PAGE_BYTES = _PAGE.size
_RECORD = struct.Struct("<HBBHHI")
_LIMIT = 1 << 30
_BLANKS = 3  # places that nothing was written to, after which no record follows


def generations(image, page_bytes, slot_pages=None):
    """Return the generation of both journal pages; 0 for one without a valid header."""
    found = []
    for at in (0, page_bytes):
        fields = _PAGE.unpack_from(image, at)
        valid = fields[0] == b"AJNL" and zlib.crc32(image[at : at + 36]) == fields[11]
        valid = (
            valid and max(*fields[1:4], *fields[9:11]) < _LIMIT and slot_pages in (None, fields[6])
        )
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
    for index in range((page_bytes - _PAGE_BYTES) // 12):
        is_blank = True
        for page in pages:
            at = page + _PAGE_BYTES + 12 * index
            sequence, state, bits, _, _, crc = _RECORD.unpack_from(image, at)
            body = struct.pack("<I", generation) + image[at : at + 8]
            if sequence == index and zlib.crc32(body) == crc and 1 <= state <= MANIFEST:
                if state <= EMPTY:
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
    floor, keys = (_PAGE.unpack_from(image, page)[i] for i in (2, 9))
    epoch = keys >> 16
    for index in range((page_bytes - _PAGE_BYTES) // 12):
        at = page + _PAGE_BYTES + 12 * index
        _, state, _, low, high, crc = _RECORD.unpack_from(image, at)
        body = struct.pack("<I", max(found)) + image[at : at + 8]
        if zlib.crc32(body) != crc or state in (STAGED, VERIFIED, MANIFEST):
            continue
        if state == KEYS:
            floor, epoch = (floor, epoch) if high == epoch else (0, high)
        else:
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
    total = total_of(image[start : start + 144])
    if image[start : start + 5] != b"ACAP\x02" or not 120 <= total <= limit:
        return None
    data = bytes(image[start : start + total])
    if hashlib.sha256(data[:20] + data[116:]).digest() != data[20:52]:
        return None
    signed = hmac.new(key, data[:84], "sha256").digest()
    return data if signed == data[84:116] else None


def total_of(head):
    """Return the bytes of a capsule by its section table; 0 where that cannot be."""
    count = head[6]
    if not 1 <= count <= 7:
        return 0
    total = 116 + 4 * count
    for at in range(116, total, 4):
        if head[at] < 128:  # from there on the number bounds what the capsule is for
            total += int.from_bytes(head[at + 1 : at + 4], "little")
            total += -total % 4
    return total


def _order(data):
    """Epoch, version, then the count of saves: 128 of them at most lie between two slots."""
    version, epoch = struct.unpack_from("<IH", data, 12)
    return epoch, version, data[7] >> 1


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
