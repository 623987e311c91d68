# SPDX-License-Identifier: MIT
"""``acclimate status``, ``confirm`` and ``rollback`` on an emulated board's own flash."""

import json

import capsule_cases as cases
import pytest

from acclimate.store import Store, Wanted
from acclimate_host.capsules import cable, flasher, region
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.cli import main
from acclimate_host.connect import why_not
from acclimate_host.errors import Refused
from acclimate_host.testing.nor import NorFlash

BOARD = "nrf52840"
REGION_BYTES = 0x8000
SIZE = ["--bytes", str(REGION_BYTES)]


def on_trial(size, page):
    """Return the image of a region where version 2 is on trial, booted twice."""
    flash = NorFlash(size, page)
    store = Store(flash, Wanted(key=cases.KEY))
    store.swap_capsule(cases.capsule(1))
    data = cases.capsule(2)
    store.stage(data, 128)
    store.write(data, len(data))
    store.finish()
    store.trial()
    for _ in range(2):
        Store(flash, Wanted(key=cases.KEY))
    return bytes(flash.data)


@pytest.fixture
def flash(tmp_path):
    """A file with the flash of a board on which version 2 is on trial."""
    if why_not(BOARD):
        pytest.skip(why_not(BOARD))
    path = tmp_path / "flash.bin"
    with region.open_board(BOARD, flash=str(path)) as board:
        size, page = flasher.shape(board, region.region_of(board, size=REGION_BYTES))
        flasher.write_region(board, on_trial(size, page), page)
    return path


def said(flash, capsys, *more):
    assert main(["status", "--board", BOARD, "--flash", str(flash), *SIZE, "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_looking_tells_all_and_costs_no_boot(flash, capsys):
    before = flash.read_bytes()
    for _ in range(3):
        found = said(flash, capsys)
        assert found["state"] == "trial" and found["version"] == 2 and found["boots"] == 2
    assert flash.read_bytes() == before


@pytest.mark.slow
def test_confirm_then_rollback(flash, capsys):
    board = ["--board", BOARD, "--flash", str(flash), *SIZE]
    assert main(["confirm", *board]) == 0
    capsys.readouterr()
    found = said(flash, capsys)
    assert found["state"] == "confirmed" and found["version"] == 2
    assert main(["rollback", *board]) == 0
    capsys.readouterr()
    found = said(flash, capsys)
    assert found["version"] == 1 and found["floor"] == 2
    assert main(["rollback", *board]) == 0  # once more changes nothing
    assert "version 1, rolled back" in capsys.readouterr().out
    for verb in ("rollback", "confirm"):
        assert main([verb, *board, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["version"] == 1 and found["state"] == "rolled back"


def test_a_board_without_a_model_has_nothing_to_confirm_or_give_up(tmp_path, capsys):
    if why_not(BOARD):
        pytest.skip(why_not(BOARD))
    board = ["--board", BOARD, "--flash", str(tmp_path / "flash.bin"), *SIZE]
    told = {"rollback": "give up", "confirm": "confirm"}
    for verb in told:
        assert main([verb, *board]) == 6
        assert f"the store is empty: there is no model to {told[verb]}" in capsys.readouterr().err


def test_a_report_by_cable_is_kept_with_the_others(flash, capsys, tmp_path):
    folder, key = tmp_path / "repository", tmp_path / "key"
    Repository(folder, cases.KEY).publish(cases.capsule(2))
    key.write_bytes(cases.KEY)
    said(flash, capsys, "--report", str(folder), "--device", "17", "--key", str(key))
    (report,) = Reports(folder / "reports", cases.KEY).all()
    assert report["device"] == 17 and report["state"] == "trial" and report["is_authentic"]


def test_a_file_that_stands_for_a_flash_is_read_and_written(tmp_path):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with region.open_board("desktop") as board:
        place = region.region_of(board, size=65536)
        with pytest.raises(Refused, match="no region"):
            cable.open_store(board, place)
        image = on_trial(65536, cable.PAGE_BYTES)
        board.put_bytes(image, place.path)
        assert cable.describe(cable.open_store(board, place))["boots"] == 2
        assert board.get_bytes(place.path) == image
        cable.open_store(board, place, writes=True).confirm()
        assert cable.describe(cable.open_store(board, place))["state"] == "confirmed"
