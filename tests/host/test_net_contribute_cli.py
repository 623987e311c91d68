# SPDX-License-Identifier: MIT
"""`acclimate contribute`: what each part is worth, resumed, on a cluster; choices for arenas."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from acclimate_host.cli import main
from acclimate_host.commands.contribute import bar
from acclimate_host.twin import compiled
from acclimate_host.twin import net as twin_net

onnx = pytest.importorskip("onnx")
from test_net_onnx import Model  # noqa: E402

from harness.clock import HANG_S, wait_until  # noqa: E402

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
COMMAND = ["contribute", "net.onnx", "--data", "d.npz", "--ratios", "0.5,1", "--epochs", "1"]


def model():
    net = Model((2, 10, 10))
    net.conv(6, 2, (3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    start = net.op("Relu", net.last)
    net.conv(8, 6, (1, 1))
    net.op("Relu", net.last)
    net.conv(8, 1, (3, 3), group=8, pads=[1, 1, 1, 1])
    net.op("Relu", net.last)
    net.conv(6, 8, (1, 1))
    net.op("Add", start, net.last)
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.dense(3, 6)
    return net


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(model().finish(), "net.onnx")
    random = np.random.default_rng(1)
    x, labels = random.normal(0, 1, (60, 2, 10, 10)), random.integers(0, 3, 60)
    x[:, 0, :5, :] += labels[:, None, None]
    np.savez("d.npz", x=x, labels=labels)
    return tmp_path


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_gains_are_measured_once_and_an_arena_is_filled(folder, capsys):
    """The file leaves edges open; the command that is printed has the shape, too."""
    whole = model().finish()
    for dim in whole.graph.input[0].type.tensor_type.shape.dim[2:]:
        dim.dim_param = "edge"
    onnx.save(whole, "net.onnx")
    shaped = [*COMMAND, "--input-shape", "2,10,10"]
    assert main([*shaped, "--memory", "900", "--memory", "2k", "--out", "gains.json"]) == 0
    text = capsys.readouterr().out
    kept = folder / "net.contributions.jsonl"
    assert len(lines(kept)) == 1 + 5 + 4 * 2  # the case, biases, two shares of four layers
    rows = re.findall(r"^(900|2,048) +(last layers|evolution|exact|proxy) +([\d,]+) ", text, re.M)
    assert [row[1] for row in rows] == 2 * ["last layers", "evolution", "exact", "proxy"]
    for budget, _, used in rows:
        assert int(used.replace(",", "")) <= int(budget.replace(",", ""))
    assert len(json.loads((folder / "gains.json").read_text())["biases"]) == 5
    command = re.search(r"2,048 bytes: acclimate (compile net.onnx .*)", text)[1]
    np.save("x.npy", np.load("d.npz")["x"])
    assert main([*command.split(), "--samples", "x.npy"]) == 0
    arena = re.search(r"arena +([\d,]+)", capsys.readouterr().out)[1]
    assert int(arena.replace(",", "")) <= 2048
    before = kept.read_text()
    assert main(shaped) == 0 and kept.read_text() == before


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(folder, capsys):
    command = [sys.executable, "-m", "acclimate_host.cli", *COMMAND, "--seeds", "60"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    kept = folder / "net.contributions.jsonl"
    wait_until(lambda: kept.exists() and kept.read_text().count("\n") > 2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "the same command goes on" in error and "Traceback" not in error
    before = lines(kept)
    assert 1 <= len(before) - 1 < 60 * 13
    assert main(COMMAND) == 0  # one seed, of which a part is there
    after = lines(kept)
    assert after[: len(before)] == before
    assert len(after) == len({row.get("job") for row in after})
    assert sum(row.get("job", "").endswith(" 1") for row in after) == 13


@pytest.mark.slow
def test_a_dask_cluster_of_two_processes_gives_what_two_workers_here_give(folder, capsys):
    distributed = pytest.importorskip("distributed")
    assert main([*COMMAND, "--keep", "here.jsonl"]) == 0
    here = capsys.readouterr().out
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        local_directory=str(folder),
        silence_logs=50,
    ) as cluster:
        address = cluster.scheduler_address
        assert main([*COMMAND, "--keep", "there.jsonl", "--dask", address]) == 0
    assert capsys.readouterr().out == here
    ours, theirs = (
        {row.get("job"): row.get("accuracy") for row in lines(folder / name)}
        for name in ("here.jsonl", "there.jsonl")
    )
    assert ours == theirs


def test_the_bar_shows_how_long_it_will_take():
    assert bar(0, 40, None) == f"[{'-' * 24}] 0 of 40 fine-tunes"
    assert bar(20, 40, 65.2) == f"[{'#' * 12}{'-' * 12}] 20 of 40 fine-tunes, about 1:05 left"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"labels": np.arange(60)}, "labels: expected 0 to 2, got 0 to 59"),
        ({"labels": np.zeros(59, int)}, "labels: expected 60 whole numbers"),
        ({"x": np.zeros((60, 2, 9, 10))}, "x: expected (count, 2, 10, 10), got (60, 2, 9, 10)"),
        ({"x": np.full((60, 2, 10, 10), np.nan)}, "x: expected finite real numbers"),
        ({"x": np.full((60, 2, 10, 10), 1j)}, "x: expected finite real numbers"),
        ({"x_test": np.zeros((1, 2, 10, 10))}, "expected x_test and labels_test, got x_test"),
    ],
)
def test_wrong_data_is_one_line(folder, capsys, change, words):
    np.savez("d.npz", **(dict(np.load("d.npz")) | change))
    assert main(COMMAND) != 0
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not (folder / "net.contributions.jsonl").exists()


@pytest.mark.slow
def test_other_refusals_are_one_line(folder, capsys):
    np.save("x.npy", np.zeros(3))
    (folder / "cut.npz").write_bytes((folder / "d.npz").read_bytes()[:3000])
    for arguments, words in (
        (["net.onnx", "--data", "none.npz"], "none.npz: no such file"),
        (["net.onnx", "--data", "cut.npz"], "cut.npz: expected a .npz"),
        (["net.onnx", "--data", "x.npy"], "expected an archive (.npz)"),
        (["net.onnx", "--data", "d.npz", "--memory", "100"], "classifier alone needs"),
        (["net.onnx", "--data", "d.npz", "--dask", "tcp://127.0.0.1:1"], "no scheduler there"),
        (["net.onnx", "--data", "d.npz", "--rate", "0"], "--rate 0.0: expected"),
        (["net.onnx", "--data", "d.npz", "--rate", "inf"], "--rate inf: expected"),
        (["net.onnx", "--data", "d.npz", "--seeds", "-3"], "--seeds -3: expected 1 to 1000"),
    ):
        assert main(["contribute", *arguments, "--epochs", "1", "--ratios", "1"]) != 0
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1, arguments
    assert not list(folder.glob("*.jsonl"))  # all of it before the first fine-tune


def test_results_of_another_setting_are_not_mixed_up(folder, capsys):
    assert main(COMMAND) == 0
    assert main([*COMMAND, "--rate", "0.1"]) != 0
    assert "another network, samples or setting" in capsys.readouterr().err


@pytest.mark.parametrize("junk", [b"\xff\xfe\0", b"\n", b"[1]", b"[" * 50000, b'{"case": 3}'])
def test_a_file_that_keeps_something_else_is_named_and_stays(folder, capsys, junk):
    Path("junk.jsonl").write_bytes(junk)
    assert main([*COMMAND, "--keep", "junk.jsonl"]) == 2
    said = capsys.readouterr().err
    assert "junk.jsonl: results of another network" in said and said.count("\n") == 1
    assert Path("junk.jsonl").read_bytes() == junk


@pytest.mark.slow
def test_without_a_compiler_pure_python_does_the_same_and_that_is_said(
    folder, monkeypatch, capsys
):
    short = [*COMMAND[:-3], "1", "--epochs", "1"]
    data = dict(np.load("d.npz"))
    np.savez("d.npz", **{name: value[:9] for name, value in data.items()})
    assert main([*short, "--keep", "compiled.jsonl"]) == 0
    fast = capsys.readouterr()
    environment = {"ACCLIMATE_OUT": str(folder / "empty"), "CC": "no-such-compiler"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "acclimate_host.cli", *short, "--keep", "pure.jsonl"]
    slow = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert slow.stdout == fast.out and not fast.err
    assert "pure Python" in slow.stderr and "no-such-compiler" in slow.stderr
    assert slow.stderr.count("\n") == 1
    compiled, pure = (
        sorted(map(str, lines(folder / name))) for name in ("compiled.jsonl", "pure.jsonl")
    )
    assert compiled == pure


@pytest.mark.slow
def test_the_kernels_are_compiled_when_they_are_first_wanted(tmp_path, monkeypatch):
    if all(shutil.which(name) is None for name in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler")
    monkeypatch.setenv("ACCLIMATE_OUT", str(tmp_path))
    compiled.path.cache_clear(), compiled.why_not.cache_clear()
    try:
        assert twin_net.load() is None and compiled.why_not("net") is None
        assert twin_net.load() is not None
        assert [path.suffix for path in (tmp_path / "twin").iterdir()] == [".so"]
    finally:
        compiled.path.cache_clear(), compiled.why_not.cache_clear()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--biases", "2", "--channels", "c3:2", "--channels", "c3:4"], "c3: expected one number"),
        (["--predict-only", "--biases", "2"], "--predict-only trains nothing"),
        (["--predict-only", "--channels", "c3:2"], "--predict-only trains nothing"),
        (["--storage", "-1"], "storage '-1'"),
        (["--biases", "2", "--channels", "c3:\u0663"], "expected LAYER:COUNT"),
        (["--biases", "2", "--channels", "c3:9"], "c3: 9 channels; it has 1 to 8"),
        (["--biases", "2", "--channels", "C3:2"], "no convolution 'C3'"),
        (["--biases", "-1"], "bias_layers is -1"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused_and_nothing_is_written(folder, capsys, words, said):
    np.save("x.npy", np.load("d.npz")["x"])
    Path("out").mkdir()
    command = ["compile", "net.onnx", "--samples", "x.npy", "--out", "out"]
    assert main([*command, "--loss", "cross-entropy", *words]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not list(Path("out").iterdir())
