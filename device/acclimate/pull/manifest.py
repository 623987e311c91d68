# SPDX-License-Identifier: MIT
"""The manifest of a repository: which capsule is the newest, and from where it can be had."""

from acclimate import _crc as crc
from acclimate._digest import same_digest
from acclimate.store import CapsuleError
from acclimate.store.capsule import number

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_M_FORMAT = const(4)
_M_COUNT = const(5)
_M_PERCENT = const(6)
_M_MODEL = const(8)
_M_VERSION = const(12)
_M_TOTAL = const(16)
_M_DIGEST = const(20)
_M_BYTES = const(52)
_M_MAX = const(372)
_E_BASE = const(0)
_E_SIZE = const(16)
_E_NAME = const(20)
_E_BYTES = const(36)
_TAG_BYTES = const(32)
_ENTRIES_MAX = const(8)
_H_DIGEST = const(32)
_FORMAT = const(1)
# layout: end


def in_rollout(device, version, percent):
    """Whether a device takes a version that so many per cent of all devices shall take.

    Deterministic: CRC-32 of both numbers, so that a raised percentage only adds devices.
    """
    out, word = bytearray(4), bytearray(8)
    for i in range(4):
        word[i] = device >> 8 * i & 255
        word[4 + i] = version >> 8 * i & 255
    crc.start(out)
    crc.update(out, word, 0, 8)
    crc.finish(out)
    return (out[0] | out[1] << 8) % 100 < percent


class Manifest:
    """A manifest in a buffer of its own (372 bytes); ``have`` of them came so far."""

    def __init__(self):
        self.bytes = bytearray(_M_MAX)
        self.have = 0

    def add(self, view, n):
        """Take n more bytes."""
        if self.have + n > _M_MAX:
            raise CapsuleError("oversized", "manifest of more than %d bytes" % _M_MAX)
        for i in range(n):
            self.bytes[self.have + i] = view[i]
        self.have += n

    def shrink(self):
        """Give back the RAM of the entries, once one was chosen."""
        self.bytes = self.bytes[:_M_BYTES]

    def check(self, wanted, hasher):
        """Raise CapsuleError unless it is whole, signed with the device's key, for its model."""
        b, count = self.bytes, self.bytes[_M_COUNT]
        if self.have < _M_BYTES or b[0] != 65 or b[1] != 77 or b[2] != 65 or b[3] != 78:
            raise CapsuleError("magic", "the manifest does not begin with AMAN")
        if b[_M_FORMAT] != _FORMAT:
            text = "manifest of format %d, this device reads %d" % (b[_M_FORMAT], _FORMAT)
            raise CapsuleError("format", text)
        if not 1 <= count <= _ENTRIES_MAX:
            raise CapsuleError("table", "manifest of %d entries, of 1 to 8" % count)
        signed = _M_BYTES + count * _E_BYTES
        if self.have != signed + _TAG_BYTES:
            text = "manifest of %d bytes, not %d" % (self.have, signed + _TAG_BYTES)
            raise CapsuleError("truncated", text)
        if wanted.key is not None:
            out = bytearray(32)
            hasher.hmac(wanted.key, b, signed, out)
            if not same_digest(b, signed, out, 32):
                raise CapsuleError("authenticity", "the manifest was not signed with the key")
        if min(number(b, _M_MODEL), number(b, _M_TOTAL), self.version) < 0:
            raise CapsuleError("format", "a number is above 2**30 - 1")
        if wanted.model and number(b, _M_MODEL) != wanted.model:
            text = "manifest for id %d, not %d" % (number(b, _M_MODEL), wanted.model)
            raise CapsuleError("model", text)

    @property
    def version(self):
        return number(self.bytes, _M_VERSION)

    @property
    def total(self):
        return number(self.bytes, _M_TOTAL)

    @property
    def percent(self):
        return self.bytes[_M_PERCENT]

    def names(self, head):
        """Whether a capsule's header is that of the capsule that is meant."""
        return same_digest(head, _H_DIGEST, memoryview(self.bytes)[_M_DIGEST:], 32)

    def choose(self, base=None):
        """Return (whole?, bytes, name) of the smallest file for a device that has this base.

        :param base: header of the capsule in use, or None.
        """
        best = None
        for i in range(self.bytes[_M_COUNT]):
            at = _M_BYTES + i * _E_BYTES
            whole = not any(self.bytes[at : at + 16])
            if not whole and (
                base is None
                or not same_digest(base, _H_DIGEST, memoryview(self.bytes)[at + _E_BASE :], 16)
            ):
                continue
            size = number(self.bytes, at + _E_SIZE)
            if size < 0 or (whole and size != self.total):
                raise CapsuleError("format", "manifest entry of %d bytes" % size)
            if best is None or size < best[1]:
                name = self.bytes[at + _E_NAME : at + _E_BYTES]
                best = (whole, size, "".join("%02x" % byte for byte in name))
        if best is None:
            raise CapsuleError("base", "the repository has no file for the model in use")
        return best
