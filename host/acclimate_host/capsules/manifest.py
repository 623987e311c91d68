# SPDX-License-Identifier: MIT
"""Manifests: small signed files that say which capsule of a model is the newest."""

import hashlib
import re
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.capsules import signing
from acclimate_host.capsules.layout import (
    ENTRIES_MAX,
    ENTRY,
    LIMITS,
    MANIFEST,
    NUMBER_MAX,
    SIGNATURE_BYTES,
)
from acclimate_host.capsules.signing import Key
from acclimate_host.errors import Refused, refused_of

_HEAD = struct.Struct("<4sBBBBIIHHII8s32s")
_ENTRY = struct.Struct("<16sI16s")
assert _HEAD.size == MANIFEST.bytes and _ENTRY.size == ENTRY.bytes
WHOLE = bytes(16)
_OBJECT = re.compile("[0-9a-f]{32}")


def object_name(data: bytes) -> str:
    """Return the name of a file in the repository: half of its SHA-256, in hexadecimal."""
    return hashlib.sha256(data).digest()[:16].hex()


def is_object_name(name: object) -> bool:
    """Tell whether a file of the repository can have this name."""
    return isinstance(name, str) and _OBJECT.fullmatch(name) is not None


def read_object(path: Path) -> bytes:
    """Return the content of a file of the repository, which its name tells.

    :raises Refused: it is damaged.
    """
    data = path.read_bytes()
    if object_name(data) != path.name:
        raise Refused(f"{path}: damaged: its SHA-256 is not that of its name")
    return data


@dataclass(frozen=True)
class Entry:
    """One file: ``base`` is the start of the base's digest, or zeros for the whole capsule."""

    base: bytes
    size: int
    name: str


@dataclass(frozen=True)
class Manifest:
    """What a manifest says; ``cohort`` is ``cohort_mark`` of the name, ``expires`` a day or 0.

    Sizes of entries are those before encryption.
    """

    model: int
    version: int
    total: int
    digest: bytes
    percent: int
    entries: tuple[Entry, ...]
    cohort: bytes = bytes(8)
    sequence: int = 0
    epoch: int = 0
    expires: int = 0
    encrypted: bool = False

    @property
    def whole(self) -> Entry:
        """The entry of the whole capsule."""
        return next(entry for entry in self.entries if entry.base == WHOLE)

    def pack(self, key: Key | None) -> bytes:
        """Return the signed bytes.

        :param key: see ``signing.sign``; without one only integrity holds.
        """
        data = self.signed()
        return data + signing.sign(data, key)

    def signed(self) -> bytes:
        """Return the bytes that are signed."""
        if not 0 <= self.percent <= 100:
            raise Refused(f"percent {self.percent}: 0 to 100")
        if not 1 <= len(self.entries) <= ENTRIES_MAX:
            raise Refused(f"{len(self.entries)} entries: 1 to {ENTRIES_MAX}")
        data = _HEAD.pack(
            b"AMAN",
            LIMITS["HEADER_FORMAT"],
            len(self.entries),
            self.percent,
            self.encrypted,
            self.model,
            self.version,
            self.epoch,
            self.expires,
            self.sequence,
            self.total,
            self.cohort,
            self.digest,
        )
        for entry in self.entries:
            data += _ENTRY.pack(entry.base, entry.size, bytes.fromhex(entry.name))
        return data


def day_in(days: int) -> int:
    """Return the day since 1970 that is so many days from today; 0 for 0.

    :raises Refused: days is below 0, or beyond what a manifest holds.
    """
    day = int(time.time() // 86400) + days if days else 0
    if days < 0 or day > 65535:
        raise Refused(f"{days} days: expected 0, or a day before the year 2149")
    return day


def cohort_mark(name: str) -> bytes:
    """Return what stands for a cohort's name in a manifest."""
    return hashlib.sha256(name.encode()).digest()[:8]


def unpack(data: bytes) -> Manifest:
    """Return a Manifest from its bytes; the tag is not looked at (see ``is_signed``)."""
    if len(data) < MANIFEST.bytes + ENTRY.bytes + SIGNATURE_BYTES or data[:4] != b"AMAN":
        raise Refused("this is no manifest: it does not begin with AMAN and a header")
    head = _HEAD.unpack_from(data)
    _, form, count, percent, encrypted, model, version, epoch, expires, sequence = head[:10]
    total, cohort, digest = head[10:]
    if (
        form != LIMITS["HEADER_FORMAT"]
        or encrypted > 1
        or not 1 <= count <= ENTRIES_MAX
        or len(data) != MANIFEST.bytes + count * ENTRY.bytes + SIGNATURE_BYTES
    ):
        raise Refused(f"manifest of format {form}, {count} entries, {len(data)} bytes")
    entries = []
    for i in range(count):
        base, size, name = _ENTRY.unpack_from(data, MANIFEST.bytes + i * ENTRY.bytes)
        entries.append(Entry(base, size, name.hex()))
    sizes = [entry.size for entry in entries]
    if percent > 100 or max(model, version, sequence, total, *sizes) > NUMBER_MAX:
        raise Refused(f"manifest with a percentage above 100, or a number above {NUMBER_MAX}")
    if any(entry.base == WHOLE and entry.size != total for entry in entries):
        raise Refused(f"manifest of a capsule of {total} bytes, which its entry is not of")
    if not any(entry.base == WHOLE for entry in entries):
        raise Refused("manifest without a whole capsule: remove it and publish one")
    return Manifest(
        model,
        version,
        total,
        digest,
        percent,
        tuple(entries),
        cohort,
        sequence,
        epoch,
        expires,
        bool(encrypted),
    )


def read_manifest(path: Path) -> Manifest:
    """Return the Manifest of a file.

    :raises Refused: it is damaged; the file is named.
    """
    with refused_of(path):
        return unpack(path.read_bytes())


def is_signed(data: bytes, key: Key | Iterable[bytes]) -> bool:
    """Tell whether a manifest is signed with a key; see ``signing.is_signed``."""
    return signing.is_signed(data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:], key)
