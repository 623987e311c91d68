# SPDX-License-Identifier: MIT
"""Which model does a flash image hold? Read from the documented byte tables alone.

Shares no code with the store: struct, zlib and hashlib on the raw image.
"""

import hashlib
import hmac
import struct
import zlib

STAGED, VERIFIED, TRIAL, CONFIRMED, ROLLED_BACK, EMPTY = range(1, 7)
_PAGE = struct.Struct("<4sIIIHHHHI")
_RECORD = struct.Struct("<HBBHHI")


def newest_record(image, page_bytes):
    """Return (state, slot, other slot is kept) of the newest valid record, or None."""
    best = None
    for at in (0, page_bytes):
        fields = _PAGE.unpack_from(image, at)
        whole = zlib.crc32(image[at : at + 24]) == fields[8]
        if fields[0] == b"AJNL" and whole and (best is None or fields[1] > best[0]):
            best = fields[1], at
    if best is None:
        return None
    generation, page = best
    newest = EMPTY, 0, False
    for index in range((page_bytes - 28) // 12):
        at = page + 28 + 12 * index
        sequence, state, slot, _, _, crc = _RECORD.unpack_from(image, at)
        body = struct.pack("<I", generation) + image[at : at + 8]
        if image[at : at + 12] == b"\xff" * 12:
            break
        if sequence == index and zlib.crc32(body) == crc:
            newest = state, slot & 1, bool(slot & 2)
    return newest


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
        return max(whole, key=lambda data: struct.unpack_from("<I", data, 16)) if whole else None
    state, slot, other = record
    if state == EMPTY:
        return None
    if state in (STAGED, VERIFIED):
        return slots[1 - slot] if other else None
    return slots[slot] or (slots[1 - slot] if other else None)
