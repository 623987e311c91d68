# SPDX-License-Identifier: MIT
"""Build, sign and read whole capsules.

>>> data = build({"WEIGHTS": b"1234"}, kind="SVM", model=7, version=1)
>>> read(data).version
1
"""

import hashlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from acclimate_host.capsules.layout import ENUMS, HEADER, NUMBER_MAX, SECTION, SECTIONS_MAX
from acclimate_host.errors import Refused

_FORMATS = {1: "B", 2: "H", 4: "I"}
_HEADER = struct.Struct(
    "<"
    + "".join(
        f"{field.bytes}s" if field.name in ("magic", "digest", "tag") else _FORMATS[field.bytes]
        for field in HEADER.fields
    )
)
_UNSIGNED = HEADER.offset("digest")
_TAG = HEADER.offset("tag")
KINDS = ENUMS["Kinds"][1]
SECTIONS = ENUMS["Sections"][1]


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
    digest: bytes
    tag: bytes
    total: int
    intact: bool

    def authentic(self, key: bytes, data: bytes) -> bool:
        """Tell whether the tag of the capsule's bytes was made with the key."""
        return hmac.compare_digest(self.tag, _sign(data[:_TAG], key))


def build(
    sections: Mapping[str, bytes],
    kind: str,
    model: int,
    version: int,
    *,
    key: bytes | None = None,
    flags: int = 0,
    arch: int = 0,
    abi: int = 0,
    temperature: int = 256,
    board: int = 0,
    device: int = 0,
) -> bytes:
    """Return a capsule of sections, a dictionary of type name -> bytes, in that order.

    :param key: bytes (16 to 64) for the HMAC-SHA-256 tag; the tag is zero without one.
    """
    _check_numbers(model=model, version=version, board=board, device=device)
    if not 1 <= len(sections) <= SECTIONS_MAX:
        raise Refused(f"{len(sections)} sections: 1 to {SECTIONS_MAX}")
    if key is not None and not 16 <= len(key) <= 64:
        raise Refused(f"key of {len(key)} bytes: 16 to 64")
    table = b"".join(
        bytes([SECTIONS[name]]) + len(content).to_bytes(3, "little")
        for name, content in sections.items()
    )
    body = bytearray(HEADER.bytes + len(table))
    for content in sections.values():
        body += bytes(-len(body) % 4)
        body += content
    after = table + bytes(body[HEADER.bytes + len(table) :])
    head = _HEADER.pack(
        b"ACAP",
        1,
        KINDS[kind],
        len(sections),
        flags,
        len(body),
        model,
        version,
        arch,
        abi,
        temperature,
        board,
        device,
        bytes(32),
        bytes(32),
    )[:_UNSIGNED]
    digest = hashlib.sha256(head + after).digest()
    tag = _sign(head + digest, key) if key is not None else bytes(32)
    return head + digest + tag + after


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
        at += -at % 4
        size = int.from_bytes(entry[1:], "little")
        ranges.append((entry[0], at, at + size))
        at += size
    return ranges


def read(data: bytes) -> Capsule:
    """Return what a whole capsule says as a Capsule.

    :raises Refused: these bytes are no capsule.
    """
    if data[:4] == b"AUPD":
        raise Refused("this is an update: a whole capsule is expected")
    if len(data) < HEADER.bytes + SECTION.bytes or data[:4] != b"ACAP":
        raise Refused("this is no capsule: it does not begin with ACAP and a header")
    values = dict(zip((f.name for f in HEADER.fields), _HEADER.unpack_from(data), strict=True))
    if values["format"] != 1 or not 1 <= values["sections"] <= SECTIONS_MAX:
        raise Refused(f"capsule of format {values['format']}, {values['sections']} sections")
    if len(data) < head_bytes(data):
        raise Refused(f"capsule of {len(data)} bytes, its header has {head_bytes(data)}")
    names = {number: name for name, number in SECTIONS.items()}
    ranges = section_ranges(data)
    if values["total"] != len(data) or ranges[-1][2] != len(data):
        raise Refused(f"capsule of {len(data)} bytes, its header says {values['total']}")
    digest = hashlib.sha256(data[:_UNSIGNED] + data[HEADER.bytes :]).digest()
    return Capsule(
        {v: k for k, v in KINDS.items()}.get(values["kind"], str(values["kind"])),
        values["model"],
        values["version"],
        tuple((names.get(t, str(t)), bytes(data[a:b])) for t, a, b in ranges),
        values["flags"],
        values["arch"],
        values["abi"],
        values["temperature"],
        values["board"],
        values["device"],
        values["digest"],
        values["tag"],
        len(data),
        hmac.compare_digest(digest, values["digest"]),
    )


def _sign(message: bytes, key: bytes) -> bytes:
    return hmac.new(key, message, "sha256").digest()


def _check_numbers(**numbers: int) -> None:
    for name, value in numbers.items():
        if not 0 <= value <= NUMBER_MAX:
            raise Refused(f"{name} {value}: 0 to {NUMBER_MAX}")
