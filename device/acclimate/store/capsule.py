# SPDX-License-Identifier: MIT
"""The capsule: header, section table, and the checks that a capsule must pass.

What is refused raises CapsuleError, whose ``reason`` is one of: truncated, oversized, magic,
format, table, kind, model, board, device, arch, abi, epoch, version, base, integrity,
authenticity, patch; of a manifest also cohort and expired.
"""

from acclimate import _digest as digest

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_H_FORMAT = const(4)
_H_KIND = const(5)
_H_SECTIONS = const(6)
_H_FLAGS = const(7)
_H_MODEL = const(8)
_H_VERSION = const(12)
_H_EPOCH = const(16)
_H_TEMPERATURE = const(18)
_H_DIGEST = const(20)
_H_SIGNATURE = const(52)
_H_BYTES = const(116)
_S_BYTES = const(4)
_SECTIONS_MAX = const(7)
_HEAD_MAX = const(144)
_HEADER_FORMAT = const(2)
_FLAG_LOCAL = const(1)
_FIRST_BOUND = const(128)
_BOUND_BOARD = const(128)
_BOUND_DEVICE = const(129)
_BOUND_CODE = const(130)
_ROLE_RELEASE = const(1)
# layout: end

PROGRAM = 1
WEIGHTS = 2
OPERATORS = 3
META = 4


class CapsuleError(ValueError):
    """A capsule is refused; ``reason`` is a single word, the text says more."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__("capsule refused, %s: %s" % (reason, text))
        self.reason = reason


class Wanted:
    """What this device takes; a number that is 0 is not compared.

    Without a key nothing is taken from outside, unless ``unsigned`` says so: then integrity alone
    counts.

    :param key: HMAC key (16 to 64 bytes), or the path of the file that `acclimate capsule key`
        brought by cable: it fixes the algorithm, the key and the secret of this board.
    :param bytes secret: of this board alone: authenticates what it saves; None: the HMAC key does.
    """

    def __init__(
        self,
        model: int = 0,
        kind: int = 0,
        board: int = 0,
        device: int = 0,
        arch: int = 0,
        abi: int = 0,
        key: bytes | str | None = None,
        secret: bytes | None = None,
        unsigned: bool = False,
    ) -> None:
        self.secret = secret
        if isinstance(key, str):
            # Not by an import: boards have this file only with the extra `ed25519`.
            found = __import__("acclimate._trust", None, None, ("trusted",))
            key, self.secret = found.trusted(key)
        elif key is not None:
            if not 16 <= len(key) <= 64:
                raise ValueError("key of %d bytes: 16 to 64" % len(key))
            self.secret = secret or key
        self.model = model
        self.kind = kind
        self.board = board
        self.device = device
        self.code = arch | abi << 8
        self.key = key
        self.unsigned = unsigned

    def __repr__(self):
        signed = "unsigned" if self.key is None else "signed"  # keys are never printed
        return "Wanted(model=%d, kind=%d): %s" % (self.model, self.kind, signed)


def number(head, at):
    """Return the 4-byte number at at; one above 2**30 - 1 gives -1, as no field has such."""
    if head[at + 3] > 63:
        return -1
    return head[at] | head[at + 1] << 8 | head[at + 2] << 16 | head[at + 3] << 24


def put_number(head, at, value):
    for i in range(4):
        head[at + i] = value >> 8 * i & 255


class Head:
    """Header and section table of one capsule in a buffer of its own (128 bytes)."""

    def __init__(self):
        self.bytes = bytearray(_HEAD_MAX)
        self.size = 0

    def parse(self, n):
        """Check what ``bytes``, of which n are filled, says of itself; set ``size``."""
        b = self.bytes
        self.size = 0
        if n < _H_BYTES + _S_BYTES:
            raise CapsuleError("truncated", "%d bytes are no header" % n)
        if b[0] != 65 or b[1] != 67 or b[2] != 65 or b[3] != 80:
            raise CapsuleError("magic", "it does not begin with ACAP")
        if b[_H_FORMAT] != _HEADER_FORMAT:
            text = "%d, this device reads %d" % (b[_H_FORMAT], _HEADER_FORMAT)
            raise CapsuleError("format", text)
        count = b[_H_SECTIONS]
        if not 1 <= count <= _SECTIONS_MAX:
            raise CapsuleError("table", "%d sections, of 1 to %d" % (count, _SECTIONS_MAX))
        size = _H_BYTES + count * _S_BYTES
        if n < size:
            raise CapsuleError("truncated", "%d bytes, the header has %d" % (n, size))
        for i in range(count):
            if self.section_type(i) > _BOUND_CODE:
                raise CapsuleError("table", "a bound that this device does not know")
        if min(self.version, self.model) < 0:
            raise CapsuleError("format", "a number is above 2**30 - 1")
        self.size = size

    @property
    def total(self):
        return self.section_at(self.bytes[_H_SECTIONS])

    @property
    def version(self):
        return number(self.bytes, _H_VERSION)

    @property
    def kind(self):
        return self.bytes[_H_KIND]

    @property
    def model(self):
        return number(self.bytes, _H_MODEL)

    @property
    def temperature(self):
        """Confidence temperature in 1/256."""
        return self.bytes[_H_TEMPERATURE] | self.bytes[_H_TEMPERATURE + 1] << 8

    @property
    def is_local(self):
        """Whether the board itself saved it after training."""
        return bool(self.bytes[_H_FLAGS] & _FLAG_LOCAL)

    def section_size(self, index):
        at = _H_BYTES + index * _S_BYTES
        b = self.bytes
        return b[at + 1] | b[at + 2] << 8 | b[at + 3] << 16

    def section_type(self, index):
        return self.bytes[_H_BYTES + index * _S_BYTES]

    def section_at(self, index):
        """Return where a section starts, from the start of the capsule."""
        at = _H_BYTES + self.bytes[_H_SECTIONS] * _S_BYTES
        for i in range(index):
            if self.section_type(i) < _FIRST_BOUND:
                at = at + self.section_size(i) + 3 & ~3
        return at

    def find(self, type):
        """Return the index of the first section of a type, or -1."""
        for i in range(self.bytes[_H_SECTIONS]):
            if self.section_type(i) == type:
                return i
        return -1

    def parity(self):
        """Return two check bytes of ``bytes``, as RAID 6 has; ``mend`` finds one fault by them."""
        p = q = 0
        for byte in self.bytes:
            p ^= byte
            q = _doubled(q) ^ byte
        return p | q << 8

    def mend(self, parity):
        """Set right the one byte of ``bytes`` that is not as it was; return whether one is."""
        differ = self.parity() ^ parity
        error, at = differ & 255, _HEAD_MAX
        scaled = error
        while error and at:
            at -= 1
            if scaled == differ >> 8:
                self.bytes[at] ^= error
                return True
            scaled = _doubled(scaled)
        return False

    def is_newer(self, other):
        """Tell by epoch, version and count of saves whether this one came after the other."""
        if epoch_of(self) != epoch_of(other):
            return epoch_of(self) > epoch_of(other)
        if self.version != other.version:
            return self.version > other.version
        saves = self.bytes[_H_FLAGS] - other.bytes[_H_FLAGS] & 255
        return 0 < saves < 128

    def fits(self, wanted, limit_bytes):
        """Raise CapsuleError unless the capsule is for this device and not too large."""
        if self.total > limit_bytes:
            text = "%d bytes, a slot has %d; send a new region layout" % (self.total, limit_bytes)
            raise CapsuleError("oversized", text)
        if wanted.kind and self.kind != wanted.kind:
            raise CapsuleError("kind", "%d, this device takes %d" % (self.kind, wanted.kind))
        if wanted.model and self.model != wanted.model:
            raise CapsuleError("model", "id %d, not %d" % (self.model, wanted.model))
        self._bound(_BOUND_BOARD, "board", wanted.board, -1)
        self._bound(_BOUND_DEVICE, "device", wanted.device, -1)
        self._bound(_BOUND_CODE, "arch", wanted.code, 255)
        self._bound(_BOUND_CODE, "abi", wanted.code, 65280)

    def _bound(self, type, reason, wanted, mask):
        index = self.find(type)
        value = self.section_size(index) & mask if index >= 0 else 0
        wanted &= mask
        if value and wanted and value != wanted:
            raise CapsuleError(reason, "made for %d, this is %d" % (value, wanted))


def epoch_of(head):
    return head.bytes[_H_EPOCH] | head.bytes[_H_EPOCH + 1] << 8


def _doubled(x):
    """Multiply by 2 in the field of 256 elements (x^8 + x^4 + x^3 + x^2 + 1)."""
    return x << 1 ^ (285 if x > 127 else 0)


class Checker:
    """Integrity and authenticity of capsules, with one chunk buffer for all of them."""

    def __init__(self, flash, chunk_bytes):
        self.flash = flash
        self.chunk = bytearray(chunk_bytes)
        self.hasher = digest.Hasher()
        self._out = bytearray(32)
        self.short = bytearray(4)
        self.vouch = None  # of a pull: tags the header of an update's target

    def authentic(self, head, wanted):
        """Raise unless a model in the flash is signed: a saved one by the board's own secret.

        A board without a key runs what is there; it takes nothing from outside.
        """
        if wanted.key is None:
            return
        self.signed(head.bytes, _H_SIGNATURE, wanted, 0 if head.is_local else _ROLE_RELEASE)
        if head.is_local and hasattr(wanted.key, "check"):
            wanted.key.knows(head.bytes, _H_SIGNATURE)

    def signed(self, data, n, wanted, role):
        """Raise unless the 64 bytes after the first n of data are the signature of these n.

        With an HMAC key: 32 zeros, then the tag of all before it. Role 0: the board's own tag.
        """
        key = wanted.key if role else wanted.secret
        if key is None:
            if wanted.unsigned:
                return
            raise CapsuleError("authenticity", "no key here: bring one by cable")
        if hasattr(key, "check"):
            key.check(data, n, role)
            return
        n += 32
        self.hasher.hmac(key, data, n, self._out)
        is_good = digest.same_digest(data, n, self._out, 32)
        for i in range(n - 32, n):
            if role and data[i]:
                is_good = False
        if not is_good:
            raise CapsuleError("authenticity", "it was not signed with this device's key")

    def intact(self, head, start):
        """Raise unless the capsule at start of the flash has the digest of its header."""
        self.begin(head)
        at = head.size
        while at < head.total:
            at += self.take(start + at, head.total - at)
        self.compare(head)

    def steps(self, head, start):
        """As ``intact``, but as a generator that yields after each KiB or so."""
        self.begin(head)
        at = head.size
        since = 0
        while at < head.total:
            n = self.take(start + at, head.total - at)
            at += n
            since += n
            if since >= 1024:
                since = 0
                yield at
        self.compare(head)

    def begin(self, head):
        """Start the digest of a capsule with what its header gives."""
        self.hasher.reset()
        self.hasher.update(head.bytes, _H_DIGEST)
        chunk = self.chunk
        for i in range(_H_BYTES, head.size):
            chunk[i - _H_BYTES] = head.bytes[i]
        self.hasher.update(chunk, head.size - _H_BYTES)

    def take(self, at, left):
        """Add the next bytes of the flash, at most ``left``; return how many."""
        n = len(self.chunk)
        if self.flash.view is not None:
            n = min(left, self.hasher.piece)
            self.hasher.part(self.flash.view, at, n)
            return n
        if left >= n:
            self.flash.readinto(at, self.chunk)
            self.hasher.update(self.chunk, n)
            return n
        n = self._tail(at, left)
        self.hasher.update(self.chunk, n)
        return n

    def _tail(self, at, left):
        """Read fewer bytes than a chunk, four at a time, so that no view is made."""
        chunk, short, done = self.chunk, self.short, 0
        while done < left:
            where = at + done
            # The last bytes of the region are read from 4 before its end.
            back = max(0, where + 4 - self.flash.size)
            self.flash.readinto(where - back, short)
            for i in range(back, min(4, left - done + back)):
                chunk[done] = short[i]
                done += 1
        return left

    def compare(self, head):
        """Finish the digest; raise unless it is that of the header, in full length."""
        self.hasher.into(self._out)
        if not digest.same_digest(head.bytes, _H_DIGEST, self._out, 32):
            raise CapsuleError("integrity", "SHA-256 of the content is not that of the header")

    def sign(self, head, wanted, old=None):
        """Finish the digest; put it, the origin and the tag of the secret, into the header.

        :param old: the header of the model that was trained.
        """
        self.hasher.into(self._out)
        for i in range(32):
            head.bytes[_H_DIGEST + i] = self._out[i]
        if old is not None and hasattr(wanted.key, "check") and not old.is_local:
            wanted.key.origin(old.bytes, head.bytes)
        if wanted.secret is not None:
            self.hasher.hmac(wanted.secret, head.bytes, _H_SIGNATURE + 32, self._out)
            head.bytes[_H_SIGNATURE + 32 : _H_BYTES] = self._out
