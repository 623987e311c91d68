# SPDX-License-Identifier: MIT
"""Make update containers, and choose the smallest way to bring a capsule to a device.

Signing comes first and differences after it: the container carries the signed header of the
target, so authenticity covers what the device reconstructs (see docs/capsules.md).
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

from acclimate_host.capsules.build import head_bytes, section_ranges
from acclimate_host.capsules.layout import ENUMS, HEADER, UPDATE
from acclimate_host.capsules.rangecoder import Encoder
from acclimate_host.errors import Refused

OPS = ENUMS["Instructions"][1]
FORMS = ENUMS["Forms"][1]
_MIN_MATCH = 16
_STEP = 8
_LENGTH_MAX = (1 << 24) - 1
_Instruction = tuple[str, int, bytes]  # op, place in the base, bytes of the target


def update(base: bytes, target: bytes, form: str | None = None) -> bytes:
    """Return the container that makes target (a signed capsule) of base.

    :param form: name in FORMS, for the reader's information; found out without one.
    """
    head = head_bytes(target)
    encoder = Encoder()
    code = bytearray()
    for op, at, piece in _plan(base, target, head):
        code += _encode(op, at, piece, base, encoder)
    digest_at = HEADER.offset("digest")
    fields = (
        b"AUPD",
        bytes([1, FORMS[form or _form(base, target)]]),
        head.to_bytes(2, "little"),
        len(code).to_bytes(4, "little"),
        zlib.crc32(code).to_bytes(4, "little"),
        base[digest_at : digest_at + 32],
    )
    container = b"".join(fields)
    assert len(container) == UPDATE.bytes
    return container + target[:head] + bytes(code)


def describe(container: bytes) -> dict[str, Any]:
    """Return what an update container says of itself as a dictionary.

    :raises Refused: its header, or that of its target, is not there.
    """
    least = UPDATE.bytes + HEADER.bytes
    if len(container) < least or container[:4] != b"AUPD":
        raise Refused(f"update of {len(container)} bytes: its headers have {least}")

    def number(at, size=4):
        return int.from_bytes(container[at : at + size], "little")

    form = number(UPDATE.offset("form"), 1)
    base, target = UPDATE.offset("base"), UPDATE.bytes
    digest = target + HEADER.offset("digest")
    return {
        "update": {value: name.lower() for name, value in FORMS.items()}.get(form, str(form)),
        "bytes": len(container),
        "instructions": number(UPDATE.offset("size")),
        "base_sha256": container[base : base + 32].hex(),
        "model": number(target + HEADER.offset("model")),
        "version": number(target + HEADER.offset("version")),
        "target_bytes": number(target + HEADER.offset("total")),
        "target_sha256": container[digest : digest + 32].hex(),
    }


def smallest(base: bytes | None, target: bytes) -> bytes:
    """Return the smaller of the whole capsule and the update from base (None: there is none)."""
    if base is None:
        return target
    made = update(base, target)
    return made if len(made) < len(target) else target


def patch(
    base: bytes, at: int, content: bytes, sign: Callable[[dict[str, bytes]], bytes]
) -> tuple[bytes, bytes]:
    """Return (target, container) with `content` in place of the bytes from at on.

    :param sign: function that takes the section contents by type name and returns a capsule.
    """
    from acclimate_host.capsules.build import SECTIONS

    names = {number: name for name, number in SECTIONS.items()}
    changed = bytearray(base)
    if at < head_bytes(base) or at + len(content) > len(base):
        raise Refused(f"patch of bytes {at} to {at + len(content)}: outside the sections")
    changed[at : at + len(content)] = content
    target = sign({names[t]: bytes(changed[a:b]) for t, a, b in section_ranges(changed)})
    return target, update(base, target, "PATCH")


def _form(base: bytes, target: bytes) -> str:
    """Return the form whose name tells which sections differ."""
    old = {t: base[a:b] for t, a, b in section_ranges(base)}
    new = {t: target[a:b] for t, a, b in section_ranges(target)}
    differ = {t for t in old.keys() | new.keys() if old.get(t) != new.get(t)}
    if differ == {2}:
        return "WEIGHTS"
    return "OPERATORS" if differ == {3} else "DELTA"


def _plan(base: bytes, target: bytes, at: int) -> Iterator[_Instruction]:
    """Yield (op, place in base, bytes of the target) that make target from byte `at` on."""
    ranges = {t: (a, b) for t, a, b in section_ranges(base)}
    for type, start, end in section_ranges(target):
        if start > at:
            yield "DATA", 0, target[at:start]
        old = ranges.get(type)
        if old and old[1] - old[0] == end - start:
            yield from _aligned(base, target, old[0], start, end)
        else:
            yield from _moved(base, target, start, end)
        at = end


def _aligned(base: bytes, target: bytes, old: int, start: int, end: int) -> Iterator[_Instruction]:
    """Sections of the same length: copy long equal runs, code differences elsewhere."""
    shift, at, same = old - start, start, start
    while same < end:
        if base[same + shift] != target[same]:
            same += 1
            continue
        run = same
        while run < end and base[run + shift] == target[run]:
            run += 1
        if run - same >= 64 or (same == start and run == end):
            if same > at:
                yield "DIFF", at + shift, target[at:same]
            yield "COPY", same + shift, target[same:run]
            at = run
        same = run
    if end > at:
        yield "DIFF", at + shift, target[at:end]


def _moved(base: bytes, target: bytes, start: int, end: int) -> Iterator[_Instruction]:
    """Sections that grew or shrank: copy what the base has anywhere, send the rest."""
    places: dict[bytes, int] = {}
    for at in range(0, len(base) - _MIN_MATCH, _STEP):
        places.setdefault(bytes(base[at : at + _MIN_MATCH]), at)
    at = literal = start
    while at < end:
        found = places.get(bytes(target[at : at + _MIN_MATCH])) if at + _MIN_MATCH <= end else None
        if found is None:
            at += 1
            continue
        while at > literal and found and base[found - 1] == target[at - 1]:
            at, found = at - 1, found - 1
        n = 0
        while at + n < end and found + n < len(base) and base[found + n] == target[at + n]:
            n += 1
        if at > literal:
            yield "DATA", 0, target[literal:at]
        yield "COPY", found, target[at : at + n]
        at += n
        literal = at
    if end > literal:
        yield "DATA", 0, target[literal:end]


def _encode(op: str, at: int, piece: bytes, base: bytes, encoder: Encoder) -> bytes:
    if len(piece) > _LENGTH_MAX:
        raise Refused(f"a section of {len(piece)} bytes: at most {_LENGTH_MAX}")
    code = bytes([OPS[op]]) + len(piece).to_bytes(3, "little")
    if op == "DATA":
        return code + piece
    code += at.to_bytes(3, "little")
    if op == "COPY":
        return code
    pairs = zip(piece, base[at : at + len(piece)], strict=True)
    before = encoder.state()
    stream = encoder.stream((new - old + 128) % 256 - 128 for new, old in pairs)
    if len(stream) + 6 >= len(piece):  # nothing in common with the base
        encoder.restore(before)
        return _encode("DATA", 0, piece, base, encoder)
    return code + len(stream).to_bytes(3, "little") + stream
