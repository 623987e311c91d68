# SPDX-License-Identifier: MIT
"""Imported networks as programs of the C core, against numpy on the host, byte by byte."""

import numpy as np
import pytest
import test_net_onnx as onnx_models
import test_net_quantize as quantized
import test_net_tflite as tflite_models

from acclimate.net import Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


def from_onnx(name):
    network = import_onnx(onnx_models.NETS[name]().finish())
    shape = network.graph[network.input].shape
    samples = np.random.default_rng(1).normal(0, 1, (30, *shape))
    return quantize(network, samples)[0]


def from_tflite(name):
    return network_from_tflite(tflite_models.OPERATORS[name]().finish(), "model.tflite")


NETWORKS = {
    **{f"onnx {name}": (from_onnx, name) for name in onnx_models.NETS},
    **{f"tflite {name}": (from_tflite, name) for name in tflite_models.OPERATORS},
    "every operator": (lambda _: quantize(*quantized.seeded())[0], ""),
}


def same_outputs(network, program, count=12):
    twin_net.register()
    net, run = Net(program.code, program.weights), Int8Run(network)
    random = np.random.default_rng(2)
    x = random.integers(-128, 128, (count, *network.graph[network.input].shape)).astype(np.int8)
    for i, stored in enumerate(as_bytes(x)):
        net.predict(stored)
        wanted = run(x[i : i + 1])[network.output].transpose(0, 2, 3, 1)
        assert bytes(net.outputs()) == wanted.tobytes()
    return net, as_bytes(x)


@pytest.mark.parametrize("name", NETWORKS)
def test_program_predicts_what_numpy_computes(name):
    make, argument = NETWORKS[name]
    network = make(argument)
    same_outputs(network, encode(inference_step(network.graph), network))


@pytest.mark.parametrize(
    "name",
    ["tflite spatial", "onnx residual", "onnx channels last", "onnx signal", "every operator"],
)
def test_imported_network_trains_its_classifier(name):
    check_training(name, lambda graph: Scheme(0))


@pytest.mark.parametrize("name", ["tflite spatial", "onnx residual", "onnx tutorial"])
def test_imported_network_with_pools_trains_as_a_whole(name):
    check_training(name, full)


def check_training(name, scheme):
    make, argument = NETWORKS[name]
    network = with_loss(make(argument))
    program = encode(training_step(network.graph, scheme(network.graph)), network)
    net, inputs = same_outputs(network, program)
    net.set_rate(0.01)
    before = bytes(net.weights())
    first = [net.train_step(x, 1) for x in inputs]
    for _ in range(10):
        last = [net.train_step(x, 1) for x in inputs]
    assert bytes(net.weights()) != before and sum(last) > sum(first)


@pytest.mark.case("J5")
def test_layers_in_front_of_what_has_no_gradient_are_refused():
    net = Builder("stream", (2, 1, 4))
    y = net.window("w", net.conv("c0", net.x, 3), 3)
    graph = net.classify(net.conv("c1", y, 3), 3)
    with pytest.raises(GraphError, check=naming("c0", "window")):
        training_step(graph, Scheme(2))
    training_step(graph, Scheme(1))
