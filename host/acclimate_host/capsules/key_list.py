# SPDX-License-Identifier: MIT
"""Key lists: which release and rollout keys count, signed by the root. See docs/security.md."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acclimate import _signature
from acclimate_host.capsules.layout import ENUMS, KEY, KEYS, KEYS_MAX, SIGNATURE_BYTES, TRUST
from acclimate_host.capsules.signing import SigningKey, is_signed
from acclimate_host.errors import Refused, refused_of

_HEAD = struct.Struct("<4sBBHHBB32s")
_KEY = struct.Struct("<B3s32s")
assert _HEAD.size == KEYS.bytes and _KEY.size == KEY.bytes
EPOCH_MAX = 16383  # a journal keeps epoch and sequence in 30 bits
ROLES = ENUMS["Roles"][1]
_HMAC, _ED25519 = ENUMS["Algorithms"][1].values()
_TRUST = struct.Struct("<4sBBH32s32s32s")
assert _TRUST.size == TRUST.bytes


@dataclass(frozen=True)
class KeyList:
    """What a list says.

    :param root: public key of the root from this list on.
    :param keys: (role, public key) each; role is 1 for release, 2 for rollout.
    """

    epoch: int
    sequence: int
    root: bytes
    keys: tuple[tuple[int, bytes], ...]

    def of(self, role: str) -> tuple[bytes, ...]:
        """Return the public keys with a role, "release" or "rollout"."""
        return tuple(public for number, public in self.keys if number == ROLES[role.upper()])

    def pack(self, root: SigningKey, new_root: SigningKey | None = None) -> bytes:
        """Return the signed bytes.

        :param root: that boards trust now. :param new_root: that they trust from now on.
        """
        signers = [root] if new_root is None else [root, new_root]
        if self.root != signers[-1].public:
            raise Refused("key list: expected the root that it names among the signers")
        _check_keys(self.keys)
        for name, number, most in (
            ("epoch", self.epoch, EPOCH_MAX),
            ("sequence", self.sequence, 0xFFFF),
        ):
            if not 0 <= number <= most:
                raise Refused(f"key list: {name} {number}: 0 to {most}")
        data = _HEAD.pack(
            b"AKYL", 1, len(self.keys), self.epoch, self.sequence, len(signers), 0, self.root
        )
        for role, public in self.keys:
            data += _KEY.pack(role, bytes(3), public)
        return data + b"".join(signer.sign(data) for signer in signers)


def _check_keys(keys: Sequence[tuple[int, bytes]]) -> None:
    """Refuse what boards refuse."""
    if not 1 <= len(keys) <= KEYS_MAX:
        raise Refused(f"key list: {len(keys)} keys: 1 to {KEYS_MAX}")
    for _, public in keys:
        if not _signature.is_key(public, 0):
            raise Refused(f"key list: {public.hex()}: no key that boards take")


def unpack(data: bytes, root: bytes | None = None) -> KeyList:
    """Return a KeyList from its bytes.

    :param root: public key that has to have signed it; None: the root that it names itself.
    :raises Refused: it is malformed, or not signed so.
    """
    if len(data) < KEYS.bytes or data[:4] != b"AKYL" or data[4] != 1:
        raise Refused("this is no key list: it does not begin with AKYL and format 1")
    _, _, count, epoch, sequence, signatures, zero, named = _HEAD.unpack_from(data)
    end = KEYS.bytes + count * KEY.bytes
    if zero or signatures not in (1, 2) or len(data) != end + signatures * SIGNATURE_BYTES:
        raise Refused(f"key list of {count} keys and {signatures} signatures: {len(data)} bytes")
    if epoch > EPOCH_MAX:
        raise Refused(f"key list: epoch {epoch}: 0 to {EPOCH_MAX}")
    keys = []
    for at in range(KEYS.bytes, end, KEY.bytes):
        role, gap, public = _KEY.unpack_from(data, at)
        if any(gap) or role not in ROLES.values():
            raise Refused(f"key list: role {role}")
        keys.append((role, public))
    _check_keys(keys)
    first, last = data[end : end + SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]
    if not is_signed(data[:end], last, (named,)):
        raise Refused("key list: the root that it names did not sign it")
    if root is not None and not is_signed(data[:end], first, (root,)):
        raise Refused("key list: this root did not sign it")
    return KeyList(epoch, sequence, named, tuple(keys))


def read_list(path: Path) -> KeyList:
    """Return the KeyList of a file, signed by the root that it names.

    :raises Refused: it is damaged; the file is named.
    """
    with refused_of(path):
        return unpack(path.read_bytes())


def list_name(root: bytes) -> str:
    """Return the name of the file that holds the newest list of a root."""
    return root[:16].hex() + ".keys"


def trust(key: bytes, secret: bytes, report: bytes, is_public: bool) -> bytes:
    """Return a board's file ``capsule.key``; all three have 32 bytes.

    :param is_public: whether key is the root's public key; else it is an HMAC key.
    """
    for name, part in (("key", key), ("secret", secret), ("report", report)):
        if len(part) != 32:
            raise Refused(f"{name} of {len(part)} bytes: expected 32")
    algorithm = _ED25519 if is_public else _HMAC
    check = algorithm + sum(key + secret + report) & 0xFFFF
    return _TRUST.pack(b"AKEY", 2, algorithm, check, key, secret, report)
