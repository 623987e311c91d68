# SPDX-License-Identifier: MIT
"""Files of keys, keys of single devices, and lists of keys: what each takes and refuses."""

import errno
import hashlib
import hmac
import os
import stat

import pytest
from test_security import NEXT, RELEASE, ROLLOUT, ROOT, THIEF

from acclimate_host.capsules import key_list, keys
from acclimate_host.capsules.key_list import EPOCH_MAX, KeyList, unpack
from acclimate_host.errors import AcclimateError, Refused

# ---- files and devices -------------------------------------------------------------------------


def test_a_new_key_is_random_and_only_its_owner_reads_it(tmp_path):
    found = set()
    for name in ("a", "b"):
        keys.write_new(tmp_path / name)
        found.add((tmp_path / name).read_bytes())
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert len(found) == 2 and {len(key) for key in found} == {32}
    keys.write_new(tmp_path / "c", b"given")
    keys.write_new(tmp_path / "d", b"")
    assert (tmp_path / "c").read_bytes() == b"given" and (tmp_path / "d").read_bytes() == b""


def test_a_key_is_never_written_over_another(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"old")
    with pytest.raises(AcclimateError, match="exists: a key is never overwritten"):
        keys.write_new(path, b"new")
    assert path.read_bytes() == b"old"
    with pytest.raises(AcclimateError, match=os.strerror(errno.ENOENT)):
        keys.write_new(tmp_path / "no" / "key")


def test_half_a_key_is_removed(tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def opened(handle, mode):
        os.close(handle)
        return Full()

    monkeypatch.setattr(os, "fdopen", opened)
    with pytest.raises(AcclimateError, match=os.strerror(errno.ENOSPC)):
        keys.write_new(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_of_a_pair_both_files_are_there_or_neither(tmp_path):
    keys.write_new_pair(tmp_path / "pair", b"private", b"public")
    assert (tmp_path / "pair").read_bytes() == b"private"
    assert (tmp_path / "pair.pub").read_bytes() == b"public"
    (tmp_path / "half.pub").write_bytes(b"of another")
    with pytest.raises(AcclimateError, match="half.pub exists"):
        keys.write_new_pair(tmp_path / "half", b"private", b"public")
    assert not (tmp_path / "half").exists()
    assert (tmp_path / "half.pub").read_bytes() == b"of another"


def test_the_key_of_a_device_is_an_hmac_of_its_number():
    master = bytes(range(32))
    for device in (1, 300, (1 << 30) - 1):
        text = b"acclimate device key %d" % device
        assert keys.device_key(master, device) == hmac.digest(master, text, hashlib.sha256)
    for device in (0, -1, 1 << 30):
        with pytest.raises(Refused, match=f"device {device}"):
            keys.device_key(master, device)


# ---- lists -------------------------------------------------------------------------------------

PAIR = ((1, RELEASE.public), (2, ROLLOUT.public))


def listed(**fields):
    usual = {"epoch": 3, "sequence": 9, "root": ROOT.public, "keys": PAIR}
    return KeyList(**{**usual, **fields})


def test_a_list_comes_back_as_it_was_packed():
    made = listed()
    data = made.pack(ROOT)
    assert unpack(data) == unpack(data, ROOT.public) == made
    assert data[:12] == b"AKYL\1\2\3\0\x09\0\1\0" and data[12:44] == ROOT.public
    assert len(data) == 44 + 2 * 36 + 64
    assert made.of("release") == (RELEASE.public,) and made.of("rollout") == (ROLLOUT.public,)
    assert listed(keys=PAIR[:1]).of("rollout") == ()


def test_a_list_of_a_new_root_is_signed_by_both():
    made = listed(root=NEXT.public)
    data = made.pack(ROOT, NEXT)
    assert data[10] == 2 and unpack(data, ROOT.public) == made
    with pytest.raises(Refused, match="this root did not sign it"):
        unpack(data, THIEF.public)
    for other in (None, THIEF):  # the last signer is the root that it names
        with pytest.raises(Refused, match="expected the root that it names"):
            made.pack(ROOT, other)
    swapped = data[:-128] + data[-64:] + data[-128:-64]
    with pytest.raises(Refused, match="the root that it names did not sign it"):
        unpack(swapped, ROOT.public)


@pytest.mark.parametrize(
    "fields, word",
    [
        ({"keys": ()}, "0 keys: 1 to 8"),
        ({"keys": PAIR * 4 + PAIR[:1]}, "9 keys: 1 to 8"),
        ({"epoch": -1}, "epoch -1"),
        ({"epoch": EPOCH_MAX + 1}, "epoch 16384: 0 to 16383"),
        ({"sequence": -1}, "sequence -1"),
        ({"sequence": 65536}, "sequence 65536: 0 to 65535"),
        ({"keys": ((1, bytes(32)),)}, "no key that boards take"),
        ({"root": THIEF.public}, "expected the root that it names"),
    ],
)
def test_a_list_that_no_board_would_take_is_not_signed(fields, word):
    with pytest.raises(Refused, match=word):
        listed(**fields).pack(ROOT)


def test_the_ends_of_all_ranges_are_taken():
    for fields in (
        {"keys": PAIR * 4},
        {"keys": PAIR[:1]},
        {"epoch": EPOCH_MAX, "sequence": 65535},
        {"epoch": 0, "sequence": 0},
    ):
        made = listed(**fields)
        assert unpack(made.pack(ROOT), ROOT.public) == made


def test_whatever_is_changed_or_cut_is_refused():
    data = listed().pack(ROOT)
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 1
        with pytest.raises(Refused):
            unpack(bytes(bad))
    for n in (0, 43, 44, len(data) - 1):
        with pytest.raises(Refused):
            unpack(data[:n])
    with pytest.raises(Refused):
        unpack(data + b"\0")


@pytest.mark.parametrize(
    "at, value",
    [(0, 0), (3, 0), (4, 2), (10, 0), (10, 3), (11, 1), (44, 0), (44, 3), (45, 1), (47, 1)],
)
def test_fields_that_no_list_has_are_refused_though_they_are_signed(at, value):
    body = bytearray(listed().pack(ROOT)[:-64])
    body[at] = value
    with pytest.raises(Refused, match="list"):
        unpack(bytes(body) + ROOT.sign(bytes(body)) * max(1, body[10]))


def test_an_epoch_that_no_board_keeps_is_refused_though_it_is_signed():
    body = bytearray(listed().pack(ROOT)[:-64])
    body[6:8] = (EPOCH_MAX + 1).to_bytes(2, "little")
    with pytest.raises(Refused, match="key list: epoch 16384: 0 to 16383"):
        unpack(bytes(body) + ROOT.sign(bytes(body)))


@pytest.mark.parametrize(
    "keys, word",
    [((), "0 keys"), (PAIR * 4 + PAIR[:1], "9 keys"), (((1, bytes(32)),), "no key that boards")],
)
def test_a_list_that_boards_refuse_is_refused_though_it_is_signed(keys, word):
    body = bytearray(listed().pack(ROOT)[:44])
    body[5] = len(keys)
    for role, public in keys:
        body += bytes((role, 0, 0, 0)) + public
    with pytest.raises(Refused, match=word):
        unpack(bytes(body) + ROOT.sign(bytes(body)))


def test_the_name_of_a_list_is_that_of_its_root():
    assert key_list.list_name(bytes(range(32))) == "000102030405060708090a0b0c0d0e0f.keys"


def test_a_board_s_trust_is_as_documented():
    key, secret, report = bytes(range(32)), bytes([7]) * 32, b"\xff" * 32
    for is_public, algorithm in ((False, 1), (True, 2)):
        data = key_list.trust(key, secret, report, is_public)
        check = algorithm + sum(range(32)) + 7 * 32 + 255 * 32
        assert data[:8] == b"AKEY" + bytes((2, algorithm, check & 255, check >> 8 & 255))
        assert data[8:] == key + secret + report
    for place, name in enumerate(("key", "secret", "report")):
        for n in (0, 31, 33):
            parts = [key, secret, report]
            parts[place] = bytes(n)
            with pytest.raises(Refused, match=f"{name} of {n} bytes: expected 32"):
                key_list.trust(*parts, True)
