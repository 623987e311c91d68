# SPDX-License-Identifier: MIT
"""``acclimate show``."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acclimate_host.cli import main
from acclimate_host.connect import why_not


def test_show_names_the_arena_of_a_published_scheme(capsys):
    assert main(["show", "mbv2-w0.35", "--published", "49.8"]) == 0
    shown = capsys.readouterr().out
    assert "mbv2-w0.35: " in shown and "94,452" in shown and "51,002" in shown


def test_show_prints_nodes_when_asked(capsys):
    assert main(["show", "mcunet-5fps", "--biases", "2", "--nodes"]) == 0
    shown = capsys.readouterr().out
    assert "-- backward" in shown and "c41.b! = bias_update(c41.gy)" in shown


def test_show_predicts_without_a_scheme(capsys):
    assert main(["show", "proxyless-w0.3", "--nodes"]) == 0
    assert "-- backward" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, text",
    [
        (["lenet"], "known are"),
        (["mbv2-w0.35", "--published", "1"], "there are 49.8"),
        (["mbv2-w0.35", "--last", "99"], "51 convolutions"),
        (["mbv2-w0.35", "--patches", "0"], "1 or more"),
        (["mbv2-w0.35", "--patches", "99"], "use fewer"),
    ],
)
def test_show_refuses_in_one_line(words, text, capsys):
    assert main(["show", *words]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def test_show_draws_the_arena(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "arena.svg"
    assert main(["show", "mcunet-5fps", "--published", "49.8", "--arena", str(path)]) == 0
    assert path.read_text().count("<path") > 100


def test_show_draws_the_graph_of_a_file(tmp_path, capsys, monkeypatch):
    pytest.importorskip("onnx")
    file = Path(__file__).parent / "onnx_files" / "torch_digits.onnx"
    path = tmp_path / "graph.svg"
    words = ["show", str(file), "--biases", "2", "--channels", "c9:16", "--out", str(path)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    boxes = int(re.search(r"(\d+) nodes", shown)[1])
    picture = ElementTree.parse(path).getroot()
    kinds = [element.tag.rpartition("}")[2] for element in picture]
    assert kinds.count("rect") == boxes + 1 and kinds.count("path") >= boxes - 1
    texts = [element.text for element in picture.iter() if element.text]
    assert "weight_update c9" in texts and any("changes c9.b" in text for text in texts)
    assert main(["show", str(file)]) == 0  # predicts only


@pytest.mark.parametrize(
    "words, text",
    [
        (["--biases", "1", "--out", "graph.png"], "drawn as .svg"),
        (["--channels", "c9:1"], "goes with --biases"),
        (["--biases", "1", "--channels", "c9"], "expected LAYER:COUNT"),
        (["--biases", "99"], "bias_layers is 99"),
        (["--last", "99"], "10 convolutions"),
        (["--published", "49.8"], "--published is for"),
    ],
)
def test_show_refuses_wrong_words_for_a_file(words, text, capsys):
    pytest.importorskip("onnx")
    file = Path(__file__).parent / "onnx_files" / "torch_digits.onnx"
    assert main(["show", str(file), *words]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


def _numbers(line):
    return [int(word.replace(",", "")) for word in line.split()[1:]]


@pytest.mark.parametrize(
    "words", [["kws", "--ram", "16900"], ["autoencoder"], ["kws", "--core", "m4f"]]
)
def test_show_predicts_the_instructions_that_a_board_counts(words, capsys):
    if why_not("nrf52840"):
        pytest.skip(why_not("nrf52840"))
    assert main(["show", *words, "--count"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("operation"))
    rows = [_numbers(line) for line in lines[start + 1 :]]
    assert lines[-1].startswith("all ") and len(rows) > 1
    assert rows[-1][1] == sum(counted for _, counted in rows[:-1])
    assert rows[-1][0] == pytest.approx(rows[-1][1], rel=0.05)


def test_show_gives_its_numbers_as_json(capsys):
    words = ["show", "kws", "--biases", "1", "--core", "m0"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    counts = found.pop("instructions")
    total = counts.pop("all")["predicted"]
    rows = [row["predicted"] for row in counts.values()]
    assert total == pytest.approx(sum(rows), abs=len(rows))
    assert found["most_bytes"] <= found["arena_bytes"] and found["extra_bytes"] > 0
    assert f"kws: {found['nodes']} nodes" in shown and f"{total:,}" in shown
    for key in ("extra_bytes", "arena_bytes", "most_bytes"):
        assert f"{found[key]:,}" in shown
    assert f"node {found['most_node']}, {found['most_op']}" in shown


def test_show_says_what_is_chosen_within_an_arena(capsys):
    for name, ram in (("vww", 20_000), ("kws", 16_900)):  # in patches, and as a whole
        assert main(["show", name, "--ram", str(ram)]) == 0
        shown = capsys.readouterr().out
        assert "chosen: " in shown
        assert ram // 2 < int(shown.split()[-1].replace(",", "")) <= ram
    assert main(["show", "kws", "--ram", "9000"]) == 2
    assert "the smallest found has" in capsys.readouterr().err
