# SPDX-License-Identifier: MIT
"""Files that PyTorch and Keras have written: their own outputs, and a program that trains."""

from pathlib import Path

import numpy as np
import pytest

from acclimate.net import Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.contribution import trainable
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net

pytest.importorskip("onnx")
FILES = sorted((Path(__file__).parent / "onnx_files").glob("*.onnx"))


def opened(path):
    """Return (network, inputs in its shape, the framework's outputs)."""
    network, kept = import_onnx(path), np.load(path.with_suffix(".npz"))
    x = kept["x"]
    if any("channels lead" in note for note in network.notes):
        x = np.moveaxis(x, -1, 1)
    return network, x.reshape(len(x), *network.graph[network.input].shape), kept["y"]


def test_both_frameworks_are_there():
    names = {path.stem.partition("_")[0] for path in FILES}
    assert names == {"torch", "keras"} and len(FILES) >= 14


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_framework(path):
    network, x, wanted = opened(path)
    got = FloatRun(network).predict(x).reshape(len(x), -1)
    if any("softmax" in note for note in network.notes):
        got = np.exp(got - got.max(axis=1, keepdims=True))
        got /= got.sum(axis=1, keepdims=True)
        got = np.log(got) if wanted.max() <= 0 else got
    assert got == pytest.approx(wanted, rel=1e-5, abs=2e-6)


@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_imported_learns_on_the_twin(path):
    network, x, _ = opened(path)
    small = with_loss(quantize(network, x)[0])
    scheme = Scheme(min(2, len(trainable(small.graph))))
    program = encode(training_step(small.graph, scheme, tries=5), small)
    twin_net.register()
    net = Net(program.code, program.weights)
    net.set_rate(0.02)
    stored = as_bytes(small.quantize_input(x))
    first = net.train_step(stored[0], 1)
    assert [net.train_step(stored[0], 1) for _ in range(12)][-1] > min(first, 30000)
