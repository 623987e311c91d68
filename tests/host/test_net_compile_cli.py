# SPDX-License-Identifier: MIT
"""`acclimate compile`: files in, files out, and what it says when it cannot."""

import numpy as np
import pytest
from test_net_onnx import channels_last, residual

from acclimate.net import Net
from acclimate_host import twin_net
from acclimate_host.cli import main

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


def test_channels_and_optimizer_are_passed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    net = channels_last()
    onnx.save(net.finish(), "net.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, 2, 9, 8)))
    base = ["compile", "net.onnx", "--samples", "x.npy"]
    sizes = []
    for extra in (["--predict-only"], [], ["--optimizer", "momentum16"]):
        assert main(base + extra) == 0
        sizes.append((tmp_path / "net_weights").stat().st_size)
    assert sizes[0] == 0 < sizes[1] == sizes[2]
    assert "note: the file's input is (height, width, channels)" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, words", [
    (["none.onnx"], "none.onnx: no such file"),
    (["x.npy"], "expected a .onnx or .tflite file"),
    (["net.onnx"], "--samples gives their ranges"),
    (["net.onnx", "--samples", "net.onnx"], "expected a .npy of numbers"),
    (["net.onnx", "--samples", "x.npy", "--channels", "c1"], "expected LAYER:COUNT"),
    (["net.onnx", "--samples", "x.npy", "--channels", "c9:1"], "no convolution 'c9'"),
    (["net.onnx", "--samples", "x.npy", "--biases", "99"], "bias_layers is 99"),
    (["net.onnx", "--samples", "x.npy", "--headroom", "9"], "headroom: expected 0 to 4"),
])  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line(folder, capsys, arguments, words):
    assert main(["compile", *arguments]) != 0
    error = capsys.readouterr().err
    assert words in error and error.startswith("acclimate compile: ") and error.count("\n") == 1
