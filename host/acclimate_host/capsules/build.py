# SPDX-License-Identifier: MIT
"""Build, sign and read whole capsules.

>>> data = build({"WEIGHTS": b"1234"}, kind="SVM", model=7, version=1)
>>> read(data).version
1
"""

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acclimate_host.capsules import signing
from acclimate_host.capsules.layout import (
    BOUND_MAX,
    ENUMS,
    HEADER,
    LIMITS,
    NUMBER_MAX,
    SECTION,
    SECTIONS_MAX,
)
from acclimate_host.capsules.signing import Key
from acclimate_host.errors import Refused

_FORMATS = {1: "B", 2: "H", 4: "I"}
_HEADER = struct.Struct(
    "<"
    + "".join(
        f"{field.bytes}s"
        if field.name in ("magic", "digest", "signature")
        else _FORMATS[field.bytes]
        for field in HEADER.fields
    )
)
_UNSIGNED = HEADER.offset("digest")
_SIGNATURE = HEADER.offset("signature")
_FORMAT = LIMITS["HEADER_FORMAT"]
KINDS = ENUMS["Kinds"][1]
SECTIONS = ENUMS["Sections"][1]
_BOUNDS = ENUMS["Bounds"][1]
_SECTION_MAX = (1 << 8 * SECTION.fields[1].bytes) - 1


@dataclass(frozen=True)
class Capsule:
    """What a whole capsule says; ``sections`` is a tuple of (type name, bytes)."""

    kind: str
    model: int
    version: int
    sections: tuple[tuple[str, bytes], ...]
    flags: int
    arch: int
    abi: int
    temperature: int
    board: int
    device: int
    epoch: int
    digest: bytes
    signature: bytes
    total: int
    intact: bool

    def authentic(self, key: Key | Iterable[bytes], data: bytes) -> bool:
        """Tell whether the capsule's bytes are signed with a key; see ``signing.is_signed``."""
        if self.flags & 1:  # the tag of a saved one covers where it came from
            message = data[: _SIGNATURE + 32]
            made = hmac.new(key, message, "sha256").digest() if isinstance(key, bytes) else b""
            return hmac.compare_digest(self.signature[32:], made)
        return signing.is_signed(data[:_SIGNATURE], self.signature, key)


def build(
    sections: Mapping[str, bytes],
    kind: str,
    model: int,
    version: int,
    *,
    key: Key | None = None,
    epoch: int = 0,
    flags: int = 0,
    arch: int = 0,
    abi: int = 0,
    temperature: int = 256,
    board: int = 0,
    device: int = 0,
) -> bytes:
    """Return a capsule of sections, a dictionary of type name -> bytes, in that order.

    :param key: a private key of the release role, or bytes (16 to 64) for an HMAC tag; the
        signature is zero without one. :param epoch: of the key list, 0 without one.
    """
    check_numbers(NUMBER_MAX, model=model, version=version)
    check_numbers(BOUND_MAX, board=board, device=device)
    check_numbers(0xFFFF, epoch=epoch, temperature=temperature)
    check_numbers(0xFF, flags=flags, arch=arch, abi=abi)
    bounds = {"BOARD": board, "DEVICE": device, "CODE": arch | abi << 8}
    bounds = {name: number for name, number in bounds.items() if number}
    if not 1 <= len(sections) <= SECTIONS_MAX - len(bounds):
        raise Refused(f"{len(sections)} sections: 1 to {SECTIONS_MAX - len(bounds)}")
    _check_name("kind", kind, KINDS)
    for name, content in sections.items():
        _check_name("section", name, SECTIONS)
        if len(content) > _SECTION_MAX:
            raise Refused(f"{name.lower()} of {len(content)} bytes: at most {_SECTION_MAX}")
    if isinstance(key, bytes) and not 16 <= len(key) <= 64:
        raise Refused(f"key of {len(key)} bytes: 16 to 64")
    table = b"".join(
        bytes([SECTIONS[name]]) + len(content).to_bytes(3, "little")
        for name, content in sections.items()
    )
    for name, number in bounds.items():
        table += bytes([_BOUNDS[name]]) + number.to_bytes(3, "little")
    body = bytearray(HEADER.bytes + len(table))
    for content in sections.values():
        body += content
        body += bytes(-len(body) % 4)
    after = table + bytes(body[HEADER.bytes + len(table) :])
    head = _HEADER.pack(
        b"ACAP",
        _FORMAT,
        KINDS[kind],
        len(sections) + len(bounds),
        flags,
        model,
        version,
        epoch,
        temperature,
        bytes(32),
        bytes(64),
    )[:_UNSIGNED]
    digest = hashlib.sha256(head + after).digest()
    return head + digest + signing.sign(head + digest, key) + after


def signed_again(data: bytes, key: Key) -> bytes:
    """Return a capsule with the signature of another key, all else byte by byte the same."""
    return data[:_SIGNATURE] + signing.sign(data[:_SIGNATURE], key) + data[HEADER.bytes :]


def head_bytes(data: bytes | bytearray) -> int:
    """Return how many bytes the header and section table of a capsule take."""
    return HEADER.bytes + SECTION.bytes * data[HEADER.offset("sections")]


def section_ranges(data: bytes | bytearray) -> list[tuple[int, int, int]]:
    """Return a list of (type number, start, end) of a capsule's sections."""
    count = data[HEADER.offset("sections")]
    at = head_bytes(data)
    ranges: list[tuple[int, int, int]] = []
    for index in range(count):
        entry = data[HEADER.bytes + index * SECTION.bytes :][: SECTION.bytes]
        if entry[0] >= LIMITS["FIRST_BOUND"]:
            continue
        size = int.from_bytes(entry[1:], "little")
        ranges.append((entry[0], at, at + size))
        at += size + -size % 4
    return ranges


def total_bytes(head: bytes | bytearray) -> int:
    """Return how long a capsule is, of which the header and section table are there."""
    ranges = section_ranges(head)
    return ranges[-1][2] + -ranges[-1][2] % 4 if ranges else head_bytes(head)


def _bounds(data: bytes | bytearray) -> dict[int, int]:
    """Return {type number: number} of what a capsule is bound to."""
    found: dict[int, int] = {}
    for at in range(HEADER.bytes, head_bytes(data), SECTION.bytes):
        if data[at] >= LIMITS["FIRST_BOUND"]:
            found.setdefault(data[at], int.from_bytes(data[at + 1 : at + 4], "little"))
    return found


def read(data: bytes) -> Capsule:
    """Return what a whole capsule says as a Capsule.

    :raises Refused: these bytes are no capsule.
    """
    if data[:4] == b"AUPD":
        raise Refused("this is an update: a whole capsule is expected")
    if len(data) < HEADER.bytes + SECTION.bytes or data[:4] != b"ACAP":
        raise Refused("this is no capsule: it does not begin with ACAP and a header")
    values = dict(zip((f.name for f in HEADER.fields), _HEADER.unpack_from(data), strict=True))
    if values["format"] != _FORMAT or not 1 <= values["sections"] <= SECTIONS_MAX:
        raise Refused(f"capsule of format {values['format']}, {values['sections']} sections")
    check_numbers(NUMBER_MAX, model=values["model"], version=values["version"])
    if len(data) < head_bytes(data):
        raise Refused(f"capsule of {len(data)} bytes, its header has {head_bytes(data)}")
    names = {number: name for name, number in SECTIONS.items()}
    ranges, total = section_ranges(data), total_bytes(data)
    if total != len(data):
        raise Refused(f"capsule of {len(data)} bytes, its header says {total}")
    bounds = _bounds(data)
    if bounds.keys() - set(_BOUNDS.values()):
        raise Refused(f"capsule with unknown bounds: {sorted(bounds)}")
    code = bounds.get(_BOUNDS["CODE"], 0)
    digest = hashlib.sha256(data[:_UNSIGNED] + data[HEADER.bytes :]).digest()
    return Capsule(
        {v: k for k, v in KINDS.items()}.get(values["kind"], str(values["kind"])),
        values["model"],
        values["version"],
        tuple((names.get(t, str(t)), bytes(data[a:b])) for t, a, b in ranges),
        values["flags"],
        code & 255,
        code >> 8,
        values["temperature"],
        bounds.get(_BOUNDS["BOARD"], 0),
        bounds.get(_BOUNDS["DEVICE"], 0),
        values["epoch"],
        values["digest"],
        values["signature"],
        len(data),
        hmac.compare_digest(digest, values["digest"]),
    )


def check_numbers(most: int, **numbers: int) -> None:
    """Raise Refused unless each argument is a whole number from 0 to most."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise Refused(f"{name} {value!r}: expected a whole number, 0 to {most}")
        if not 0 <= value <= most:
            raise Refused(f"{name} {value}: 0 to {most}")


def _check_name(what: str, name: str, known: Mapping[str, int]) -> None:
    if name not in known:
        raise Refused(f"{what} {name!r}: expected one of {', '.join(known)}")
