# SPDX-License-Identifier: MIT
"""A small transformer on windows of a motion sensor: trained, to int8, and it learns on a board.

What a class is lies in the order of two movements, far from each other. Then the sensor is
mounted another way round.
"""

import ast
import os
from types import SimpleNamespace

import numpy as np
import pytest

from acclimate.net import Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.connect import open_board, package, why_not
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import Scheme, full
from acclimate_host.sparse.simulate import Simulation
from acclimate_host.twin import net as twin_net

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
from test_net_onnx import Model  # noqa: E402

STEPS, CHANNELS, WIDTH, PASSES = 16, 6, 12, 3
_TRAIN = """
import gc
from acclimate import _native
import _net, _net_train, _net_rare
for name, module in (('net', _net), ('net_train', _net_train), ('net_rare', _net_rare)):
    _native.register(name, module)
from acclimate.net import Net, bytes_needed
import micropython
def read(name):
    with open(name, 'rb') as file:
        return file.read()
program = bytearray(read('/program'))
net = Net(program, read('/weights'), bytearray(bytes_needed(program)), seed=7)
net.set_rate(0.02)
data, n = read('/samples'), net.input_bytes
x = bytearray(n)
for _ in range({passes}):
    for at in range(0, len(data), n + 1):
        x[:] = data[at + 1 : at + 1 + n]
        micropython.heap_lock()
        net.train_step(x, data[at])
        micropython.heap_unlock()
print(bytes(net.weights()))
"""


def recordings(count, seed, turned=False):
    """Return (windows, classes): which of two sensors moves first, and which second."""
    random = np.random.default_rng(seed)
    x, classes = random.normal(0, 0.35, (count, STEPS, CHANNELS)), random.integers(0, 4, count)
    for window, kind in zip(x, classes, strict=True):
        times = random.integers(1, 6), random.integers(9, 14)
        for at, which in zip(times, ((0, 1), (1, 0), (0, 0), (1, 1))[kind], strict=True):
            move = np.outer((0.5, 1, 0.5), (1.2, -0.9, 0.6)) * random.uniform(0.8, 1.4)
            window[at - 1 : at + 2, 3 * which : 3 * which + 3] += move
    if turned:
        x = x[:, :, [1, 0, 2, 4, 3, 5]] * np.array([-1, 1, 1, -1, 1, 1])
    return x, classes


def block():
    """Places for each step, attention and GELU with short cuts, the mean, a classifier."""
    net = Model((STEPS, CHANNELS))

    def numbers(*shape, size=0.3):
        return net.random.normal(0, size, shape).astype(np.float32)

    def projected(x, inputs, outputs):
        zeros = np.zeros(outputs, np.float32)
        return net.op("Add", net.op("MatMul", x, numbers(inputs, outputs)), zeros)

    def normal(x):
        return net.op("LayerNormalization", x, np.ones(WIDTH, np.float32), numbers(WIDTH))

    x = net.op("MatMul", net.last, numbers(CHANNELS, WIDTH, size=0.6))
    x = net.op("Add", x, numbers(1, STEPS, WIDTH, size=0.6))
    z = normal(x)
    q, k, v = (projected(z, WIDTH, WIDTH) for _ in range(3))
    scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 2, 1]))
    scores = net.op("Div", scores, np.array(np.sqrt(WIDTH), np.float32))
    z = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
    x = net.op("Add", x, projected(z, WIDTH, WIDTH))
    wide = projected(normal(x), WIDTH, 2 * WIDTH)
    error = net.op("Erf", net.op("Div", wide, np.array(np.sqrt(2), np.float32)))
    wide = net.op("Mul", wide, net.op("Add", error, np.array(1, np.float32)))
    wide = net.op("Mul", wide, np.array(0.5, np.float32))
    net.op("Add", x, projected(wide, 2 * WIDTH, WIDTH))
    net.op("ReduceMean", net.last, axes=[1], keepdims=0)
    net.dense(4, WIDTH)
    return with_loss(import_onnx(net.finish()), "cross-entropy")


@pytest.fixture(scope="module")
def small():
    """The int8 network, trained on the host, and what it knows of windows as they were."""
    network = block()
    x, classes = recordings(500, 1)
    x = x[..., None]
    training = Simulation(network, full(network.graph))
    training.tune(x, classes, SimpleNamespace(epochs=5, rate=0.02, last=0.1, seed=1))
    values = {name: value.astype(np.float32) for name, value in training.values.items()}
    made, _ = quantize(Network(network.graph, values), x[:200])
    return made


def stored(network, x):
    return as_bytes(network.quantize_input(x[..., None]))


def right(network, program, weights, x, classes):
    twin_net.register()
    net = Net(bytearray(program.code), weights)
    return net.evaluate(zip(stored(network, x), classes.tolist(), strict=True))


def tuned(network, program, x, classes):
    """Return the weights after some passes on the twin."""
    twin_net.register()
    net = Net(bytearray(program.code), program.weights, seed=7)
    net.set_rate(0.02)
    for _ in range(PASSES):
        for _ in net.train(zip(stored(network, x), classes.tolist(), strict=True)):
            pass
    return bytes(net.weights())


@pytest.mark.slow
def test_int8_knows_the_order_of_two_movements(small):
    program = encode(training_step(small.graph, full(small.graph)), small)
    assert right(small, program, program.weights, *recordings(300, 2)) > 0.93


@pytest.mark.slow
def test_learning_through_attention_beats_the_classifier_alone(small):
    """After 120 windows of a sensor that was turned; what it knew before is of no use."""
    shown, asked, found = recordings(120, 5, True), recordings(300, 6, True), {}
    for name, scheme in (("whole", full(small.graph)), ("classifier", Scheme(0))):
        program = encode(training_step(small.graph, scheme), small)
        before = right(small, program, program.weights, *asked)
        assert before < 0.6
        found[name] = right(small, program, tuned(small, program, *shown), *asked)
    assert found["whole"] > 0.85 and found["whole"] > found["classifier"] + 0.1, found


@pytest.mark.slow
def test_the_board_learns_to_the_twin_s_bytes(small):
    """The whole network in training on the emulated nRF52840, in an arena below 12 KB."""
    reason = why_not("nrf52840")
    if not built("native", "armv7emsp", "_net_rare.mpy").exists():
        reason = reason or "_net_rare.mpy is not built"
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    program = encode(training_step(small.graph, full(small.graph)), small)
    assert program.arena_bytes < 12 * 1024
    x, classes = recordings(120, 5, True)
    samples = [bytes([c]) + row for c, row in zip(classes.tolist(), stored(small, x), strict=True)]
    files = {"program": program.code, "weights": program.weights, "samples": b"".join(samples)}
    with open_board("nrf52840") as board:
        for name in ("_net", "_net_train", "_net_rare"):
            data = built("native", "armv7emsp", name + ".mpy").read_bytes()
            board.put_bytes(data, f"/{name}.mpy")
        board.mkdir("/lib/acclimate")
        for file, data in package.build("armv7emsp", ["net"], pure=True).items():
            board.put_bytes(data, f"/lib/acclimate/{file}")
        for name, data in files.items():
            board.put_bytes(bytes(data), "/" + name)
        board.soft_reset()
        found = ast.literal_eval(board.exec(_TRAIN.format(passes=PASSES), timeout_s=600))
    assert found == tuned(small, program, x, classes)
    asked = recordings(300, 6, True)
    assert right(small, program, found, *asked) > 0.85
