# SPDX-License-Identifier: MIT
"""What a prompt shows of the objects of a repository; a key is in none."""

import importlib
import re

import capsule_cases as cases
import pytest

from acclimate.pager import Files, Host, SpiRam
from acclimate_host.capsules.blocks import Sender
from acclimate_host.capsules.history import History
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Rollout
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.capsules.signing import SigningKey
from acclimate_host.connect.pages import PageKeeper
from acclimate_host.figures import tomllib
from acclimate_host.model.build import Builder
from acclimate_host.paths import repository
from acclimate_host.testing.nor import NorFlash


def test_objects_of_a_repository_name_their_folder_and_no_key(tmp_path):
    folder = tmp_path / "repository"
    made = Repository(folder, cases.KEY)
    texts = [
        repr(made),
        repr(Reports(folder, cases.KEY)),
        repr(CapsuleServer(None, folder, 7, cases.KEY)),
        repr(History(folder, 7)),
        repr(Rollout(made, 7)),
    ]
    assert texts[0].startswith("Repository(") and texts[0].endswith("signs)")
    assert repr(Repository(folder)).endswith("signs nothing)")
    assert texts[1].endswith("signed)") and repr(Reports(folder)).endswith("of anybody)")
    assert "model_id=7" in texts[2] and texts[3].endswith("7-all.jsonl')")
    for text in texts:
        assert str(folder) in text
        assert repr(cases.KEY)[2:-1] not in text and cases.KEY.hex() not in text
        assert re.fullmatch(r"[ -~]*", text)


def test_every_public_class_of_the_device_package_says_what_it_is():
    """Errors show their text; all others have words of their own."""
    names = tomllib.loads((repository() / "tests" / "public_names.toml").read_text())
    bare = []
    for room, listed in names.items():
        module = importlib.import_module(f"acclimate.{room}")
        classes = [(name, getattr(module, name)) for name in listed]
        for name, one in classes:
            if isinstance(one, type) and not issubclass(one, BaseException):
                bare += [f"{room}.{name}"] * (one.__repr__ is object.__repr__)
    assert bare == []


def test_media_of_pages_tell_their_size(tmp_path):
    files = Files(str(tmp_path / "pages"), 2, 64)
    assert repr(files) == "Files: 128 bytes, blocks of 64"
    files.close()
    assert repr(Host(None, 1024)) == "Host: 1024 bytes, blocks of 256"
    assert repr(SpiRam(None, None, 512)) == "SpiRam: 512 bytes, blocks of 256"


def test_what_programs_on_a_computer_hold_tells_how_far_it_is():
    assert repr(PageKeeper(64)) == "PageKeeper(64): 0 requests"
    assert repr(Sender(bytes(500), 240, session=1)) == "Sender(500 bytes, block 0 of 3)"
    net = Builder("tiny", (1, 8, 8))
    net.conv("c0", net.x, outputs=4)
    assert repr(net) == "Builder('tiny'): 1 operators"


def test_a_private_key_shows_its_public_half_only():
    pytest.importorskip("cryptography")
    secret = bytes(range(32))
    key = SigningKey(secret)
    assert repr(key) == f"SigningKey(public {key.public.hex()})"
    assert secret.hex() not in repr(key)


def test_flash_in_ram_tells_its_size_and_wear():
    flash = NorFlash(8192)
    flash.erase(0)
    assert repr(flash) == "NorFlash(8192): 1 steps, 1 erases"
