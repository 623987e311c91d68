# SPDX-License-Identifier: MIT
"""Keys and signatures of a publisher: what is made, what is taken, and which file is refused."""

import hashlib
import hmac
from pathlib import Path

import pytest

from acclimate_host import commands
from acclimate_host.capsules import signing
from acclimate_host.capsules.encryption import read_object_key
from acclimate_host.capsules.server import fleet_key, read_key
from acclimate_host.capsules.signing import SigningKey, is_signed, read_private, read_public, sign
from acclimate_host.cli import main
from acclimate_host.errors import AcclimateError, Missing, Refused

PAIR, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(32))
TEXT = b"what is signed"


def test_the_first_vector_of_rfc_8032():
    seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    pair = SigningKey(bytes.fromhex(seed))
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert pair.public == bytes.fromhex(public)
    assert (
        pair.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e0")
    )
    assert len(pair.sign(b"")) == 64


def test_an_hmac_is_that_of_the_text_and_the_empty_half():
    key = b"k" * 16
    want = hmac.new(key, TEXT + bytes(32), hashlib.sha256).digest()
    assert sign(TEXT, key) == bytes(32) + want and signing.tag(TEXT, key) == want
    assert sign(TEXT, None) == bytes(64) == signing.UNSIGNED
    assert sign(TEXT, PAIR) == PAIR.sign(TEXT)


def test_each_bit_of_a_signature_and_of_the_text_counts():
    for key, other in ((b"k" * 16, b"K" * 16), (PAIR, OTHER), ([PAIR.public], [OTHER.public])):
        signature = sign(TEXT, PAIR if isinstance(key, list) else key)
        assert is_signed(TEXT, signature, key) and not is_signed(TEXT, signature, other)
        assert not is_signed(TEXT + b"x", signature, key)
        assert not is_signed(TEXT, bytes(64), key)
        for at in range(0, 64, 7):
            wrong = bytearray(signature)
            wrong[at] ^= 1
            assert not is_signed(TEXT, bytes(wrong), key), at


def test_of_several_public_keys_one_has_to_fit():
    signature = PAIR.sign(TEXT)
    assert is_signed(TEXT, signature, [OTHER.public, PAIR.public])
    assert not is_signed(TEXT, signature, [OTHER.public]) and not is_signed(TEXT, signature, [])


# ---- files -------------------------------------------------------------------------------------


def written(tmp_path, data, name="a key"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_a_private_key_comes_back_from_its_file(tmp_path):
    path = written(tmp_path, PAIR.pem())
    assert PAIR.pem().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert read_private(path).public == read_public(path) == PAIR.public
    assert read_key(path).sign(TEXT) == PAIR.sign(TEXT)
    with pytest.raises(Refused, match="a key: expected the fleet's HMAC key, got a private key"):
        fleet_key(path)


def test_another_kind_of_private_key_is_named(tmp_path):
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec, x25519

    for other in (ec.generate_private_key(ec.SECP256R1()), x25519.X25519PrivateKey.generate()):
        how = form.Encoding.PEM, form.PrivateFormat.PKCS8
        path = written(tmp_path, other.private_bytes(*how, form.NoEncryption()))
        for call in (read_private, read_public, read_key):
            with pytest.raises(Refused, match="a key: expected an Ed25519 key, got .*Key"):
                call(path)
        locked = written(tmp_path, other.private_bytes(*how, form.BestAvailableEncryption(b"pw")))
        with pytest.raises(Refused, match="a key: no private key"):
            read_private(locked)


@pytest.mark.parametrize("data", [b"", b"-----BEGIN", PAIR.pem()[:-40], b"\xff" * 64])
def test_what_is_no_private_key_is_named(tmp_path, data):
    with pytest.raises(Refused, match="a key: no private key"):
        read_private(written(tmp_path, data))


def test_a_public_key_is_64_hexadecimal_digits(tmp_path):
    text = PAIR.public.hex().encode()
    for data in (text, text + b"\n", text.upper(), b" " + text + b"\r\n"):
        assert read_public(written(tmp_path, data)) == PAIR.public
    for data in (b"", text[:-2], text + b"00", text[:-1] + b"g", PAIR.public, text[:-1] + b"\xe9"):
        with pytest.raises(Refused, match="a key: expected a public key of 64 hexadecimal digits"):
            read_public(written(tmp_path, data))
    for weak in (bytes(32), b"\x01" + bytes(31), b"\xff" * 32):
        with pytest.raises(Refused, match="a key: no Ed25519 key that boards take"):
            read_public(written(tmp_path, weak.hex().encode()))


def test_an_hmac_key_has_16_to_64_bytes(tmp_path):
    for size in (16, 32, 64):
        path = written(tmp_path, bytes(size))
        assert read_key(path) == fleet_key(path) == bytes(size)
    for size in (0, 1, 15, 65):
        with pytest.raises(Refused, match=f"a key: key of {size} bytes: 16 to 64"):
            read_key(written(tmp_path, bytes(size)))
    assert fleet_key(None) is None and fleet_key("") is None


def test_what_cannot_be_read_is_named(tmp_path):
    for call in (read_key, read_private, read_public, fleet_key):
        with pytest.raises(AcclimateError, match=f"{tmp_path}: Is a directory"):
            call(tmp_path)
        with pytest.raises(AcclimateError, match="none: No such file"):
            call(tmp_path / "none")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="it needs a file without an end")
@pytest.mark.parametrize(
    "verb",
    [
        "capsule inspect {}",
        "capsule verify {}",
        "capsule build -o made --model 7 --version 1 --weights {}",
        "publish shop {}",
        "publish shop {} --key {}",
        "rollout shop start {}",
        "send {} --mqtt 127.0.0.1:1 --topic t",
    ],
)
def test_a_file_without_an_end_is_given_up(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "_FILE_BYTES", 1 << 20)
    assert main(verb.format("/dev/zero", "/dev/zero").split()) == 2
    assert "/dev/zero: more than 1,048,576 bytes" in capsys.readouterr().err
    assert not (tmp_path / "made").exists() and not (tmp_path / "shop").exists()
    for call in (read_key, read_private, read_public, read_object_key):
        with pytest.raises(AcclimateError, match="more than 65,536 bytes"):
            call("/dev/zero")


def test_without_cryptography_the_package_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, PAIR.pem())
    monkeypatch.setitem(
        __import__("sys").modules, "cryptography.hazmat.primitives.asymmetric", None
    )
    for call in (lambda: SigningKey(bytes(32)), lambda: read_private(path)):
        with pytest.raises(Missing, match=r"acclimate\[sign\]"):
            call()
    assert sign(TEXT, b"k" * 16)  # an HMAC needs none
