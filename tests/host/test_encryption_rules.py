# SPDX-License-Identifier: MIT
"""Encrypted objects on the host: what their head says, and that each byte of them counts."""

import hashlib
import struct

import capsule_cases as cases
import pytest

from acclimate_host.capsules import encryption
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.encryption import mark, read_object_key, seal, unseal
from acclimate_host.errors import AcclimateError, Missing, Refused

KEY, OTHER = b"the key of objects, 32 bytes ...", b"another key of objects, 32 bytes"
OLD = cases.capsule(1)
NEW = cases.capsule(2, cases.tuned(cases.weights(301, 1), 5))
HEAD, PAGE, TAG = 72, 512, 16


def test_the_head_says_what_boards_look_at():
    for data, at in ((OLD, 20), (update(OLD, NEW), 68)):
        sent = seal(data, KEY)
        assert sent[:8] == b"AENC\1\0\0\0" and struct.unpack_from("<I", sent, 8)[0] == len(data)
        assert (
            sent[12:20] == hashlib.sha256(b"acclimate object key" + KEY).digest()[:8] == mark(KEY)
        )
        assert sent[20:52] == data[at : at + 32]
        assert unseal(sent, KEY) == data
    assert OLD[20:52] == seal(OLD, KEY)[20:52] and NEW[20:52] == seal(update(OLD, NEW), KEY)[20:52]


@pytest.mark.parametrize("size", [4, 511, 512, 513, 1024, 1025])
def test_each_page_of_512_bytes_has_a_tag(size):
    data = b"ACAP" + bytes(size - 4)
    sent = seal(data, KEY)
    assert len(sent) == HEAD + size + -(-size // PAGE) * TAG and unseal(sent, KEY) == data


def test_no_two_objects_have_a_nonce_in_common(monkeypatch):
    made = {seal(OLD, KEY)[52:72] for _ in range(50)}
    assert len(made) == 50
    monkeypatch.setattr(encryption.secrets, "token_bytes", bytes)  # chance that failed
    three = seal(OLD, KEY), seal(NEW, KEY), seal(OLD, OTHER)
    assert len({sent[52:72] for sent in three}) == 3
    body = seal(b"ACAP" + bytes(1020), KEY)[HEAD:]
    assert body[4:PAGE] != body[PAGE + TAG + 4 : 2 * PAGE + TAG]  # pages differ, too


def test_each_byte_counts():
    sent = seal(OLD, KEY)
    for at in (*range(HEAD), *range(HEAD, len(sent), 41), len(sent) - 1):
        wrong = bytearray(sent)
        wrong[at] ^= 1
        if at < 4:
            assert unseal(bytes(wrong), KEY) == bytes(wrong)  # no encrypted object at all
            continue
        with pytest.raises(Refused, match="encrypted"):
            unseal(bytes(wrong), KEY)


def test_pages_cannot_change_their_places_or_be_left_out():
    sent, step = seal(b"ACAP" + bytes(range(256)) * 8, KEY), PAGE + TAG
    pages = [sent[at : at + step] for at in range(HEAD, len(sent), step)]
    for order in ([1, 0, 2, 3, 4], [0, 0, 2, 3, 4], [0, 1, 2, 3], [1, 2, 3, 4]):
        with pytest.raises(Refused, match="encrypted object"):
            unseal(sent[:HEAD] + b"".join(pages[i] for i in order), KEY)


def test_what_is_wrong_is_said():
    sent = seal(OLD, KEY)
    assert unseal(OLD, None) == OLD == unseal(OLD, KEY)
    for data, key, words in (
        (sent, None, "give the object key"),
        (sent, OTHER, "with another key"),
        (sent, KEY[:31], "31 bytes: expected an object key of 32"),
        (sent[: HEAD - 1], KEY, "of 71 bytes: 72 or more"),
        (sent[:HEAD], KEY, "of 0 plain bytes: its header says"),
        (sent[:4] + b"\2" + sent[5:], KEY, "format 2: expected 1"),
        (sent[:7] + b"\1" + sent[8:], KEY, "format 1: expected 1"),
        (sent[:-1], KEY, "page 0 was changed|page 1 was changed"),
    ):
        with pytest.raises(Refused, match=words):
            unseal(data, key)
    for size in (0, 31, 33):
        with pytest.raises(Refused, match=f"{size} bytes: expected an object key of 32"):
            seal(OLD, bytes(size))


def test_a_key_comes_from_a_file_of_32_bytes(tmp_path):
    path = tmp_path / "objects.key"
    for size in (0, 31, 33):
        path.write_bytes(bytes(size))
        with pytest.raises(Refused, match=f"objects.key: {size} bytes: expected an object key"):
            read_object_key(path)
    path.write_bytes(KEY)
    assert read_object_key(path) == KEY
    with pytest.raises(AcclimateError, match="Is a directory"):
        read_object_key(tmp_path)


def test_without_cryptography_the_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(Missing, match=r"acclimate\[sign\]"):
        seal(OLD, KEY)
