# SPDX-License-Identifier: MIT
"""What a file does not say is asked for, and what does not fit is refused or rescaled by layer."""

import numpy as np
import pytest
from test_net_onnx import Model, quantized_by_onnxruntime, samples
from tflite_writer import Writer

from acclimate.net import Net
from acclimate_host.cli import main
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.importing import ModelImportError
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.mlperf_tiny import network_graph
from acclimate_host.model.seeded import seeded_network
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net

onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize("labels", [[0, 2, 5], ["a", "b", "c"], [1, 2, 3], [-1, 1], [3, 7]])
def test_labels_that_a_board_does_not_answer_are_refused(labels):
    neural = pytest.importorskip("sklearn.neural_network")
    x = np.random.default_rng(0).normal(size=(60, 4))
    y = np.array([labels[i % len(labels)] for i in range(60)])
    model = neural.MLPClassifier((6,), max_iter=30).fit(x, y.astype(str) if "a" in labels else y)
    with pytest.raises(ModelImportError, match=f"0 to {len(labels) - 1}"):
        import_mlp(model)


@pytest.mark.parametrize("labels", [[0, 1, 2], [False, True], [0.0, 1.0]])
def test_labels_from_zero_on_are_taken(labels):
    neural = pytest.importorskip("sklearn.neural_network")
    x = np.random.default_rng(0).normal(size=(60, 4))
    y = np.array([labels[i % len(labels)] for i in range(60)])
    if y.dtype.kind == "f":
        y = y.astype(int).astype(float)
    network = import_mlp(neural.MLPClassifier((6,), max_iter=30).fit(x, y))
    assert network.graph[network.output].elements == max(2, len(labels))


def test_an_autoencoder_gets_no_softmax_by_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    network = seeded_network(network_graph("autoencoder"))
    with pytest.raises(GraphError, match="640 outputs for 640 inputs"):
        with_loss(network)
    assert with_loss(network, "cross-entropy").graph.outputs[1] == "loss"
    with pytest.raises(GraphError, match="cross-entropy"):
        with_loss(network, "hinge")
    net = Model((8, 1, 1))
    net.op("Flatten", net.last)
    net.dense(3, 8)
    onnx.save(net.finish(), "plain.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, 8, 1, 1)))
    words = ["compile", "plain.onnx", "--samples", "x.npy"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "--loss" in error and error.count("\n") == 1
    assert main([*words, "--predict-only"]) == 0
    assert main([*words, "--loss", "cross-entropy"]) == 0


def head(form):
    """A network whose classifier is a convolution, alone or under a pool."""
    net = Builder("head", (3, 8, 8))
    y = net.conv("c1", net.conv("c0", net.x, 8, 3, 2), 12, relu=form == "relu")
    if form == "pooled":
        return net.finish(net.pool("p", net.conv("c2", y, 4, relu=False)))
    return net.finish(net.conv("c2", net.pool("p", y), 4, relu=False))


@pytest.mark.case("F17")
@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built: make twin")
@pytest.mark.parametrize("form", ["plain", "pooled", "relu"])
@pytest.mark.parametrize("biases", [0, 2])
def test_a_convolution_at_the_end_is_the_classifier(form, biases):
    network = with_loss(seeded_network(head(form)))
    program = encode(training_step(network.graph, Scheme(biases)), network)
    names = {name for name, _, _ in program.parts}
    assert {"c2.w", "c2.b"} <= names and len(program.weights) >= 4 * 12
    twin_net.register()
    net = Net(program.code, program.weights)
    net.set_rate(1.0)
    x = bytes(range(net.input_bytes))
    shares = [net.train_step(x, 0) for _ in range(30)]  # an output that is at no limit
    assert net.moved > 0 and shares[-1] > shares[0]
    assert extra_memory(network.graph, Scheme(1)).total_bytes > 0


def test_a_network_without_weights_trains_nothing_and_says_so():
    net = Builder("bare", (4, 2, 2))
    network = with_loss(seeded_network(net.finish(net.pool("p", net.x))))
    with pytest.raises(GraphError, match="nothing would be trained"):
        training_step(network.graph, Scheme(0))


@pytest.mark.case("F14")
@pytest.mark.parametrize("tiny, bias", [(1e-6, 5.0), (1e-8, -3.0), (3e-5, 40.0)])
def test_a_channel_of_tiny_weights_keeps_its_bias(tiny, bias, tmp_path):
    """onnxruntime#22020: the bias is beyond int32 in steps of the channel's own scale."""
    from onnxruntime import quantization as q

    net = Model((3, 6, 6))
    weight = np.random.default_rng(3).normal(0, 0.2, (4, 3, 3, 3)).astype(np.float32)
    weight[1] *= tiny / np.abs(weight[1]).max()
    real = np.array([0.1, bias, -0.2, 0.3], np.float32)
    net.op("Conv", "x", weight, real, kernel_shape=(3, 3))
    given = samples(net.shape, 20)
    model = quantized_by_onnxruntime(net.finish(), given, tmp_path, q.QuantType.QInt8)
    network = import_onnx(model)
    stored = Int8Run(network).predict(network.quantize_input(given))
    got = np.asarray(network.real_output(stored)).reshape(len(given), 4, -1)[:, 1]
    step = network.graph[network.output].scale
    assert np.abs(got - bias).max() <= 1.01 * step
    tells = any("tiny weights" in note for note in network.notes)
    assert tells == (abs(bias) / (tiny / 127 * network.graph["x"].scale) > 2**29)


@pytest.mark.parametrize("softmax", [False, True])
def test_float_input_and_output_of_an_int8_file_are_left_out(softmax):
    plain = network_from_tflite(tflite_model(False, softmax))
    network = network_from_tflite(tflite_model(True, softmax))
    assert [n.op for n in network.graph.nodes] == [n.op for n in plain.graph.nodes] == ["dense"]
    assert network.graph[network.input] == plain.graph[plain.input]
    assert network.graph[network.output].scale == plain.graph[plain.output].scale
    text = " ".join(network.notes)
    assert "input is float32" in text and "output is float32" in text
    assert ("softmax" in text) == softmax


def tflite_model(float_ends, softmax, within=False):
    net = Writer((1, 10))
    if float_ends:
        net.from_float()
    net.layer("FULLY_CONNECTED", (5, 10), (1, 5), 3.0, 2, 0, "FullyConnectedOptions")
    if within:
        net.to_float()
        net.op("RELU", [net.last], (1, 5), 3.0, 2)
    if softmax:
        net.op("SOFTMAX", [net.last], (1, 5), 1 / 256, -128, "SoftmaxOptions", beta=1.0)
    if float_ends:
        net.to_float()
    return net.finish()


def test_floats_within_a_network_are_still_refused():
    with pytest.raises(ModelImportError, match="DEQUANTIZE within the network"):
        network_from_tflite(tflite_model(True, False, within=True))
