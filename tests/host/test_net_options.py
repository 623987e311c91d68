# SPDX-License-Identifier: MIT
"""What goes with training: groups, momentum, schedules, weight decay, replay, saved state."""

import re

import numpy as np
import pytest
from net_cases import RATE, sample, schemes, step_of, stored, trained_net, values_for

from acclimate.net import FloatNet, Net, NetError
from acclimate.net import interpreter as in_python
from acclimate.reservoir import Reservoir
from acclimate_host.compile.encode import encode
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


def refused(text):
    return pytest.raises(NetError, match=re.escape(text))


def trained(optimizer="plain", scheme=1, decay=0.0, is_float=False):
    """(network, program) of a small network; `decay` is weight decay."""
    twin_net.register()
    graph = trained_net(3)
    network = values_for(graph, 3)
    if is_float:
        random, values = np.random.default_rng(3), {}
        for name, tensor in graph.tensors.items():
            if tensor.kind == "frozen":
                values[name] = random.normal(0, 0.2, tensor.shape).astype(np.float32)
        network = Network(graph, values)
    if decay:
        bare = graph.nodes[-1]
        graph = graph.with_nodes(graph.nodes[:-1])
        graph = type(graph)(graph.name, graph.tensors, graph.nodes, (bare.inputs[0],))
        network = with_loss(
            Network(with_scales_of(network, graph), network.values), "cross-entropy", decay=decay
        )
    step = step_of(network.graph, schemes(network.graph)[scheme])
    return network, encode(step, network, optimizer)


def with_scales_of(network, graph):
    tensors = {name: network.graph[name] for name in graph.tensors}
    return type(graph)(graph.name, tensors, graph.nodes, graph.outputs)


def samples(network, count, seed=1):
    random = np.random.default_rng(seed)
    classes = network.graph[network.output].elements
    return [
        (stored(sample(network.graph, random)), int(random.integers(classes)))
        for _ in range(count)
    ]


@pytest.mark.case("F8")
def test_a_rate_that_was_not_set_is_told_and_not_0():
    network, program = trained()
    net, (x, label) = Net(program.code, program.weights), samples(network, 1)[0]
    with refused("rate: not set: call set_rate first"):
        net.train_step(x, label)
    with refused("rate: not set"):
        next(net.train([(x, label)]))
    net.set_rate(0)
    net.train_step(x, label)
    assert net.moved == 0
    net.set_rate(0.05)
    net.train_step(x, label)
    net.reset(program.weights)
    with refused("rate: not set"):
        net.train_step(x, label)


def test_a_rate_of_a_float_network_is_refused_where_it_is_none():
    _, program = trained(is_float=True)
    net = FloatNet(program.code, program.weights)
    with refused("rate: not set"):
        net.train_step(bytes(net.input_bytes), 0)
    for rate in (-0.1, float("nan"), float("inf"), 1 << 41, None, "a"):
        with refused("rate: expected"):
            net.set_rate(rate)
    for exponent in (0.5, None, 41, -101, 5000):
        with refused("exponent: expected"):
            net.set_rate(0.5, exponent)


def test_weights_do_not_move_inside_of_a_group():
    network, program = trained("accumulate")
    net, seen = Net(program.code, program.weights), []
    net.set_rate(*RATE)
    net.set_group(3)
    for x, label in samples(network, 7):
        net.train_step(x, label)
        seen.append(bytes(net.weights()))
    assert seen[0] == seen[1] == program.weights != seen[2]
    assert seen[2] == seen[3] == seen[4] != seen[5] == seen[6]


@pytest.mark.parametrize("is_saved", [False, True])
def test_weights_move_again_after_a_group_that_was_left_open(is_saved):
    network, program = trained("accumulate")
    net, given = Net(program.code, program.weights), samples(network, 2)
    net.set_rate(*RATE)
    net.set_group(4)
    net.train_step(*given[0])
    assert bytes(net.weights()) == program.weights
    if is_saved:
        net = Net(program.code, bytes(net.weights(optimizer=True)))
    else:
        net.set_group(1)
    net.train_step(*given[1])
    assert bytes(net.weights()) != program.weights


def test_a_group_of_float_gradients_is_their_sum():
    network, program = trained("accumulate", is_float=True)
    pairs = [
        (
            np.random.default_rng(i)
            .normal(0, 1, network.graph["x"].elements)
            .astype("<f4")
            .tobytes(),
            i,
        )
        for i in range(2)
    ]
    steps = []
    for group, given in ((1, pairs[:1]), (1, pairs[1:]), (2, pairs)):
        net = FloatNet(program.code, program.weights)
        net.set_rate(1e-3)
        net.set_group(group)
        for x, label in given:
            net.train_step(x, label)
        now, old = (np.frombuffer(bytes(w), "<f4") for w in (net.weights(), program.weights))
        steps.append(now - old)
    assert np.allclose(steps[0] + steps[1], steps[2], atol=1e-6)


@pytest.mark.parametrize("is_float", [False, True])
def test_a_rate_of_a_million_makes_a_step_of_an_ordinary_size(is_float):
    """The limit counts in `rails`; a rate below it does not meet it."""
    network, program = trained(is_float=is_float)
    kind, found = FloatNet if is_float else Net, {}
    if is_float:
        x = np.random.default_rng(1).normal(0, 1, network.graph["x"].elements)
        x = x.astype("<f4").tobytes()
    else:
        x = samples(network, 1)[0][0]
    for rate in (1e-4, 0.05, 1e6):
        net = kind(program.code, program.weights, seed=3)
        net.set_rate(rate)
        net.train_step(x, 1)
        at, size = next((at, size) for name, at, size in program.parts if name == "fc.w")
        parts = [bytes(w[at : at + size]) for w in (net.weights(), program.weights)]
        now, old = (np.frombuffer(p, "<f4" if is_float else np.int8) for p in parts)
        found[rate] = np.abs(now.astype(float) - old).max(), net.rails
    assert found[1e-4][1] == 0 < found[1e6][1]
    assert found[1e6][0] <= 4 * found[0.05][0]


def test_one_step_of_a_rate_of_a_million_leaves_most_of_what_is_known():
    datasets = pytest.importorskip("sklearn.datasets")
    neural = pytest.importorskip("sklearn.neural_network")
    x, labels = datasets.load_digits(return_X_y=True)
    model = neural.MLPClassifier((24, 16), max_iter=40, random_state=1).fit(x / 16, labels)
    rows = x.reshape(-1, 64, 1, 1) / 16
    network = with_loss(quantize(import_mlp(model), rows[:300])[0])
    scheme = Scheme(2, (("fc0", 64), ("fc1", 24)))
    program = encode(step_of(network.graph, scheme), network)
    net, found = Net(program.code, program.weights), []
    inputs = as_bytes(network.quantize_input(rows))
    pairs = list(zip(inputs, labels.tolist(), strict=True))
    before = net.evaluate(pairs[:300])
    for i in range(8):
        net.reset(program.weights, i + 1)
        net.set_rate(1e6)
        net.train_step(inputs[i], (labels[i] + i % 2) % 10)
        found.append(net.evaluate(pairs[:300]))
    assert np.mean(found) > 0.75 * before


def test_groups_and_momentum_are_for_programs_that_have_them():
    for optimizer in ("plain", "momentum16", "momentum8", "accumulate", "wide"):
        _, program = trained(optimizer, scheme=2)
        net = Net(program.code, program.weights)
        if optimizer == "accumulate":
            net.set_group(4)
            for steps in (0, -1, 2.5, "2"):
                with refused("group: expected 1 step or more"):
                    net.set_group(steps)
        else:
            with refused("--optimizer accumulate"):
                net.set_group(4)
        if optimizer in ("momentum16", "momentum8"):
            net.set_momentum(0.9)
            assert net._get(12) == 230
            net.set_momentum(1)
            assert net._get(12) == 256
            for momentum in (-0.1, 1.1, 230, float("nan")):
                with refused("momentum: expected 0 to 1"):
                    net.set_momentum(momentum)
        else:
            with refused("--optimizer momentum16"):
                net.set_momentum(0.9)


def test_a_schedule_is_asked_before_each_step():
    network, program = trained()
    asked, given = [], samples(network, 5)

    def schedule(step):
        asked.append(step)
        return 0.1 / (1 + step)

    net, other = (Net(program.code, program.weights) for _ in range(2))
    net.set_rate(schedule)
    for _ in net.train(given):
        pass
    assert asked == [0, 1, 2, 3, 4]
    for step, (x, label) in enumerate(given):
        other.set_rate(0.1 / (1 + step))
        other.train_step(x, label)
    assert bytes(net.weights()) == bytes(other.weights())
    with refused("rate: expected"):
        net.set_rate(lambda step: -1)
        net.train_step(*given[0])


def test_a_schedule_counts_groups():
    network, program = trained("accumulate")
    asked, net = [], Net(program.code, program.weights)
    net.set_rate(lambda step: asked.append(step) or 0.01)
    net.set_group(2)
    for x, label in samples(network, 5):
        net.train_step(x, label)
    assert asked == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("optimizer", ["plain", "momentum16", "momentum8", "accumulate", "wide"])
def test_with_the_optimizer_s_state_training_goes_on_as_if_never_stopped(optimizer):
    network, program = trained(optimizer)
    given, net = samples(network, 8), Net(program.code, program.weights, seed=5)
    net.set_rate(*RATE)
    for x, label in given[:4]:
        net.train_step(x, label)
    kept, bare = bytes(net.weights(optimizer=True)), bytes(net.weights())
    for x, label in given[4:]:
        net.train_step(x, label)
    again, without = Net(program.code, kept, seed=77), Net(program.code, bare, seed=77)
    assert bytes(again.weights()) == bare
    without.set_rate(*RATE)
    for x, label in given[4:]:
        again.train_step(x, label)
        without.train_step(x, label)
    assert bytes(again.weights()) == bytes(net.weights()) != bytes(without.weights())
    with refused(f"weights: expected {len(bare)} bytes, got {len(kept) - 1}"):
        again.load(kept[:-1])


class Kept:
    """A store that keeps one section in memory."""

    def save(self, weights):
        self.data = bytes(weights)
        return True

    def section(self, number):
        return 0, len(self.data)

    def readinto(self, number, at, view):
        view[:] = self.data


def test_save_takes_the_optimizer_s_state_where_it_is_asked_for():
    network, program = trained("momentum16")
    net, store = Net(program.code, program.weights), Kept()
    net.set_rate(*RATE)
    net.train_step(*samples(network, 1)[0])
    assert net.save(store) and len(store.data) == net.weights_bytes
    assert net.save(store, optimizer=True) and len(store.data) > net.weights_bytes
    again = Net(program.code, program.weights)
    again.load(store)
    assert bytes(again.weights(True)) == store.data
    again.train_step(*samples(network, 1)[0])


@pytest.mark.parametrize("optimizer", ["plain", "accumulate", "momentum16"])
def test_weight_decay_gives_the_same_bytes_in_python(optimizer):
    network, program = trained(optimizer, decay=0.2)
    assert program.field("needs") & 2
    nets = [Net(bytearray(program.code), program.weights, seed=3) for _ in range(2)]
    nets[1]._native = in_python
    for net in nets:
        net.set_rate(0.5)
        if optimizer == "accumulate":
            net.set_group(2)
    for x, label in samples(network, 4):
        shares = [net.train_step(x, label) for net in nets]
        assert shares[0] == shares[1]
        assert bytes(nets[0].weights()) == bytes(nets[1].weights())
        assert nets[0].moved == nets[1].moved


def test_weight_decay_shrinks_without_bias_and_leaves_biases():
    """Rate times decay of each weight, on average, where the gradient moves nothing."""
    network, program = trained(scheme=3, decay=0.5)
    weights = {name: (at, size) for name, at, size in program.parts}
    at, size = weights["fc.w"]
    net, total = Net(program.code, program.weights), np.zeros(size)
    first = np.frombuffer(program.weights[at : at + size], np.int8).astype(float)
    x, label = samples(network, 1)[0]
    for seed in range(1, 401):
        net.reset(program.weights, seed)
        net.set_rate(2.0**-8)
        net.train_step(x, label)
        total += np.frombuffer(bytes(net.weights()[at : at + size]), np.int8)
    bare = without_decay(network)
    plain = encode(step_of(bare.graph, Scheme(0)), bare)
    other, moved = Net(plain.code, plain.weights), np.zeros(size)
    for seed in range(1, 401):
        other.reset(plain.weights, seed)
        other.set_rate(2.0**-8)
        other.train_step(x, label)
        moved += np.frombuffer(bytes(other.weights()[at : at + size]), np.int8)
    shrunk = (moved - total) / 400
    slope = (shrunk * first).sum() / (first * first).sum()
    assert slope == pytest.approx(0.5 / 256, rel=0.25)


def without_decay(network):
    nodes = [
        type(n)(n.op, n.inputs, n.outputs, n.phase, n.writes) if n.phase == "loss" else n
        for n in network.graph.nodes
    ]
    return Network(network.graph.with_nodes(nodes), network.values)


def test_weight_decay_of_a_float_network_is_exact():
    network, program = trained(is_float=True, scheme=3, decay=0.25)
    _, plain = trained(is_float=True, scheme=3)
    found = []
    for each in (program, plain):
        net = FloatNet(each.code, each.weights)
        net.set_rate(0.01)
        net.train_step(bytes(net.input_bytes), 1)
        at, size = next((at, size) for name, at, size in each.parts if name == "fc.w")
        found.append(np.frombuffer(bytes(net.weights()[at : at + size]), "<f4"))
    assert np.allclose(found[0], found[1] * (1 - 0.01 * 0.25), rtol=1e-6)
    for decay in (-0.1, 1.5, float("nan")):
        with pytest.raises(GraphError, match="weight decay: expected 0 to 1"):
            with_loss(network, decay=decay)


def test_replay_mixes_old_rows_in():
    network, program = trained()
    given, old = samples(network, 4), samples(network, 6, seed=9)
    store = Reservoir(4, len(given[0][0]), seed=2)
    for x, label in old[:4]:
        store.offer(x, label, 0)
    net, other = (Net(program.code, program.weights) for _ in range(2))
    net.set_rate(*RATE)
    other.set_rate(*RATE)
    assert list(net.train(given, replay=store, old=2)) == [1, 2, 3, 4]
    again, row = Reservoir(4, len(given[0][0]), seed=2), bytearray(len(given[0][0]))
    for x, label in old[:4]:
        again.offer(x, label, 0)
    for x, label in given:
        other.train_step(x, label)
        for _ in range(2):
            place = again.draw(row)
            other.train_step(row, again.predictions[place])
    assert bytes(net.weights()) == bytes(other.weights())


def test_an_empty_store_changes_nothing_and_a_wrong_one_is_refused():
    network, program = trained()
    given = samples(network, 3)
    net, other = (Net(program.code, program.weights) for _ in range(2))
    for each, store in ((net, Reservoir(4, len(given[0][0]))), (other, None)):
        each.set_rate(*RATE)
        for _ in each.train(given, replay=store):
            pass
    assert bytes(net.weights()) == bytes(other.weights())
    with refused("replay: expected classes, and rows of"):
        next(net.train(given, replay=Reservoir(4, 3)))
    with pytest.raises(ValueError, match="no row to draw"):
        Reservoir(4, 3).draw(bytearray(3))


@pytest.mark.case("F15")
@pytest.mark.parametrize("is_float", [False, True])
def test_values_and_buffers_of_another_length_are_refused(is_float):
    _, program = trained(is_float=is_float)
    net = (FloatNet if is_float else Net)(program.code, program.weights)
    count = net.input_bytes // (4 if is_float else 1)
    buffer = bytearray(net.input_bytes)
    for values, out in (
        ([0.1] * (count - 1), buffer),
        ([0.1] * (count + 1), buffer),
        ([0.1] * count, buffer[:-1]),
        ([], buffer),
    ):
        with refused(f"values: expected {count} into {net.input_bytes} bytes, got"):
            net.quantize(values, out)
    for bad in (float("nan"), float("inf")):
        with refused("values: number 1 is"):
            net.quantize([0.1, bad] + [0.1] * (count - 2), buffer)
    assert net.quantize([0.1] * count, buffer) is buffer
