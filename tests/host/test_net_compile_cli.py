# SPDX-License-Identifier: MIT
"""`acclimate compile`: files in, files out, and what it says when it cannot."""

import numpy as np
import pytest
from test_net_onnx import Model, channels_last, residual

from acclimate.net import Net
from acclimate_host.cli import main
from acclimate_host.twin import net as twin_net

onnx = pytest.importorskip("onnx")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a float model and samples for it."""
    monkeypatch.chdir(tmp_path)
    net = residual()
    onnx.save(net.finish(), "net.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, *net.shape)))
    return tmp_path


def test_a_float_model_becomes_two_files_that_train(folder, capsys):
    assert main(["compile", "net.onnx", "--samples", "x.npy", "--out", "made"]) == 0
    text = capsys.readouterr().out
    assert "same largest output" in text and "convolutions, first to last: c0, c1, c2, c3" in text
    if twin_net.load() is None:
        pytest.skip("the twin is not built")
    twin_net.register()
    net = Net(*((folder / "made" / name).read_bytes() for name in ("net_program", "net_weights")))
    net.set_rate(0.02)
    x = bytes(net.input_bytes)
    first = net.train_step(x, 2)
    assert [net.train_step(x, 2) for _ in range(20)][-1] > first


class Shelf(dict):
    """A pager in a dictionary."""

    def page_out(self, number, view):
        self[number] = bytes(view)

    def page_in(self, number, view):
        view[:] = self[number]


def _arena(text):
    line = next(line for line in text.splitlines() if line.startswith("arena "))
    return int(line.split()[-1].replace(",", ""))


def _deep():
    net = Model((3, 16, 16))
    net.conv(8, 3, (3, 3), pads=[1, 1, 1, 1])
    for _ in range(4):
        net.op("Relu", net.last)
        net.conv(8, 8, (1, 1))
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.dense(5, 8)
    return net


def test_a_step_that_is_too_large_is_planned_and_trains_to_the_same_bits(folder, capsys):
    onnx.save(_deep().finish(), "deep.onnx")
    np.save("d.npy", np.random.default_rng(1).normal(0, 1, (20, 3, 16, 16)))
    base = ["compile", "deep.onnx", "--samples", "d.npy", "--biases", "5"]
    base += ["--loss", "cross-entropy"]
    for layer in ("c0:3", "c1:8", "c2:8", "c3:8", "c4:8"):
        base += ["--channels", layer]
    assert main([*base, "--out", "plain"]) == 0
    plain = _arena(capsys.readouterr().out)
    assert main([*base, "--out", "enough", "--ram", "1m"]) == 0
    assert _arena(capsys.readouterr().out) == plain
    assert main([*base, "--ram", "1k"]) == 2
    error = capsys.readouterr().err
    assert "no plan fits 1024 bytes of RAM; the smallest feasible RAM is" in error
    least = int(error.split()[-2])
    ram = least + (plain - least) // 2
    assert main([*base, "--out", "planned", "--ram", str(ram)]) == 0
    text = capsys.readouterr().out
    assert _arena(text) <= ram < plain and f"to fit {ram:,} bytes a step computes" in text
    assert "computes 0 layers again, pages 0 tensors" not in text
    if twin_net.load() is None:
        pytest.skip("the twin is not built")
    twin_net.register()
    results = []
    for name in ("plain", "planned"):
        code, weights = (
            (folder / name / file).read_bytes() for file in ("net_program", "net_weights")
        )
        net = Net(code, weights, seed=3, pager=Shelf())
        net.set_rate(0.02)
        x = bytes(i * 7 & 255 for i in range(net.input_bytes))
        results.append(([net.train_step(x, i % 3) for i in range(4)], bytes(net.weights())))
    assert results[0] == results[1]


def test_channels_and_optimizer_are_passed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    net = channels_last()
    onnx.save(net.finish(), "net.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, 2, 9, 8)))
    base = ["compile", "net.onnx", "--samples", "x.npy", "--loss", "cross-entropy"]
    sizes = []
    for extra in (["--predict-only"], [], ["--optimizer", "momentum16"]):
        assert main(base + extra) == 0
        sizes.append((tmp_path / "net_weights").stat().st_size)
    assert sizes[0] == 0 < sizes[1] == sizes[2]
    assert "note: the file's input is (height, width, channels)" in capsys.readouterr().out


def test_program_and_weights_are_written_together_or_not_at_all(folder, capsys):
    (folder / "made" / "net_weights").mkdir(parents=True)
    base = ["compile", "net.onnx", "--samples", "x.npy", "--loss", "cross-entropy"]
    assert main([*base, "--out", "made"]) == 2
    assert "net_weights: Is a directory" in capsys.readouterr().err
    assert not (folder / "made" / "net_program").exists()
    (folder / "file").write_bytes(b"")
    assert main([*base, "--out", "file"]) == 2
    assert "a file is there; expected a folder" in capsys.readouterr().err


def test_what_only_predicts_has_no_weights_and_goes_into_a_capsule(folder):
    assert main(["compile", "net.onnx", "--samples", "x.npy", "--predict-only"]) == 0
    files = ["--program", "net_program", "--weights", "net_weights"]
    assert main(["capsule", "build", "-o", "c", "--model", "7", "--version", "1", *files]) == 0


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["none.onnx"], "none.onnx: no such file"),
        (["x.npy"], "expected a .onnx or .tflite file"),
        (["net.onnx"], "its numbers are float: give --samples FILE.npy, some real inputs"),
        (["net.onnx", "--samples", "net.onnx"], "expected a .npy of numbers (this is no file of"),
        (["net.onnx", "--samples", "none.npy"], "none.npy: no such file"),
        (["net.onnx", "--samples", "x.npy", "--channels", "c1"], "expected LAYER:COUNT"),
        (
            ["net.onnx", "--samples", "x.npy", "--channels", "c9:1"],
            "no convolution 'c9' in net; there are: c",
        ),
        (["net.onnx", "--samples", "x.npy", "--biases", "99"], "bias_layers is 99"),
        (["net.onnx", "--samples", "x.npy", "--ram", "50%"], "with k, m or g"),
        (["net.onnx", "--samples", "x.npy", "--ram", "99", "--predict-only"], "no choice fits"),
        (["net.onnx", "--samples", "x.npy", "--time-limit", "0"], "more than 0 seconds"),
        (
            ["net.onnx", "--samples", "x.npy", "--ram", "1k", "--board", "zz"],
            "no cost table or board",
        ),
        (["net.onnx", "--samples", "x.npy", "--headroom", "9"], "headroom: expected 0 to 4"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder, capsys, arguments, words):
    assert main(["compile", *arguments]) != 0
    error = capsys.readouterr().err
    assert words in error and error.startswith("acclimate compile: ") and error.count("\n") == 1
