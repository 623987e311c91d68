# SPDX-License-Identifier: MIT
"""Losses beside cross-entropy: the same bytes everywhere, and gradients those of float64."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from net_cases import OPTIMIZERS, RATE, sample, step_of, stored, values_for
from net_integers import Step
from test_net_onnx import Model

from acclimate.net import FloatNet, Net, NetError
from acclimate.net import interpreter as in_python
from acclimate_host.cli import main
from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import HEADER
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.losses import (
    LOSSES,
    SIGMOID_NOTE,
    SOFTMAX_NOTE,
    huber_limit,
    with_loss,
)
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.twin import net as twin_net

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
KINDS = [("binary", None), ("mse", None), ("huber", None), ("mse", "input"), ("huber", "input")]


def refused(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def graph_of(outputs=3, end="dense"):
    net = Builder("losses", (2, 4, 3))
    y = net.conv("c0", net.x, 6, kernel=3, stride=2)
    if end == "lookup":
        return net.finish(net.lookup("s", net.dense("fc", y, outputs), "sigmoid"))
    return net.finish(net.dense("fc", y, outputs))


def target_of(loss, outputs, random):
    if loss == "binary":
        return random.integers(0, 2, outputs).tolist()
    return random.normal(0, 2, outputs).tolist()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("loss, target", KINDS)
def test_core_python_and_reference_agree_on_every_byte(loss, target, optimizer):
    twin_net.register()
    outputs = 24 if target else 5
    network = with_loss(values_for(graph_of(outputs), 7), loss, target, delta=0.4)
    step = step_of(network.graph, full(network.graph))
    program = encode(step, network, optimizer)
    nets = [Net(bytearray(program.code), program.weights, seed=9) for _ in range(2)]
    nets[1]._native = in_python
    reference, random = Step(step, network, RATE, 9, optimizer), np.random.default_rng(4)
    for net in nets:
        net.set_rate(*RATE)
    for _ in range(3):
        x = sample(network.graph, random)
        wanted = None if target else target_of(loss, outputs, random)
        share = reference(x, wanted)
        assert [net.train_step(stored(x), wanted) for net in nets] == [share, share]
        assert nets[0].loss() == nets[1].loss()
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    trained = encode(step, replace(network, values=values), optimizer).weights
    assert [bytes(net.weights()) for net in nets] == [trained, trained]
    assert nets[0].moved == reference.moved > 0


def real_loss(loss, y, t, delta):
    """(mean loss, gradient) in float64, as the field defines them."""
    d = y - t
    if loss == "binary":
        p = 1 / (1 + np.exp(-y))
        return -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean(), (p - t) / y.size
    if loss == "mse":
        return (d**2).mean(), 2 * d / y.size
    inside = np.abs(d) <= delta
    each = np.where(inside, d**2 / 2, delta * (np.abs(d) - delta / 2))
    return each.mean(), np.clip(d, -delta, delta) / y.size


def gradient_of(program, net, network):
    """The gradient of the outputs as a step left it, in real units."""
    name = network.output + ".g"
    at, n = program.layout.offsets[name], network.graph[network.output].elements
    stored_ = np.frombuffer(bytes(net._arena[at : at + n]), np.int8).astype(float)
    exponent = int.from_bytes(bytes(net._arena[net._state + 36 : net._state + 38]), "little")
    return stored_ * 2.0 ** (exponent - 65536 if exponent > 32767 else exponent)


@pytest.mark.parametrize("loss, target", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_gradient_and_loss_are_those_of_float64(loss, target, seed):
    outputs = 24 if target else 7
    network = with_loss(values_for(graph_of(outputs), seed), loss, target, delta=0.7)
    options = Options(in_place=False)
    program = encode(training_step(network.graph, Scheme(0), options), network)
    net, random = Net(program.code, program.weights), np.random.default_rng(seed)
    net.set_rate(0)
    x = sample(network.graph, random)
    wanted = None if target else target_of(loss, outputs, random)
    net.train_step(stored(x), wanted)
    y = np.array(net.real_outputs())
    if target:
        tensor = network.graph["x"]
        t = ((x.transpose(1, 2, 0).ravel() - float(tensor.zero_point)) * tensor.scale).ravel()
    else:
        t = np.array(wanted, float)
    value, gradient = real_loss(loss, y, t, 0.7)
    found = gradient_of(program, net, network)
    assert np.abs(found - gradient).max() <= np.abs(gradient).max() / 127 + 1e-3
    assert net.loss() == pytest.approx(value, rel=0.02, abs=1e-3)
    mean = net.evaluate([(stored(x), wanted)])
    assert mean == pytest.approx(value, rel=0.02 if target else 0.005)


@pytest.mark.parametrize("loss, target", KINDS)
def test_float32_is_close_to_float64(loss, target):
    outputs = 24 if target else 5
    graph, random = graph_of(outputs), np.random.default_rng(3)
    values = {
        name: random.normal(0, 0.4, t.shape).astype(np.float32)
        for name, t in graph.tensors.items()
        if t.kind == "frozen"
    }
    network = with_loss(Network(graph, values), loss, target, delta=0.3)
    program = encode(training_step(network.graph, Scheme(0)), network)
    net = FloatNet(program.code, program.weights)
    x = random.normal(0, 1, graph["x"].shape).astype(np.float32)
    wanted = None if target else target_of(loss, outputs, random)
    given = as_bytes(x[None])[0]
    net.predict(given)
    y = np.array(net.real_outputs())
    t = x.transpose(1, 2, 0).ravel() if target else np.array(wanted, float)
    value, gradient = real_loss(loss, y, t, 0.3)
    net.set_rate(0.01)
    net.train_step(given, wanted)
    assert net.loss() == pytest.approx(value, rel=1e-3)
    assert net.evaluate([(given, wanted)]) < value
    at = next(at for name, at, _ in program.parts if name == "fc.b")
    bias = np.frombuffer(bytes(net.weights()[at : at + 4 * outputs]), np.float32)
    assert np.allclose(bias, values["fc.b"] - 0.01 * gradient, atol=1e-5)


def test_regression_with_one_output_learns_and_beats_the_mean():
    """Six readings, one number that depends on them and on the place where the board stands."""
    random = np.random.default_rng(1)
    x = random.normal(0, 1, (700, 6, 1, 1))
    t = np.tanh(x[:, 0, 0, 0]) + 0.5 * x[:, 1, 0, 0] * (x[:, 2, 0, 0] > 0) + 1.0
    net = Builder("one", (6, 1, 1))
    graph = net.finish(net.dense("fc", net.conv("c0", net.x, 24, limit=math.inf), 1))
    spread = {"c0.w": 0.5, "c0.b": 0.3, "fc.w": 0.2, "fc.b": 0.0}
    values = {
        n: random.normal(0, spread[n] + 1e-3, graph[n].shape).astype(np.float32) for n in spread
    }
    network = with_loss(quantize(Network(graph, values), x[:300])[0], "huber", delta=0.5)
    program = encode(training_step(network.graph, Scheme(1, (("c0", 6),))), network, "wide")
    net = Net(program.code, program.weights)
    net.set_rate(0.05)
    inputs = [bytearray(part) for part in as_bytes(network.quantize_input(x))]
    pairs = list(zip(inputs, t.tolist(), strict=True))
    before = net.evaluate(pairs[600:])
    for _ in range(4):
        for _ in net.train(pairs[:600]):
            pass
    net.predict(pairs[600][0])
    assert len(net.real_outputs()) == 1
    errors = []
    for given, wanted in pairs[600:]:
        net.predict(given)
        errors.append(net.real_outputs()[0] - wanted)
    assert np.mean(np.square(errors)) < 0.35 * np.var(t[600:])
    assert net.evaluate(pairs[600:]) < 0.3 * before


def autoencoder(target, samples):
    """A network of 16 readings over 4, trained by nobody yet."""
    random = np.random.default_rng(2)
    net = Builder("ae", (16, 1, 1))
    y = net.conv("c0", net.x, 8, relu=False)
    graph = net.finish(net.dense("fc", net.conv("c1", y, 8, limit=math.inf), 16))
    values = {
        name: random.normal(0, 0.3, t.shape).astype(np.float32)
        for name, t in graph.tensors.items()
        if t.kind == "frozen"
    }
    small, _ = quantize(Network(graph, values), samples)
    return with_loss(small, "mse", target)


def machine(count, broken, random):
    """Readings of a machine: two modes and noise; a broken one has another third mode."""
    phase = random.uniform(0, 6.28, (count, 1))
    shape = np.sin(np.arange(16) / 2.5 + phase) + random.normal(0, 0.05, (count, 16))
    shape[:, 5:9] += 0.8 * broken * np.sign(random.normal(size=(count, 1)))
    return shape.reshape(count, 16, 1, 1)


def test_an_autoencoder_learns_what_is_normal_and_scores_what_is_not():
    random = np.random.default_rng(5)
    normal, test = machine(500, 0, random), machine(100, 0, random)
    broken = machine(100, 1, random)
    network = autoencoder("input", normal)
    scheme = Scheme(2, (("c0", 16), ("c1", 8)))
    program = encode(training_step(network.graph, scheme), network, "wide")
    net = Net(program.code, program.weights)
    net.set_rate(0.3)
    lists = [as_bytes(network.quantize_input(x)) for x in (normal, test, broken)]
    before = np.mean([net.anomaly_score(x) for x in lists[1]])
    for _ in range(6):
        for x in lists[0]:
            net.train_step(x)
    scores = [np.array([net.anomaly_score(x) for x in xs]) for xs in lists[1:]]
    assert scores[0].mean() < before / 3
    ranks = (scores[1][:, None] > scores[0][None]).mean()
    assert ranks > 0.95  # the area under the curve
    stored_ = np.array([net.evaluate([(x, None)]) for x in lists[1]])
    assert np.allclose(stored_, scores[0], rtol=0.2, atol=1e-3)


def test_targets_are_refused_by_number_and_never_cut():
    network = with_loss(values_for(graph_of(3), 1), "mse")
    program = encode(step_of(network.graph, Scheme(0)), network)
    net, x = Net(program.code, program.weights), bytearray(24)
    net.set_rate(0.01)
    before = bytes(net.weights())
    for bad, text in (
        ([1, 2], "expected 3 numbers, got 2"),
        (1.0, "expected 3 numbers, got 1"),
        (None, "expected 3 numbers, got 0"),
        ([0, math.nan, 0], "number 1 is nan"),
        ([0, 0, 1e9], "number 2 is 1000000000.0; expected"),
        ([math.inf, 0, 0], "number 0 is inf"),
    ):
        with refused(NetError, text):
            net.train_step(x, bad)
    assert bytes(net.weights()) == before
    binary = with_loss(values_for(graph_of(3), 1), "binary")
    program = encode(step_of(binary.graph, Scheme(0)), binary)
    net = Net(program.code, program.weights)
    net.set_rate(0.01)
    for bad in ([0, 2, 1], [0, 0.5, 1], [0, -1, 1], [0, math.nan, 1]):
        with refused(NetError, "expected 0 or 1"):
            net.train_step(x, bad)
    net.train_step(x, [True, False, True])


def test_an_autoencoder_takes_no_target_and_a_classifier_needs_a_label():
    network = with_loss(values_for(graph_of(24), 1), "mse", "input")
    program = encode(step_of(network.graph, Scheme(0)), network)
    net = Net(program.code, program.weights)
    net.set_rate(0.01)
    with refused(NetError, "learns its input"):
        net.train_step(bytearray(24), [0] * 24)
    network = with_loss(values_for(graph_of(3), 1))
    program = encode(step_of(network.graph, Scheme(0)), network)
    net = Net(program.code, program.weights)
    net.set_rate(0.01)
    with refused(NetError, "label: expected 0 to 2, got None"):
        net.train_step(bytearray(24))
    share = net.train_step(bytearray(24), 2)
    assert net.loss() == pytest.approx(-math.log(share / 32768))
    with refused(NetError, "24 inputs, 3 outputs"):
        net.anomaly_score(bytearray(24))


def test_targets_and_the_input_stay_until_the_loss_in_any_arena():
    """Fused, in place, patched, the input in the arena: the same bytes as without."""
    for loss, target, outputs in (("mse", "input", 24), ("binary", None, 5)):
        network = with_loss(values_for(graph_of(outputs), 3), loss, target)
        found = []
        for options in (Options(), Options(input_in_arena=True), Options(in_place=False)):
            step = training_step(network.graph, full(network.graph), options)
            program = encode(step, network)
            net, random = Net(program.code, program.weights), np.random.default_rng(1)
            net.set_rate(*RATE)
            for _ in range(3):
                wanted = None if target else target_of(loss, outputs, random)
                net.train_step(stored(sample(network.graph, random)), wanted)
            found.append(bytes(net.weights()))
        assert found[0] == found[1] == found[2] != program.weights


def test_a_sigmoid_at_the_end_belongs_to_the_binary_loss():
    network = values_for(graph_of(3, "lookup"), 1)
    cut = with_loss(network, "binary")
    assert cut.output == "fc.y" and SIGMOID_NOTE in cut.notes
    assert "s.table" not in cut.values
    assert with_loss(network, "mse").notes == network.notes  # its table has a gradient
    with refused(GraphError, "made by lookup"):
        with_loss(network, "cross-entropy")


def test_losses_that_do_not_fit_are_refused():
    one, many = values_for(graph_of(1), 1), values_for(graph_of(3), 1)
    with refused(GraphError, "name mse, huber or binary"):
        with_loss(one)
    with refused(GraphError, "expected the loss mse or huber, got none"):
        with_loss(many, None, "input")
    with refused(GraphError, "expected the loss mse or huber, got binary"):
        with_loss(many, "binary", "input")
    with refused(GraphError, "3 outputs for 24 inputs"):
        with_loss(many, "mse", "input")
    with refused(GraphError, "target: expected input or none, got 'output'"):
        with_loss(many, "mse", "output")
    for delta in (0, -1, math.inf, math.nan):
        with refused(GraphError, "delta: expected a number above 0"):
            with_loss(many, "huber", delta=delta)
    for delta in (1e-6, 1e6):
        with refused(GraphError, "for these outputs"):
            with_loss(many, "huber", delta=delta)
    softmax = replace(many, notes=(SOFTMAX_NOTE,))
    for loss in ("binary", "mse", "huber"):
        with refused(GraphError, "ends in a softmax"):
            with_loss(softmax, loss)
    narrow = values_for(graph_of(24), 1)
    tensors = dict(narrow.graph.tensors)
    tensors["fc.y"] = replace(tensors["fc.y"], scale=1e-4)
    narrow = replace(narrow, graph=replace(narrow.graph, tensors=tensors))
    narrow = with_loss(narrow, "mse", "input")
    with refused(GraphError, "below 1/16 of the input's"):
        encode(training_step(narrow.graph, Scheme(0)), narrow)


def test_a_loss_is_guessed_only_where_there_is_one():
    like_its_input = values_for(graph_of(24), 1)
    with refused(GraphError, "24 outputs for 24 inputs, and no softmax: it may give back"):
        with_loss(like_its_input)
    classes = replace(like_its_input, notes=(SOFTMAX_NOTE,))
    for network in (classes, values_for(graph_of(3), 1), values_for(graph_of(2), 1)):
        assert with_loss(network).graph.nodes[-1].op == "softmax_loss"
    assert with_loss(like_its_input, "cross-entropy").graph.nodes[-1].op == "softmax_loss"
    net = Builder("number", (1, 1, 1))
    number = values_for(net.finish(net.dense("fc", net.x, 1)), 1)
    with refused(GraphError, "one output; a softmax needs two or more"):
        with_loss(number)


def test_a_network_with_a_loss_keeps_it():
    network = with_loss(values_for(graph_of(3), 1), "huber", delta=0.4)
    assert with_loss(network) is network and with_loss(network, "mse") is network


@pytest.mark.parametrize("decay", [-0.01, 1.01, math.nan, math.inf])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_decay_is_a_share(loss, decay):
    network = values_for(graph_of(3), 1)
    with refused(GraphError, f"weight decay: expected 0 to 1, got {decay}"):
        with_loss(network, loss, decay=decay)
    for good in (0, 0.5, 1):
        attrs = with_loss(network, loss, decay=good).graph.nodes[-1].attrs
        assert attrs.get("decay", 0) == good and ("decay" in attrs) == (good > 0)


def test_the_end_of_huber_s_square_is_kept_in_sixteenths_of_a_step():
    y = replace(values_for(graph_of(3), 1).graph["fc.y"], scale=0.05)
    assert huber_limit(y, math.inf) == 65535
    assert [huber_limit(y, delta) for delta in (0.05, 0.4, 1.0)] == [16, 128, 320]
    assert huber_limit(y, 0.6 * 0.05 / 16) == 1 and huber_limit(y, 0.05 * 65534 / 16) == 65534
    for delta in (0.4 * 0.05 / 16, 0.05 * 65535 / 16):
        with refused(GraphError, "delta: expected 0.003125 to 204.794 for these outputs"):
            huber_limit(y, delta)


def test_a_float_network_has_any_delta():
    graph = graph_of(3)
    values = {n: np.zeros(t.shape, "f4") for n, t in graph.tensors.items() if t.kind == "frozen"}
    for delta in (1e-6, 1e6):
        attrs = with_loss(Network(graph, values), "huber", delta=delta).graph.nodes[-1].attrs
        assert (attrs["delta"], attrs["factor"]) == (delta, 1.0)


def test_another_function_at_the_end_is_none_of_the_binary_loss():
    net = Builder("bent", (2, 4, 3))
    graph = net.finish(net.lookup("s", net.dense("fc", net.x, 3), "tanh"))
    with refused(GraphError, "its output is made by lookup; a loss needs a layer's"):
        with_loss(values_for(graph, 1), "binary")
    assert with_loss(values_for(graph, 1), "huber").output == "s.y"
    plain = values_for(graph_of(3), 1)
    assert with_loss(plain, "binary").notes == plain.notes


def test_a_program_that_only_predicts_needs_no_rare_module():
    network = values_for(graph_of(3), 1)
    assert encode(inference_step(network.graph), network).field("needs") == 0
    for loss, needs in (("cross-entropy", 0), ("mse", 6), ("binary", 6)):
        trained = with_loss(network, loss)
        step = training_step(trained.graph, Scheme(0))
        assert encode(step, trained).field("needs") & ~1 == needs


@pytest.mark.parametrize("loss", LOSSES)
def test_the_command_takes_each_loss(loss, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    net = Model((8, 1, 1))
    net.op("Flatten", net.last)
    net.dense(8, 8)
    onnx.save(net.finish(), "net.onnx")
    np.save("x.npy", np.random.default_rng(1).normal(0, 1, (20, 8, 1, 1)))
    words = ["compile", "net.onnx", "--samples", "x.npy", "--loss", loss]
    assert main(words) == 0
    if loss in ("mse", "huber"):
        assert main([*words, "--target", "input", "--delta", "0.5"]) == 0
        net = Net((tmp_path / "net_program").read_bytes(), (tmp_path / "net_weights").read_bytes())
        net.set_rate(0.1)
        net.train_step(bytes(range(8)))
        assert net.loss() > 0
    else:
        assert main([*words, "--target", "input"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize("loss", ["binary", "mse"])
def test_a_target_outside_of_the_arena_is_damaged(loss):
    """Found when the program is opened, before anything is stored there."""
    twin_net.register()
    network = with_loss(values_for(graph_of(90), 7), loss)
    program = encode(training_step(network.graph, full(network.graph)), network)
    code = bytearray(program.code)
    at = HEADER.bytes + program.field("forward") + 1
    for _ in range(4):  # x n g slot
        while code[at] > 127:
            at += 1
        at += 1
    assert code[at] > 127  # two bytes
    code[at : at + 2] = b"\xfe\x7f"
    with pytest.raises(NetError, match="damaged"):
        Net(code, program.weights, check=False)
