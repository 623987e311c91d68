# SPDX-License-Identifier: MIT
"""Make update containers, and choose the smallest way to bring a capsule to a device.

Signing comes first and differences after it: the container carries the signed header of the
target, so authenticity covers what the device reconstructs (see docs/capsules.md).
"""

import zlib
from collections.abc import Callable
from typing import Any

from acclimate.store.rangecoder import _COPY as COPY
from acclimate.store.rangecoder import _DATA as DATA
from acclimate_host.capsules.build import head_bytes, section_ranges, total_bytes
from acclimate_host.capsules.layout import ENUMS, HEADER, LIMITS, UPDATE
from acclimate_host.capsules.planning import Instruction, plans
from acclimate_host.capsules.rangecoder import Encoder
from acclimate_host.errors import Refused

FORMS = ENUMS["Forms"][1]


def update(base: bytes, target: bytes, form: str | None = None) -> bytes:
    """Return the container that makes target (a signed capsule) of base.

    :param form: name in FORMS, for the reader's information; found out without one.
    """
    head = head_bytes(target)
    code = _code(base, target, head)
    digest_at = HEADER.offset("digest")
    fields = (
        b"AUPD",
        bytes([LIMITS["UPDATE_FORMAT"], FORMS[form or _form(base, target)]]),
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

    def number(at: int, size: int = 4) -> int:
        return int.from_bytes(container[at : at + size], "little")

    head = head_bytes(container[UPDATE.bytes :])
    if len(container) < UPDATE.bytes + head:
        raise Refused(f"update of {len(container)} bytes: its headers have {UPDATE.bytes + head}")
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
        "target_bytes": total_bytes(container[target:]),
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


def _code(base: bytes, target: bytes, head: int) -> bytes:
    """Return the shortest stream found of what makes the target from byte `head` on."""
    # Sections are filled up with zeros to a multiple of four.
    old = {type: (start, end + -end % 4) for type, start, end in section_ranges(base)}
    chosen: list[Instruction] = []
    for type, start, end in section_ranges(target):
        end += -end % 4
        if end > start:
            first, last = old.get(type, (head, head + end - start))
            found = plans(base, target[start:end], (first, last - (end - start)))
            moved = [[_moved(step, start) for step in plan] for plan in found]
            sizes = [len(_stream(base, target, plan, start)) for plan in moved]
            chosen += moved[sizes.index(min(sizes))]
    return min((_stream(base, target, chosen, head, lanes) for lanes in (False, True)), key=len)


def _moved(step: Instruction, start: int) -> Instruction:
    """Return an instruction of a section as one of the capsule."""
    return Instruction(step.kind, step.start + start, step.end + start, step.shift - start)


def _stream(
    base: bytes, target: bytes, plan: list[Instruction], made: int, has_lanes: bool = False
) -> bytes:
    encoder = Encoder(made, has_lanes)
    for step in plan:
        piece, at = target[step.start : step.end], step.start + step.shift
        if step.kind == DATA:
            encoder.data(piece)
        elif step.kind == COPY:
            encoder.copy(at, len(piece))
        else:
            old = base[at : at + len(piece)]
            pairs = zip(piece, old, strict=True)
            encoder.differences(at, ((new - byte + 128) % 256 - 128 for new, byte in pairs))
    return encoder.finish()
