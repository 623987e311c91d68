# SPDX-License-Identifier: MIT
"""What is bad, decided from the documented tables alone: struct, zlib, hashlib, re.

Shares no code with the parsers under test.
"""

import hashlib
import hmac
import re
import struct

from bench.powercut_oracle import EMPTY, STAGED, TRIAL, VERIFIED, newest_record, total_of

_LIMIT = 1 << 30
_HEAD = struct.Struct("<4sBBBBIIHH32s32s32s")
_MANIFEST = struct.Struct("<4sBBBBIIHHII8s32s")
_BOUNDS = {128: "board", 129: "device", 130: "code"}


def capsule_is_good(data, key, limit, model=0, kind=0, board=0, device=0, arch=0, abi=0, above=0):
    """Tell whether a device with these numbers may take the capsule."""
    if len(data) < 120:
        return False
    (
        magic,
        form,
        its_kind,
        count,
        flags,
        its_model,
        version,
        epoch,
        _,
        digest,
        zeros,
        tag,
    ) = _HEAD.unpack_from(data)
    if (magic, form) != (b"ACAP", 2) or not 1 <= count <= 7 or len(data) > limit:
        return False
    if max(its_model, version) >= _LIMIT or version <= above or flags or epoch:
        return False
    table = data[116 : 116 + 4 * count]
    if len(table) < 4 * count or total_of(data[:144]) != len(data):
        return False
    bounds = {}
    for at in range(0, len(table), 4):
        if table[at] >= 128:
            number = int.from_bytes(table[at + 1 : at + 4], "little")
            bounds.setdefault(_BOUNDS.get(table[at]), number)
    if None in bounds or hashlib.sha256(data[:20] + data[116:]).digest() != digest:
        return False
    if key is not None and (any(zeros) or hmac.new(key, data[:84], "sha256").digest() != tag):
        return False
    if (kind and its_kind != kind) or (model and its_model != model):
        return False
    return all(
        not wanted or value in (0, wanted)
        for value, wanted in (
            (bounds.get("board", 0), board),
            (bounds.get("device", 0), device),
            (bounds.get("code", 0) & 255, arch),
            (bounds.get("code", 0) >> 8 & 255, abi),
        )
    )


def journal_says(image, page_bytes, slot_pages, most_boots):
    """Return the slots that may be in use, best first; None: no journal page is valid."""
    record = newest_record(image, page_bytes, slot_pages)
    if record is None:
        return None
    state, slot, other, boots = record
    if state == EMPTY:
        return []
    if state in (STAGED, VERIFIED):
        return [1 - slot] if other else []
    if state == TRIAL and boots >= most_boots:
        return [1 - slot] if other else []
    return [slot, 1 - slot] if other else [slot]


def manifest_is_good(data, key, model, cohort=b"all", above=0):
    """Tell whether a device of this model, key and cohort may follow the manifest."""
    if len(data) < 68 or data[:5] != b"AMAN\x02" or not 1 <= data[5] <= 8:
        return False
    signed = 68 + 36 * data[5]
    if len(data) != signed + 64 or data[6] > 100 or data[7]:
        return False
    its_model, version, epoch, _, sequence, total, its_cohort, _ = _MANIFEST.unpack_from(data)[5:]
    return (
        its_model == model
        and max(version, total, sequence) < _LIMIT
        and its_cohort == hashlib.sha256(cohort).digest()[:8]
        and not epoch
        and not any(data[signed : signed + 32])
        and sequence >= above
        and hmac.new(key, data[: signed + 32], "sha256").digest() == data[signed + 32 :]
    )


def manifest_file(data, base):
    """Return (whole?, bytes, name) of the smallest file for a base digest, or None."""
    found = []
    for at in range(68, 68 + 36 * data[5], 36):
        whole = not any(data[at : at + 16])
        size = int.from_bytes(data[at + 16 : at + 20], "little")
        if whole or (base is not None and data[at : at + 16] == base[:16]):
            found.append((size, at, whole))
    if not found:
        return None
    size, at, whole = min(found)
    return whole, size, data[at + 20 : at + 36].hex()


_STATUS = re.compile(rb"HTTP/1\.[^ ]* (\d{3})( .*)?$", re.DOTALL)


def http_body(data):
    """Return (status, body) of a whole HTTP/1.1 reply, or None where its framing is not valid.

    A reply without a length goes on to the end of the data.
    """
    while True:
        end = re.search(rb"\n\r?\n", data)
        if not end:
            return None
        lines = [line.rstrip(b"\r") for line in data[: end.start()].split(b"\n")]
        status = _STATUS.match(lines[0])
        if not status:
            return None
        data = data[end.end() :]
        if not 100 <= int(status[1]) < 200:
            break
    fields = [line.partition(b":") for line in lines[1:]]
    lengths = {v.strip(b" \t") for n, _, v in fields if n.lower() == b"content-length"}
    coded = [v.strip(b" \t").lower() for n, _, v in fields if n.lower() == b"transfer-encoding"]
    if len({int(v) for v in lengths if v.isdigit()}) > 1 or (lengths and coded):
        return None
    if not all(v.isdigit() for v in lengths) or any(v != b"chunked" for v in coded):
        return None
    status = int(status[1])
    if status in (204, 304):
        return status, b""
    if coded:
        body = _chunks(data)
        return None if body is None else (status, body)
    if lengths:
        size = int(lengths.pop())
        return (status, data[:size]) if len(data) >= size else None
    return status, data


def _chunks(data):
    body = b""
    while True:
        line, newline, data = data.partition(b"\n")
        size = re.match(rb"[ \t]*([0-9a-fA-F]{1,7})[ \t]*(;.*)?$", line.rstrip(b"\r"), re.DOTALL)
        if not newline or not size:
            return None
        size = int(size[1], 16)
        if not size:
            return body if re.match(rb"(?:(?!\r?\n)[^\n]*\n)*\r?\n", data) else None
        body += data[:size]
        rest = data[size : size + 2]
        if len(data) < size or not (rest == b"\r\n" or rest[:1] == b"\n"):
            return None
        data = data[size + (2 if rest == b"\r\n" else 1) :]
