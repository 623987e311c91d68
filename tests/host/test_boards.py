# SPDX-License-Identifier: MIT
"""Board descriptions: all are valid, and every mistake is named."""

import copy

import pytest

from acclimate_host import boards
from acclimate_host.boards import DescriptionError
from acclimate_host.cli import main
from acclimate_host.connect import RUNNABLE
from acclimate_host.poet.costs import costs_folder
from acclimate_host.poet.inputs import cost_table

GOOD = {
    "name": "x",
    "title": "X",
    "kind": "board",
    "core": "Cortex-M4F",
    "arch": "armv7emsp",
    "fpu": True,
    "clock_hz": {"value": 64000000, "source": "s"},
    "flash": {
        "bytes": {"value": 8192, "source": "s"},
        "erase_block_bytes": {"value": 4096, "source": "s"},
    },
    "runtime": [{"name": "micropython", "native": "yes", "has_sha256": True, "source": "s"}],
}


def test_all_descriptions_are_valid_and_every_figure_has_a_source():
    found, errors = boards.load_all()
    assert not errors
    assert {"huzzah32", "feather_nrf52840", "metro_m0_express"} <= {board.name for board in found}
    for board in found:
        assert all(figure.source for figure in board.figures.values()), board.name


def test_every_board_file_says_what_was_run_where(capsys):
    found = boards.load_all()[0]
    emulated = {board.name: board for board in found if board.kind == "emulated"}
    for board in found:
        if board.kind != "board":
            assert "device tests" in board.ran or "prediction and" in board.ran, board.name
            assert ("emulated" in board.ran) == (board.name in emulated), board.name
            continue
        assert board.ran.startswith("nothing on this board; "), board.name
        (name,) = {name for name in emulated if f"the emulated {name}" in board.ran}
        arch = {board.arch, emulated[name].arch}
        assert len(arch) == 1 and board.fpu == emulated[name].fpu, board.name
    assert main(["boards", "nano33ble"]) == 0
    assert f"  what was run: {boards.load('nano33ble').ran}\n" in capsys.readouterr().out


def test_what_can_be_opened_by_name_is_described():
    assert set(RUNNABLE) <= set(boards.names())


def test_figures_of_the_paper():
    assert boards.load("feather_nrf52840").value("clock_hz") == 64_000_000
    assert boards.load("metro_m0_express").value("ram_bytes") == 32 * 1024
    assert boards.load("esp32_generic").value("flash_bytes") == 4 * 1024 * 1024


def test_stock_circuitpython_loads_no_native_code():
    for board in boards.load_all()[0]:
        assert board.native("circuitpython") in (None, "no")


def test_every_board_of_the_paper_has_an_energy_with_a_source():
    for name in ("esp32_generic", "huzzah32", "feather_nrf52840", "metro_m0_express"):
        board = boards.load(name)
        assert board.energy_j(1.0) > 0
        for figure in ("power.voltage_v", "power.active_current_a"):
            source = board.figures[figure].source
            assert any(word in source for word in ("Data", "Specification")), source


def test_what_is_not_known_is_none_and_gives_no_energy():
    board = boards.load("desktop")
    assert board.value("power.active_current_a") is None
    assert "power.active_current_a" in board.unknown()
    assert board.energy_j(1.0) is None
    with pytest.raises(KeyError):
        board.value("colour")


def test_energy_is_voltage_by_current_by_time():
    data = copy.deepcopy(GOOD)
    data["power"] = {
        "voltage_v": {"value": 3.3, "source": "s"},
        "active_current_a": {"value": 0.01, "source": "s"},
    }
    assert boards.parse(data).energy_j(2) == pytest.approx(0.066)


def change(**values):
    return {**copy.deepcopy(GOOD), **values}


@pytest.mark.parametrize(
    "data, text",
    [
        ({k: v for k, v in GOOD.items() if k != "arch"}, "arch is missing"),
        (change(arch="z80"), "'z80', not one of x64"),
        (change(fpu="yes"), "fpu must be true or false"),
        (change(runtime=[]), "at least one"),
        (change(clock_hz=64000000), "value = NUMBER, source"),
        (change(clock_hz={"value": "64 MHz", "source": "s"}), "not a number"),
        (change(clock_hz={"value": 5, "source": "s"}), "clock_hz is 5, outside"),
        (change(clock_hz={"value": 64000000, "source": ""}), "clock_hz.source"),
        (change(colour={"value": 1, "source": "s"}), "colour is not known"),
        (
            change(
                flash={
                    "bytes": {"value": 5000, "source": "s"},
                    "erase_block_bytes": {"value": 4096, "source": "s"},
                }
            ),
            "no multiple",
        ),
        (change(runtime=[{"name": "micropython"}]), "runtime.has_sha256 is missing"),
    ],
)
def test_mistakes_are_named(data, text):
    with pytest.raises(DescriptionError, match=text):
        boards.parse(data, "x.toml")


def test_all_mistakes_of_a_file_are_named_in_one_line():
    data = change(arch="z80", fpu="yes", clock_hz={"value": 5, "source": "s"}, colour=3)
    del data["title"], data["runtime"]
    with pytest.raises(DescriptionError) as raised:
        boards.parse(data, "x.toml")
    text = str(raised.value)
    assert text.startswith("x.toml: title is missing; ")
    assert text.count("x.toml") == 1 and "\n" not in text
    parts = ("'z80', not one of", "fpu must be", "[[runtime]]", "clock_hz is 5", "colour is not")
    assert [part for part in parts if part not in text] == []


def mine(folder, name="my_board", **changes):
    """Write a description of one's own, as a user does: a shipped file with other lines."""
    text = (boards.boards_folder() / "xiao_nrf52840.toml").read_text()
    text = text.replace('name = "xiao_nrf52840"', f'name = "{name}"', 1)
    for old, new in changes.items():
        text = text.replace(old, new, 1)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)
    return str(folder / f"{name}.toml")


def test_a_file_of_ones_own_is_shown_and_planned_for(tmp_path, capsys):
    file = mine(tmp_path)
    assert main(["boards", file]) == 0
    assert capsys.readouterr().out.startswith("my_board: Seeed Studio XIAO nRF52840")
    assert cost_table(file).name == cost_table("xiao_nrf52840").name == "m4"
    assert main(["install", "--board", file]) == 2
    assert "describes a board: name its port with --port DEV" in capsys.readouterr().err
    assert main(["boards", str(tmp_path / "none.toml")]) == 2
    assert "no file" in capsys.readouterr().err


def test_a_folder_of_ones_own_is_listed_beside_what_is_shipped(tmp_path, monkeypatch, capsys):
    mine(tmp_path)
    mine(tmp_path, "broken", fpu="fpv", clock_hz="clock")
    monkeypatch.setenv("ACCLIMATE_BOARDS", str(tmp_path))
    assert main(["boards"]) == 2
    shown = capsys.readouterr()
    assert "\nmy_board " in shown.out and "\nnano33ble " in shown.out
    assert "broken.toml: fpu must be" in shown.err and "clock is not known" in shown.err
    assert boards.load("my_board").core == "Cortex-M4F"
    monkeypatch.setenv("ACCLIMATE_BOARDS", str(tmp_path / "gone"))
    assert main(["boards"]) == 2
    assert f"ACCLIMATE_BOARDS: no folder {tmp_path / 'gone'}" in capsys.readouterr().err


def test_a_cost_table_is_no_description_and_the_message_says_what_it_is_for():
    with pytest.raises(DescriptionError, match=r"cost table.* acclimate plan --board .*m4.toml"):
        boards.load(str(costs_folder() / "m4.toml"))


@pytest.mark.case("A7")
def test_one_unreadable_file_does_not_hide_the_others(tmp_path, monkeypatch):
    good = (boards.boards_folder() / "samd21.toml").read_text()
    (tmp_path / "samd21.toml").write_text(good)
    (tmp_path / "bad.toml").write_text("name = ")
    (tmp_path / "other.toml").write_text(good)
    monkeypatch.setattr(boards, "boards_folder", lambda: tmp_path)
    found, errors = boards.load_all()
    assert [board.name for board in found] == ["samd21"]
    assert [str(error).partition(":")[0] for error in errors] == ["bad.toml", "other.toml"]
