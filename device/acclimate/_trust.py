# SPDX-License-Identifier: MIT
"""Whom a board trusts: the file that came by cable, and the root's newest list of keys.

The list lies in two files beside it, ``capsule.key.0`` and ``.1``, which are written one after the
other: a power cut leaves a whole one, and a damaged one is made anew from the other.
docs/security.md says which key does what.
"""

from acclimate.flash import FlashError
from acclimate.store.capsule import CapsuleError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_A_ALGORITHM = const(5)
_A_CHECK = const(6)
_A_KEY = const(8)
_A_SECRET = const(40)
_A_REPORT = const(72)
_A_BYTES = const(104)
_ALG_HMAC = const(1)
_ALG_ED25519 = const(2)
_K_COUNT = const(5)
_K_EPOCH = const(6)
_K_SEQUENCE = const(8)
_K_SIGNATURES = const(10)
_K_ZERO = const(11)
_K_ROOT = const(12)
_K_BYTES = const(44)
_L_PUBLIC = const(4)
_L_BYTES = const(36)
_ROLE_RELEASE = const(1)
_ROLE_ROLLOUT = const(2)
_KEYS_MAX = const(8)
_SIGNATURE_BYTES = const(64)
_FLOOR_KEYS = const(7)
_H_SIGNATURE = const(52)
# layout: end
_EPOCH_MAX = const(16383)


def trusted(path):
    """Return (key, secret) of the file that came by cable; without one both are None.

    The key is bytes for HMAC, else a Ring of Ed25519 keys, whose ``report`` signs reports.

    :raises CapsuleError: "key": the file is damaged, or not what `acclimate capsule key` writes.
    """
    data = _read(path)
    if data is None:
        return None, None
    if data[:4] != b"AKEY":
        if not 16 <= len(data) <= 64:
            raise _damaged(path, "a key of %d bytes, not 16 to 64" % len(data))
        return data, data
    algorithm, check = data[_A_ALGORITHM], _half(data, _A_CHECK)
    if len(data) != _A_BYTES or data[4] != 2 or check != algorithm + sum(data[_A_KEY:]) & 0xFFFF:
        raise _damaged(path, "not %d bytes of format 2 with their sum" % _A_BYTES)
    key, secret, report = data[_A_KEY:_A_SECRET], data[_A_SECRET:_A_REPORT], data[_A_REPORT:]
    if algorithm == _ALG_ED25519:
        return Ring(path, key, report), secret
    if algorithm != _ALG_HMAC:
        raise _damaged(path, "algorithm %d" % algorithm)
    return key, secret


def _damaged(path, why):
    text = "%s: damaged: %s; bring it by cable again: acclimate capsule key" % (path, why)
    return CapsuleError("key", text)


class Ring:
    """The keys of the newest list that the root signed; ``epoch`` and ``sequence`` are its."""

    def __init__(self, path, root, report):
        from acclimate import _signature

        self._verify, self._is_key = _signature.verify, _signature.is_key
        self._path = path
        self.root = root
        self.report = report
        self.epoch = self.sequence = 0
        self._keys = b""
        self._place = 0  # of the two files, the one that the next list goes to first
        newest, found = b"", [_read("%s.%d" % (path, place)) for place in (0, 1)]
        for place, data in enumerate(found):
            if data and self._is_whole(data) and _half(data, _K_SEQUENCE) > self.sequence:
                self._adopt(data, place)
                newest = data
        if newest and found[0] != found[1]:
            try:
                self._write(newest, self._place)
            except FlashError:
                pass  # the one that is whole does

    def name(self):
        """Return the name of the newest list of this root, in a repository."""
        return "".join("%02x" % byte for byte in self.root[:16]) + ".keys"

    def meet(self, store):
        """Compare with the floor of the journal; a list below it counts for nothing."""
        j = store.journal
        known = j.keys & 0xFFFF
        if self.sequence < known:
            self._keys = b""
        elif not j.generation:
            j.keys = self.sequence | self.epoch << 16
        elif self.sequence > known:
            try:
                j.keep(_FLOOR_KEYS, self.sequence, self.epoch)
            except FlashError as error:
                store.trouble = "read-only: %s" % error

    def check(self, data, n, role):
        """Raise unless a key with this role signed the first n bytes of data."""
        for at in self._of(role):
            if self._verify(data, n, self._keys, at):
                return at
        raise CapsuleError("authenticity", "no key of list %d signed it" % self.sequence)

    def knows(self, data, at):
        """Raise unless the 32 bytes at ``at`` are a listed release key."""
        for place in self._of(_ROLE_RELEASE):
            if self._keys[place : place + 32] == data[at : at + 32]:
                return
        raise CapsuleError("authenticity", "its origin was signed by no key of the list")

    def origin(self, signed, into):
        """Put the key that signed a header to where a saved one names its origin."""
        at = self.check(signed, _H_SIGNATURE, _ROLE_RELEASE)
        into[_H_SIGNATURE : _H_SIGNATURE + 32] = self._keys[at : at + 32]

    def take(self, store, data):
        """Take the next list; return False where it is the one that is known.

        A new epoch begins versions and manifests anew.

        :raises CapsuleError: not signed by the root, or older. FlashError: it cannot be kept.
        """
        data = bytes(data)
        if not self._is_whole(data) or not self._verify(data, _end(data), self.root, 0):
            raise CapsuleError("authenticity", "key list: the root did not sign it")
        sequence, epoch = _half(data, _K_SEQUENCE), _half(data, _K_EPOCH)
        floor = max(self.sequence, store.journal.keys & 0xFFFF)
        own = store.journal.keys >> 16
        if sequence == self.sequence == floor:
            return False
        if sequence < floor or not own <= epoch <= _EPOCH_MAX:
            raise CapsuleError("version", "key list %d is older than %d" % (sequence, floor))
        if store.state == "trial":
            raise CapsuleError("version", "key list: a model is on trial")
        store.scratch()  # what is verified is checked again
        if epoch > own:
            store.cancel()
        self._write(data, self._place)
        store.journal.keep(_FLOOR_KEYS, sequence, epoch)
        self._write(data, 1 - self._place)
        self._adopt(data, self._place)
        if store.active is None:  # the list before may have been lost
            store.reopen()
        return True

    def _of(self, role):
        """Yield where keys with a role are."""
        for at in range(0, len(self._keys), _L_BYTES):
            if self._keys[at] == role:
                yield at + _L_PUBLIC

    def _is_whole(self, data):
        """Tell whether a list is well formed, and signed by the root that it names itself."""
        if len(data) < _K_BYTES or data[:4] != b"AKYL" or data[4] != 1 or data[_K_ZERO]:
            return False
        end, count = _end(data), data[_K_SIGNATURES]
        if not 1 <= data[_K_COUNT] <= _KEYS_MAX or not 1 <= count <= 2:
            return False
        if len(data) != end + count * _SIGNATURE_BYTES:
            return False
        for at in range(_K_BYTES, end, _L_BYTES):
            role, *zero = data[at : at + _L_PUBLIC]
            if not _ROLE_RELEASE <= role <= _ROLE_ROLLOUT or any(zero):
                return False
            if not self._is_key(data, at + _L_PUBLIC):
                return False
        last = data[:end] + data[-_SIGNATURE_BYTES:]
        return self._verify(last, end, data, _K_ROOT)

    def _adopt(self, data, place):
        self.root = data[_K_ROOT:_K_BYTES]
        self.epoch, self.sequence = _half(data, _K_EPOCH), _half(data, _K_SEQUENCE)
        self._keys = data[_K_BYTES : _end(data)]
        self._place = 1 - place

    def _write(self, data, place):
        path = "%s.%d" % (self._path, place)
        try:
            with open(path, "wb") as file:
                file.write(data)
        except OSError as error:
            raise FlashError("%s: %s" % (path, error)) from None
        if _read(path) != data:
            raise FlashError("%s: reads back different" % path)


def _end(data):
    """Return where the signatures of a list begin."""
    return _K_BYTES + data[_K_COUNT] * _L_BYTES


def _half(data, at):
    return data[at] | data[at + 1] << 8


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
