# SPDX-License-Identifier: MIT
"""``acclimate profile``: cost tables from a board, power meters, and refusals in one line."""

from dataclasses import replace

import pytest
from net_cases import trained_net, values_for

from acclimate_host.cli import main
from acclimate_host.compile.scheduled import plain_step
from acclimate_host.connect import why_not
from acclimate_host.connect.emulator import Emulator
from acclimate_host.errors import AcclimateError, BoardError, Missing
from acclimate_host.poet import costs
from acclimate_host.poet.graphs import network_graph
from acclimate_host.poet.measure import Bench, mean_power, programs
from acclimate_host.poet.step_graph import step_graph
from acclimate_host.sparse.scheme import full


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


_STORE = """from acclimate.pager import SpiRam
class Chip:
    data, at = bytearray(4096), -1
    def value(self, level):
        self.at = -1
    def write(self, data):
        if self.at < 0:
            self.at = data[2] << 8 | data[3]
        else:
            self.data[self.at : self.at + len(data)] = data
    def readinto(self, buffer):
        buffer[:] = self.data[self.at : self.at + len(buffer)]
chip = Chip()  # "a chip" \\ of memory
medium = SpiRam(chip, chip, 4096)"""


@pytest.mark.slow
@needs("nrf52840")
def test_a_board_on_a_port_is_measured_with_a_store_of_its_own(tmp_path, capsys):
    out, power = tmp_path / "board.toml", tmp_path / "power.csv"
    power.write_text("# meter\ntime_s,current_a\n0,0.004\n0.5,0.006\n1,0.004\n")
    emulator = Emulator("nrf52840")
    try:
        words = ["profile", "--port", emulator.start(), "--like", "feather_nrf52840"]
        words += ["--store", _STORE, "--rounds", "1", "--power", str(power), "--out", str(out)]
        assert main(words) == 0
    finally:
        emulator.close()
    assert "times: measured on the board" in capsys.readouterr().out
    table = costs.load(str(out))
    assert table.kind == "measured" and table.title.startswith("Adafruit Feather nRF52840")
    assert table.figures["compute_power_w"] == pytest.approx(0.005 * 3.0)  # the board file's volts
    assert "power.csv" in table.sources["compute_power_w"]
    assert table.sources["pagein.latency_s"].startswith("from acclimate.pager import SpiRam")
    assert table.figures["store.erase_block_bytes"] == 4096
    assert table.figures["store.endurance_cycles"] == 10_000
    assert {"operators." + name for name in costs.OPERATORS} <= set(table.figures)


def test_an_operators_own_speed_is_what_its_layers_cost():
    graph = trained_net(1)
    network, published = values_for(graph, 1), costs.load("m4")
    speeds = {"operators.depthwise": 1e3, "operators.backward": 1e5, "operators.dense": 1e4}
    table = replace(published, figures={**published.figures, **speeds})
    step = plain_step(graph, full(graph))
    plain, own = (step_graph(step, network, t).graph.nodes for t in (published, table))
    usual = published.figures["flop_per_s"]
    slower = {
        a.id: b.compute_time / a.compute_time
        for a, b in zip(plain, own, strict=True)
        if a.compute_time
    }
    assert slower["c2.y"] == pytest.approx(usual / 1e3)  # depthwise
    assert slower["c4.y"] == 1  # in two groups: none of the measured ones
    first, same = (network_graph("linear", t).nodes[1].compute_time for t in (published, table))
    assert same == pytest.approx(first * usual / 1e4)


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
        ("", "expected columns"),
        ("time_s,power_w\n0,1\n", "two or more"),
        ("time_s,power_w\n0,1\n0,1\n", "rising"),
        ("time_s,power_w\n0,x\n1,1\n", "could not"),
        ("time_s,current_a\n0,1\n1,1\n", "--voltage"),
    ):
        with pytest.raises(AcclimateError, match=why):
            mean_power(text)


@pytest.mark.parametrize(
    "words, text",
    [
        (["--board", "esp32"], "no instruction clock"),
        (["--board", "samd21", "--rounds", "1"], "samd21: too little heap to measure"),
        (["--board", "desktop"], "energy: give"),
        (["--board", "nrf52840", "--power", "/nope"], "No such file"),
        (["--board", "nrf52840", "--out", "x.txt"], ".toml"),
        (["--board", "nrf52840", "--rounds", "0"], "1 to 1000"),
        (["--board", "nrf52840", "--like", "zz"], "no board"),
    ],
)
def test_bad_input_is_one_clear_line(words, text, capsys):
    if words[1] in ("esp32", "samd21") and why_not(words[1]):
        pytest.skip(why_not(words[1]))
    assert main(["profile", *words]) in (2, 3, 7)
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def test_a_heap_that_runs_out_while_measuring_is_one_clear_line():
    class Full:
        name, emulated = "tight", False

        def exec(self, code, timeout_s=10):
            if "acclimate" in code:
                raise BoardError("on the board: MemoryError: memory allocation failed")

    with pytest.raises(Missing, match="tight: too little heap to measure"):
        Bench(Full()).pages("file")


class Disturbed:
    """A board whose clock answers as it is told: [(predict, train)] of every round."""

    name, emulated = "busy", False

    def __init__(self, times):
        self.times = times

    def put_bytes(self, data, path):
        pass

    def exec(self, code, timeout_s=10):
        return str(self.times)


def test_a_pause_in_one_round_does_not_count():
    found = {
        row.name: row for row in Bench(Disturbed([(900, 40), (10, 40), (11, 7000)])).operators()
    }
    assert found["conv 3x3"].seconds == pytest.approx(10e-6)
    assert found["training step"].seconds == pytest.approx(40e-6)
    assert found["backward and update"].seconds == pytest.approx(30e-6)


def test_a_clock_that_shows_no_backward_pass_is_one_clear_line():
    with pytest.raises(Missing, match="busy: its clock is too coarse or too disturbed"):
        Bench(Disturbed([(40, 40), (50, 45)])).operators()


def test_the_measured_programs_count_their_products():
    flop = {name: (forward, backward) for name, _, forward, backward in programs()}
    assert flop["conv 3x3"] == (pytest.approx(2 * 100 * 8 * 8 * 9), 0)
    assert flop["pointwise"][0] == pytest.approx(2 * 100 * 64)
    assert flop["training step"][1] > 0
