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
_M_ENCRYPTED = const(7)
_M_MODEL = const(8)
_M_VERSION = const(12)
_M_EPOCH = const(16)
_M_EXPIRES = const(18)
_M_SEQUENCE = const(20)
_M_TOTAL = const(24)
_M_COHORT = const(28)
_M_DIGEST = const(36)
_M_BYTES = const(68)
_M_MAX = const(420)
_E_BASE = const(0)
_E_SIZE = const(16)
_E_NAME = const(20)
_E_BYTES = const(36)
_SIGNATURE_BYTES = const(64)
_ENTRIES_MAX = const(8)
_H_DIGEST = const(20)
_HEADER_FORMAT = const(2)
_ROLE_ROLLOUT = const(2)
_FLOOR_MANIFEST = const(8)
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
    """A manifest in a buffer of its own (420 bytes); ``have`` of them came so far."""

    def __init__(self):
        self.bytes = bytearray(_M_MAX)
        self.have = 0
        self.is_tagged = False  # with a tag for this device alone

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

    def check(self, store, cohort, is_encrypted=False):
        """Raise CapsuleError unless it is whole, signed, for this model and cohort, and not old.

        :param cohort: bytes, its name. :param is_encrypted: whether its objects have to be.
        """
        b, count, wanted = self.bytes, self.bytes[_M_COUNT], store.wanted
        if self.have < _M_BYTES or b[0] != 65 or b[1] != 77 or b[2] != 65 or b[3] != 78:
            raise CapsuleError("magic", "the manifest does not begin with AMAN")
        if b[_M_FORMAT] != _HEADER_FORMAT or b[_M_ENCRYPTED] > 1 or b[_M_PERCENT] > 100:
            text = "manifest of format %d, this device reads %d" % (b[_M_FORMAT], _HEADER_FORMAT)
            raise CapsuleError("format", text)
        if not 1 <= count <= _ENTRIES_MAX:
            raise CapsuleError("table", "manifest of %d entries, of 1 to 8" % count)
        signed = self.signed_bytes
        if self.have != signed + _SIGNATURE_BYTES:
            text = "manifest of %d bytes, not %d" % (self.have, signed + _SIGNATURE_BYTES)
            raise CapsuleError("truncated", text)
        store.checker.signed(b, signed, wanted, _ROLE_ROLLOUT)
        model = number(b, _M_MODEL)
        if min(model, self.total, self.version, self.sequence) < 0:
            raise CapsuleError("format", "a number is above 2**30 - 1")
        if wanted.model and model != wanted.model:
            raise CapsuleError("model", "manifest for id %d, not %d" % (model, wanted.model))
        hasher, out = store.checker.hasher, bytearray(32)
        hasher.reset()
        hasher.update(cohort, len(cohort))
        hasher.into(out)
        if not same_digest(b, _M_COHORT, out, 8):
            raise CapsuleError("cohort", "the manifest is for another cohort")
        if b[_M_ENCRYPTED] != is_encrypted:
            what = ("encrypted objects: give object_key", "plain objects, object_key takes none")
            raise CapsuleError("encryption", what[is_encrypted])
        store.check_epoch(_half(b, _M_EPOCH))
        if self.sequence < store.journal.manifest:
            text = "manifest %d is older than %d" % (self.sequence, store.journal.manifest)
            raise CapsuleError("version", text)
        last = _half(b, _M_EXPIRES)
        if last and store.day is not None and store.day() > last:
            raise CapsuleError("expired", "the manifest counts until day %d since 1970" % last)

    def keep_sequence(self, store):
        """Let no manifest before this one count from now on."""
        sequence, j = self.sequence, store.journal
        if sequence > j.manifest and not store.trouble:
            j.keep(_FLOOR_MANIFEST, sequence & 0xFFFF, sequence >> 16)

    def tag(self, data):
        """Put the tag that was made for this device alone where the signature is."""
        at = self.signed_bytes
        self.is_tagged = True
        for i in range(32):
            self.bytes[at + i] = 0
            self.bytes[at + 32 + i] = data[i]

    @property
    def signed_bytes(self):
        return _M_BYTES + self.bytes[_M_COUNT] * _E_BYTES

    @property
    def sequence(self):
        return number(self.bytes, _M_SEQUENCE)

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


def _half(buffer, at):
    return buffer[at] | buffer[at + 1] << 8
