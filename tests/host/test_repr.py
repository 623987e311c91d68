# SPDX-License-Identifier: MIT
"""What a prompt shows of the objects of a repository; a key is in none."""

import re

import capsule_cases as cases

from acclimate_host.capsules.history import History
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Rollout
from acclimate_host.capsules.server import CapsuleServer
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


def test_flash_in_ram_tells_its_size_and_wear():
    flash = NorFlash(8192)
    flash.erase(0)
    assert repr(flash) == "NorFlash(8192): 1 steps, 1 erases"
