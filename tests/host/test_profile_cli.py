# SPDX-License-Identifier: MIT
"""``acclimate profile``: cost tables from a board, power meters, and refusals in one line."""

import pytest

from acclimate_host.cli import main
from acclimate_host.connect import why_not
from acclimate_host.errors import AcclimateError
from acclimate_host.poet import costs
from acclimate_host.poet.measure import mean_power, programs


def needs(board):
    reason = why_not(board)
    return pytest.mark.skipif(reason is not None, reason=str(reason))


@needs("nrf52840")
def test_an_emulated_board_gives_labelled_estimates(tmp_path, capsys):
    out = tmp_path / "board.toml"
    words = ["profile", "--board", "nrf52840", "--store", "raw", "--rounds", "1"]
    assert main([*words, "--voltage", "3.3", "--current", "0.005", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "estimate from instructions at 64 MHz" in shown and "depthwise 3x3" in shown
    table = costs.load(str(out))
    assert table.kind == "estimated" and table.element_bytes == 1
    assert 1e5 < table.figures["flop_per_s"] < 64e6 * 4
    assert table.figures["compute_power_w"] == pytest.approx(0.0165)
    assert "estimate" in table.sources["pageout.bytes_per_s"]
    assert main(["plan", "linear", "--board", str(out), "--ram", "70%", "--method", "dtr"]) == 0


@needs("desktop")
def test_a_board_with_a_clock_is_measured(tmp_path, capsys):
    power = tmp_path / "power.csv"
    power.write_text("time_s,current_a\n0,0.1\n1,0.2\n2,0.1\n")
    out = tmp_path / "desktop.toml"
    words = ["profile", "--board", "desktop", "--voltage", "5", "--power", str(power)]
    assert main([*words, "--out", str(out)]) == 0
    assert "measured on the board" in capsys.readouterr().out
    assert costs.load(str(out)).figures["compute_power_w"] == pytest.approx(0.75)


def test_a_power_meters_csv_is_averaged_over_time():
    assert mean_power("time_s,power_w\n0,1\n3,1\n4,3\n") == pytest.approx((3 + 2) / 4)
    assert mean_power("time_s,current_a,voltage_v\n0,2,3\n1,2,3\n") == pytest.approx(6)
    for text, why in (
        ("", "expected columns"), ("time_s,power_w\n0,1\n", "two or more"),
        ("time_s,power_w\n0,1\n0,1\n", "rising"), ("time_s,power_w\n0,x\n1,1\n", "could not"),
        ("time_s,current_a\n0,1\n1,1\n", "--voltage"),
    ):  # fmt: skip
        with pytest.raises(AcclimateError, match=why):
            mean_power(text)


@pytest.mark.parametrize(
    "words, text",
    [(["--board", "esp32"], "no instruction clock"),
     (["--board", "samd21", "--rounds", "1"], "samd21: too little heap to measure"),
     (["--board", "desktop"], "energy: give"),
     (["--board", "nrf52840", "--power", "/nope"], "No such file"),
     (["--board", "nrf52840", "--out", "x.txt"], ".toml"),
     (["--board", "nrf52840", "--rounds", "0"], "1 or more"),
     (["--board", "nrf52840", "--like", "zz"], "no board")],
)  # fmt: skip
def test_bad_input_is_one_clear_line(words, text, capsys):
    if words[1] in ("esp32", "samd21") and why_not(words[1]):
        pytest.skip(why_not(words[1]))
    assert main(["profile", *words]) in (2, 3, 7)
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def test_the_measured_programs_count_their_products():
    flop = {name: (forward, backward) for name, _, forward, backward in programs()}
    assert flop["conv 3x3"] == (pytest.approx(2 * 100 * 8 * 8 * 9), 0)
    assert flop["pointwise"][0] == pytest.approx(2 * 100 * 64)
    assert flop["training step"][1] > 0
