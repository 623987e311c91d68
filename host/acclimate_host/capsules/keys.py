# SPDX-License-Identifier: MIT
"""Keys: make one, derive one for each device, never write over one.

>>> device_key(bytes(32), 17) != device_key(bytes(32), 18)
True
"""

import hmac
import os
import secrets

from acclimate_host.errors import AcclimateError, Refused

KEY_BYTES = 32
_LABEL = b"acclimate device key "


def write_new(path: str | os.PathLike[str], key: bytes | None = None) -> None:
    """Write a key (a random one without it) to a file that only its owner reads.

    :raises AcclimateError: the file exists, or cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise AcclimateError(f"{path} exists: a key is never overwritten") from None
    except OSError as error:
        raise AcclimateError(f"{path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES) if key is None else key)
    except OSError as error:
        os.unlink(path)  # half a key would pass for one that must not be overwritten
        raise AcclimateError(f"{path}: {error.strerror}") from None


def write_new_pair(path: str | os.PathLike[str], private: bytes, public: bytes) -> None:
    """Write a private key, and its public key to the same name with ``.pub``; both or neither.

    :raises AcclimateError: one of the files exists, or cannot be written.
    """
    write_new(path, private)
    try:
        write_new(f"{path}.pub", public)
    except AcclimateError:
        os.unlink(path)  # it was made a moment ago: nobody has it yet
        raise


def device_key(master: bytes, device: int) -> bytes:
    """Return the key of one device: HMAC-SHA-256 of its number under the fleet's master key.

    Who opens the device learns its key and no other's; the master key never leaves the host.

    :param device: its number, 1 to 2**30 - 1, as in ``Wanted(device=...)``.
    """
    if not 1 <= device < 1 << 30:
        raise Refused(f"device {device}: 1 to {(1 << 30) - 1}")
    return hmac.new(master, _LABEL + str(device).encode(), "sha256").digest()
