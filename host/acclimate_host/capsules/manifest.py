# SPDX-License-Identifier: MIT
"""Manifests: small signed files that say which capsule of a model is the newest."""

import hashlib
import hmac
import struct
from dataclasses import dataclass

from acclimate_host.capsules.layout import ENTRIES_MAX, ENTRY, MANIFEST, TAG_BYTES
from acclimate_host.errors import Refused

_HEAD = struct.Struct("<4sBBBBIII32s")
_ENTRY = struct.Struct("<16sI16s")
assert _HEAD.size == MANIFEST.bytes and _ENTRY.size == ENTRY.bytes
WHOLE = bytes(16)


def object_name(data: bytes) -> str:
    """Return the name of a file in the repository: half of its SHA-256, in hexadecimal."""
    return hashlib.sha256(data).digest()[:16].hex()


@dataclass(frozen=True)
class Entry:
    """One file: ``base`` is the start of the base's digest, or zeros for the whole capsule."""

    base: bytes
    size: int
    name: str


@dataclass(frozen=True)
class Manifest:
    """What a manifest says."""

    model: int
    version: int
    total: int
    digest: bytes
    percent: int
    entries: tuple[Entry, ...]

    def pack(self, key: bytes | None) -> bytes:
        """Return the signed bytes.

        :param key: of the devices; without one the tag is zero, and only integrity holds.
        """
        if not 0 <= self.percent <= 100:
            raise Refused(f"percent {self.percent}: 0 to 100")
        if not 1 <= len(self.entries) <= ENTRIES_MAX:
            raise Refused(f"{len(self.entries)} entries: 1 to {ENTRIES_MAX}")
        data = _HEAD.pack(
            b"AMAN",
            1,
            len(self.entries),
            self.percent,
            0,
            self.model,
            self.version,
            self.total,
            self.digest,
        )
        for entry in self.entries:
            data += _ENTRY.pack(entry.base, entry.size, bytes.fromhex(entry.name))
        tag = hmac.new(key, data, "sha256").digest() if key is not None else bytes(TAG_BYTES)
        return data + tag


def unpack(data: bytes) -> Manifest:
    """Return a Manifest from its bytes; the tag is not looked at (see ``is_signed``)."""
    if len(data) < MANIFEST.bytes + ENTRY.bytes + TAG_BYTES or data[:4] != b"AMAN":
        raise Refused("this is no manifest: it does not begin with AMAN and a header")
    _, form, count, percent, _, model, version, total, digest = _HEAD.unpack_from(data)
    if form != 1 or len(data) != MANIFEST.bytes + count * ENTRY.bytes + TAG_BYTES:
        raise Refused(f"manifest of format {form}, {count} entries, {len(data)} bytes")
    entries = []
    for i in range(count):
        base, size, name = _ENTRY.unpack_from(data, MANIFEST.bytes + i * ENTRY.bytes)
        entries.append(Entry(base, size, name.hex()))
    return Manifest(model, version, total, digest, percent, tuple(entries))


def is_signed(data: bytes, key: bytes) -> bool:
    """Tell whether a manifest's tag was made with the key."""
    tag = hmac.new(key, data[:-TAG_BYTES], "sha256").digest()
    return hmac.compare_digest(tag, data[-TAG_BYTES:])
