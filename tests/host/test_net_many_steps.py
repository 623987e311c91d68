# SPDX-License-Identifier: MIT
"""Several training steps of every optimizer against float64: momentum, groups and weight decay.

The reference knows the rules as docs/training.md has them, and gets its gradients by differences
of the loss.
"""

import math

import numpy as np
import pytest

from acclimate.net import FloatNet, Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import full
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
STEPS, GROUP, MOMENTUM, SEEDS = 8, 4, 0.75, 150
SHAPES = {"c0.w": (3, 2, 3, 3), "c0.b": (3,), "fc.w": (3, 3, 4, 4), "fc.b": (3,)}
OPTIMIZERS = ("plain", "momentum16", "momentum8", "accumulate", "wide")


def network_of(seed):
    net = Builder("steps", (2, 6, 6))
    y = net.conv("c0", net.x, 3, 3, pad=0, limit=math.inf)
    random = np.random.default_rng(seed)
    values = {
        name: random.normal(0, 1.2 / math.sqrt(math.prod(shape[1:])), shape).astype(np.float32)
        for name, shape in SHAPES.items()
    }
    return Network(net.finish(net.dense("fc", y, 3)), values)


def loss(values, x, label):
    """Cross-entropy of one sample; all of it in float64."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))
    hidden = np.einsum("ihwkl,oikl->ohw", windows, values["c0.w"])
    hidden = np.maximum(hidden + values["c0.b"][:, None, None], 0)
    scores = np.einsum("ihw,oihw->o", hidden, values["fc.w"]) + values["fc.b"]
    return np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[label]


def gradients(values, x, label, small=1e-5):
    found = {}
    for name, value in values.items():
        slope = found[name] = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                value[at] += sign * small
                ends.append(loss(values, x, label))
                value[at] -= sign * small
            slope[at] = (ends[0] - ends[1]) / (2 * small)
    return found


def reference(values, pairs, optimizer, rate, decay):
    """Return the values after a step for each pair, by the rules of docs/training.md."""
    values = {name: value.astype(np.float64).copy() for name, value in values.items()}
    kept = {name: np.zeros_like(value) for name, value in values.items()}
    for number, (x, label) in enumerate(pairs, 1):
        for name, slope in gradients(values, x, label).items():
            step = rate * slope
            if optimizer.startswith("momentum"):
                step = kept[name] = MOMENTUM * kept[name] + step
            elif optimizer == "accumulate":
                kept[name] += step
                if number % GROUP:
                    continue
                step, kept[name] = kept[name], np.zeros_like(step)
            values[name] -= step
            if name.endswith(".w"):
                values[name] -= rate * decay * values[name]
    return values


def options(net, optimizer, rate):
    net.set_rate(rate)
    if optimizer.startswith("momentum"):
        net.set_momentum(MOMENTUM)
    elif optimizer == "accumulate":
        net.set_group(GROUP)


@pytest.fixture(scope="module")
def network():
    twin_net.register()
    return network_of(1)


def pairs_of(seed):
    random = np.random.default_rng(seed)
    x = random.normal(0, 1, (STEPS, 2, 6, 6)).astype(np.float32)
    return x, [int(label) for label in random.integers(0, 3, STEPS)]


def encoded(network, optimizer, decay=0.0):
    network = with_loss(network, decay=decay)
    return encode(training_step(network.graph, full(network.graph)), network, optimizer)


@pytest.mark.parametrize("decay", [0.0, 0.5])
@pytest.mark.parametrize("optimizer", OPTIMIZERS[:4])
def test_float_programs_follow_the_rules_to_the_last_digits(network, optimizer, decay):
    rate, (x, labels) = 0.001, pairs_of(5)
    program = encoded(network, optimizer, decay)
    net = FloatNet(bytearray(program.code), program.weights)
    options(net, optimizer, rate)
    for sample, label in zip(x, labels, strict=True):
        net.train_step(sample.transpose(1, 2, 0).astype("<f4").tobytes(), label)
    pairs = list(zip(x.astype(np.float64), labels, strict=True))
    wanted = reference(network.values, pairs, optimizer, rate, decay)
    for name, at, size in program.parts:
        got, want = np.frombuffer(bytes(net.weights()[at : at + size]), "<f4"), wanted[name]
        want = np.moveaxis(want, 1, -1) if want.ndim == 4 else want
        assert np.abs(got - want.ravel()).max() < 1e-6, name
        assert np.abs(want - np.moveaxis(network.values[name], 1, -1)
                      if want.ndim == 4 else want - network.values[name]).max() > 1e-3  # fmt: skip


def order_of(network, optimizer):
    """Return {weight: where each of its elements lies}: their numbers, stored as two digits."""
    digits = []
    for part in (lambda i: i % 64 + 1, lambda i: i // 64 + 1):
        numbered = {
            name: part(np.arange(math.prod(shape)).reshape(shape)).astype(np.int8)
            for name, shape in SHAPES.items()
            if name.endswith(".w")
        }
        digits.append(encoded(Network(network.graph, {**network.values, **numbered}), optimizer))
    found = {}
    for name, at, size in digits[0].parts:
        if name.endswith(".w"):
            low, high = (np.frombuffer(p.weights[at : at + size], np.int8) for p in digits)
            numbers = (high.astype(int) - 1) * 64 + low - 1
            found[name] = [int(np.flatnonzero(numbers == i)[0]) for i in range(size)
                           if i < math.prod(SHAPES[name])]  # fmt: skip
    return found


def mean_of(program, optimizer, rate, given, order):
    """Return the mean of the stored values over many seeds, in the network's own order."""
    total = {}
    net = Net(bytearray(program.code), program.weights)
    for seed in range(1, SEEDS + 1):
        net.reset(program.weights, seed)
        options(net, optimizer, rate)
        for x, label in given:
            net.train_step(x, label)
            assert net.rails == 0
        raw = bytes(net.weights())
        for name, at, size in program.parts:
            kind = "i1" if name in order else "<i4"
            stored = np.frombuffer(raw[at : at + size], kind).astype(float)
            total[name] = total.get(name, 0.0) + stored[order.get(name, slice(None))] / SEEDS
    return total


@pytest.mark.parametrize("decay", [0.0, 0.5])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_int8_programs_follow_the_rules_on_average(network, optimizer, decay):
    """Rounding at random is right on average; 16-bit weights show their upper halves alone."""
    rate, (x, labels) = 0.002, pairs_of(5)
    small, _ = quantize(network, pairs_of(6)[0], headroom=0.5)
    graph, stored = small.graph, small.quantize_input(x)
    scale = {name: np.reshape(graph[name].scale, (-1,) + (1,) * (len(shape) - 1))
             for name, shape in SHAPES.items()}  # fmt: skip
    real = {name: small.values[name] * scale[name] for name in SHAPES}
    inputs = (stored.astype(float) - graph["x"].zero_point) * graph["x"].scale
    wanted = reference(real, list(zip(inputs, labels, strict=True)), optimizer, rate, decay)
    given = list(zip(as_bytes(stored), labels, strict=True))
    program = encoded(small, optimizer, decay)
    found = mean_of(program, optimizer, rate, given, order_of(small, optimizer))
    for name, mean in found.items():
        moved = mean * np.broadcast_to(scale[name], SHAPES[name]).ravel() - real[name].ravel()
        want = (wanted[name] - real[name]).ravel()
        slope = moved @ want / (want @ want)
        alike = moved @ want / np.sqrt((moved @ moved) * (want @ want))
        if optimizer == "wide" and name == "c0.w":
            continue  # it moves by less than two steps, which rounding to the upper half hides
        assert alike > 0.97, (name, alike)
        assert slope == pytest.approx(1, abs=0.06), (name, slope)
