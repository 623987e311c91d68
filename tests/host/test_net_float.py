# SPDX-License-Identifier: MIT
"""Float32 programs in the C core against float64 with numpy."""

import net_reference
import numpy as np
import pytest
from net_cases import pooled_net, schemes, step_of, trained_net

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.connect import package
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.network import Network
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import full

RATE = net_reference.RATE


@pytest.fixture(scope="module")
def net_class():
    if not built("twin", "libacclimate_net.so").exists():
        pytest.skip("twin of _net is not built; run: make twin")
    from acclimate.net import FloatNet
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    return FloatNet


def unlimited(graph):
    """The reference clamps layers without ReLU; boards do not in float32: all get one here."""
    for node in graph.nodes:
        if node.op == "conv":
            node.attrs["relu"] = True
    return graph


def as_bytes(x):
    return bytearray(np.ascontiguousarray(np.transpose(x, (1, 2, 0))).astype("<f4").tobytes())


def parts_of(step, network, values, like):
    """The weights section of a network with other values."""
    full = {}
    for name, value in network.values.items():
        part = values.get(name + "t")
        if part is not None:
            axis = 0 if part.shape[1] == 1 and values[name].shape[1] == 1 else 1
            value = np.concatenate([part, values[name]], axis=axis)
        else:
            value = values[name]
        full[name] = value.astype(np.float32)
    return np.frombuffer(encode(step, Network(network.graph, full), like).weights, "<f4")


@pytest.mark.parametrize("seed", range(6))
def test_a_float_step_is_that_of_the_reference(net_class, seed):
    graph = unlimited(trained_net(seed, square=True))
    check_step(net_class, graph, schemes(graph)[seed % 4], seed)


@pytest.mark.parametrize("seed", range(6))
def test_a_float_step_goes_through_pools(net_class, seed):
    graph = unlimited(pooled_net(seed, square=True))
    check_step(net_class, graph, full(graph), seed)


def check_step(net_class, graph, scheme, seed):
    values = net_reference.parameters(graph, seed)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    step = step_of(graph, scheme, fuse_forward=seed % 2 == 0, in_place=seed % 3 > 0)
    program = encode(step, network)
    net = net_class(bytearray(program.code), program.weights)
    net.set_rate(RATE)
    x = np.random.default_rng(seed).normal(0, 1, graph["x"].shape)
    run_values = net_reference.split(step.graph, values)
    run_values.update(x=x, label=np.array(1))
    before = np.frombuffer(bytes(net.weights()), "<f4")
    net.train_step(as_bytes(x), 1)
    net_reference.Run(step.graph, run_values)
    wanted = parts_of(step, network, run_values, "plain")
    found = np.frombuffer(bytes(net.weights()), "<f4")
    moved = np.abs(wanted - before).max()
    assert moved > 1e-4
    assert np.abs(found - wanted).max() < 1e-4 * max(1, moved)
    logits = np.frombuffer(bytes(net.outputs()), "<f4")
    assert np.abs(logits - run_values["fc.y"].ravel()).max() < 1e-4


@pytest.mark.case("H8")
def test_a_loss_that_is_not_finite_keeps_the_weights(net_class):
    from acclimate.net import NetError

    graph = unlimited(trained_net(0))
    values = net_reference.parameters(graph, 0)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    program = encode(step_of(graph, schemes(graph)[0]), network)
    net = net_class(bytearray(program.code), program.weights)
    net.set_rate(0.1)
    x = np.full(graph["x"].shape, np.nan)
    with pytest.raises(NetError, match="not finite"):
        net.train_step(as_bytes(x), 0)
    assert bytes(net.weights()) == program.weights


def test_momentum_and_accumulation_in_float(net_class):
    graph = unlimited(trained_net(2))
    values = net_reference.parameters(graph, 2)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    x = as_bytes(np.random.default_rng(0).normal(0, 1, graph["x"].shape))
    moved = {}
    for optimizer in ("plain", "momentum16", "accumulate"):
        program = encode(step_of(graph, schemes(graph)[1]), network, optimizer)
        net = net_class(bytearray(program.code), program.weights)
        net.set_rate(1e-4)
        if optimizer == "momentum16":
            net.set_momentum(1)
        for last in (0, 1):
            net._put(16, last if optimizer == "accumulate" else 1)
            net.train_step(x, 1)
        found = np.frombuffer(bytes(net.weights()), "<f4").astype(np.float64)
        moved[optimizer] = found - np.frombuffer(program.weights, "<f4")
    scale = np.abs(moved["plain"]).max()
    # Two equal steps: 1 + 1, with full momentum 1 + 2, gathered 2 at once.
    assert np.abs(moved["momentum16"] - 1.5 * moved["plain"]).max() < 0.05 * scale
    assert np.abs(moved["accumulate"] - moved["plain"]).max() < 0.05 * scale


def test_tables_are_refused_in_float():
    """A function such as GELU, in a network that was imported and not quantized."""
    net = Builder("table", (2, 3, 1))
    graph = net.finish(net.dense("fc", net.lookup("t", net.x, "gelu"), 2))
    values = {"fc.w": np.zeros((2, 2, 3, 1), np.float32), "fc.b": np.zeros(2, np.float32)}
    with pytest.raises(GraphError, match="t: float32 programs have no tables; quantize"):
        encode(inference_step(graph), Network(graph, values))


def test_sixteen_bit_weights_are_refused_in_float():
    graph = unlimited(trained_net(2))
    values = net_reference.parameters(graph, 2)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    with pytest.raises(GraphError, match="wide"):
        encode(step_of(graph, schemes(graph)[1]), network, "wide")


def test_all_float32_modules_come_along_with_the_extra_and_not_with_the_room():
    modules = {"_net_float32", "_net_f32", "_net_f32_train", "_net_f32_rare"}
    files = {name + ".mpy" for name in modules}
    assert files <= package.build("armv7emsp", ["net", "net.float32"]).keys()
    assert files.isdisjoint(package.build("armv7emsp", ["net"]))
