# SPDX-License-Identifier: MIT
"""The TFLite importer against TensorFlow Lite Micro's own interpreter, tensor by tensor."""

from pathlib import Path

import numpy as np
import pytest

from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import import_tflite, network_from_tflite
from acclimate_host.model.import_tflite_mean import NOTE
from acclimate_host.model.importing import FUNCTIONS, table
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.tflite_file import read_tflite

wakeword = pytest.importorskip("pymicro_wakeword")
runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

from tflite_writer import Writer, window  # noqa: E402  (needs the wheels above)

MODELS = Path(wakeword.__file__).parent / "models"
NAMES = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
ARENA_BYTES = 300_000


def interpreter(path):
    keep = runtime.InterpreterConfig.kPreserveAllTensors
    return runtime.Interpreter.from_file(
        str(path), arena_size=ARENA_BYTES, intrepreter_config=keep
    )


def frames(seed, count):
    """Return noise, then tones that move, then long silence: (count, 3, 40) int8."""
    random = np.random.default_rng(seed)
    noise = random.integers(-128, 128, (count, 3, 40))
    place = np.arange(count * 3).reshape(count, 3, 1) / 9
    tones = 127 * np.sin(place + np.arange(40) / random.uniform(2, 9)) * random.uniform(0.3, 1)
    kind = np.arange(count)[:, None, None] * 3 // count
    return np.choose(kind, [noise, tones.astype(int), np.full_like(noise, -128)]).astype(np.int8)


@pytest.mark.parametrize("name", NAMES)
def test_wake_word_model_gives_every_tensor_as_tflite_micro_does(name):
    path = MODELS / f"{name}.tflite"
    network, theirs = import_tflite(path), interpreter(path)
    tensors = read_tflite(path.read_bytes())[0].tensors
    activations = [i for i, t in enumerate(tensors) if t.dtype == "INT8" and t.data is None]
    run = Int8Run(network)
    # Which of the file's tensors an activation is: the first whose bytes agree, then for good.
    graph = network.graph
    layers = [n.outputs[0] for n in run.nodes if n.op in ("conv", "dense", "window")]
    candidates, seen = {}, set()
    for frame in frames(NAMES.index(name), 90):
        theirs.set_input(frame[None], 0)
        theirs.invoke()
        made = run(frame[None].reshape(1, 3, 1, 40).transpose(0, 3, 1, 2))
        last = int(theirs.get_output(0).ravel()[0])
        assert last == int(made[network.output].ravel()[0]) + 128
        seen.add(last)
        held = {i: theirs.GetTensor(i, 0)["tensor_data"] for i in activations}
        for layer in layers:
            mine = made[layer].transpose(0, 2, 3, 1)
            same = {
                i
                for i, value in held.items()
                if value.size == mine.size and (value.ravel() == mine.ravel()).all()
            }
            candidates[layer] = candidates.get(layer, same) & same
            assert candidates[layer], f"{layer} {graph[layer].shape}: no tensor of TFLM's agrees"
    assert len(seen) > 1


@pytest.mark.case("H7")
def test_scales_and_sizes_are_those_of_the_file():
    network = import_tflite(MODELS / "okay_nabu.tflite")
    assert network.graph["x"].shape == (40, 3, 1)
    assert network.graph["x"].zero_point == -128
    assert network.graph[network.output].scale == pytest.approx(1 / 256)
    assert not any(node.op in ("split", "concat") for node in network.graph.nodes)
    assert network.notes == ("output is uint8 in the file, here int8: value - 128",)


def test_damaged_and_foreign_files_are_refused_in_one_line():
    data = (MODELS / "alexa.tflite").read_bytes()
    for broken in (b"", data[:4], b"PK\3\4" + bytes(60), data[:4] + b"TFL2" + data[8:]):
        with pytest.raises(GraphError) as caught:
            network_from_tflite(broken, "model.tflite")
        assert str(caught.value).startswith("model.tflite") and "\n" not in str(caught.value)
    random = np.random.default_rng(1)
    for _ in range(60):
        changed = bytearray(data)
        for at in random.integers(8, 3000, 3):
            changed[at] ^= 1 << random.integers(8)
        try:
            network_from_tflite(bytes(changed), "model.tflite")
        except GraphError as error:
            assert "\n" not in str(error)


def test_tables_round_to_the_nearest_value():
    got = table(FUNCTIONS["sigmoid"], (0.1, 0), (1 / 256, -128))
    assert got[128] == 0 and got[0] == -128 and got[255] == 127
    assert (np.diff(got.astype(int)) >= 0).all()


def spatial():
    """SAME and VALID padding, strides, depth multiplier, dilation, groups of one, a residual."""
    net = Writer((1, 11, 9, 4))
    net.layer(
        "CONV_2D",
        (8, 3, 3, 4),
        (1, 6, 5, 8),
        0.3,
        -128,
        0,
        "Conv2DOptions",
        **window((2, 2), 0, 1),
    )
    net.layer("DEPTHWISE_CONV_2D", (1, 3, 3, 16), (1, 6, 5, 16), 0.9, -5, 3,
              "DepthwiseConv2DOptions", depthMultiplier=2, **window((1, 1), 0, 3))  # fmt: skip
    left = net.layer(
        "CONV_2D", (6, 1, 1, 16), (1, 6, 5, 6), 1.7, 11, 0, "Conv2DOptions", **window((1, 1), 1)
    )
    net.layer("DEPTHWISE_CONV_2D", (1, 3, 2, 6), (1, 6, 5, 6), 1.1, 7, 3,
              "DepthwiseConv2DOptions", depthMultiplier=1, dilationHFactor=2, dilationWFactor=1,
              **window((1, 1), 0))  # fmt: skip
    net.op(
        "ADD", (left, net.last), (1, 6, 5, 6), 1.9, -128, "AddOptions", fusedActivationFunction=1
    )
    net.op(
        "PAD",
        (net.last, net.constant([[0, 0], [1, 0], [0, 2], [0, 0]])),
        (1, 7, 7, 6),
        1.9,
        -128,
        "PadOptions",
    )
    net.op(
        "MAX_POOL_2D",
        (net.last,),
        (1, 4, 4, 6),
        1.9,
        -128,
        "Pool2DOptions",
        filterHeight=3,
        filterWidth=2,
        **window((2, 2), 0),
    )
    net.op(
        "AVERAGE_POOL_2D",
        (net.last,),
        (1, 2, 4, 6),
        1.9,
        -128,
        "Pool2DOptions",
        filterHeight=3,
        filterWidth=3,
        **window((2, 1), 0),
    )
    net.op("RESHAPE", (net.last, net.constant([1, 48])), (1, 48), 1.9, -128, "ReshapeOptions")
    net.layer(
        "FULLY_CONNECTED",
        (10, 48),
        (1, 10),
        4.0,
        -128,
        0,
        "FullyConnectedOptions",
        fusedActivationFunction=1,
    )
    net.layer("FULLY_CONNECTED", (5, 10), (1, 5), 3.0, 2, 0, "FullyConnectedOptions")
    return net


def pooled(kind):
    net = Writer((1, 5, 4, 6), 0.04, -10)
    if kind == "global":
        net.op(
            "AVERAGE_POOL_2D",
            (net.last,),
            (1, 1, 1, 6),
            0.04,
            -10,
            "Pool2DOptions",
            filterHeight=5,
            filterWidth=4,
            **window((1, 1), 1),
        )
    elif kind == "mean":
        net.op(
            "MEAN",
            (net.last, net.constant([1, 2])),
            (1, 1, 1, 6),
            0.04,
            -10,
            "ReducerOptions",
            keepDims=True,
        )
    else:
        net.op(
            "AVERAGE_POOL_2D",
            (net.last,),
            (1, 4, 2, 6),
            0.04,
            -10,
            "Pool2DOptions",
            filterHeight=2,
            filterWidth=3,
            **window((1, 1), 1, 1),
        )
    return net


def mean(shape, x, y, relu=False):
    net = Writer(shape, *x)
    if relu:
        pool = dict(filterHeight=1, filterWidth=1, **window((1, 1), 1, 1))
        net.op("MAX_POOL_2D", (net.last,), shape, *x, "Pool2DOptions", **pool)
    axes = net.constant([1, 2])
    net.op("MEAN", (net.last, axes), (1, 1, 1, 6), *y, "ReducerOptions", keepDims=True)
    return net


def elementwise(name, scale, zero_point, x=(0.06, 9), options=None, **fields):
    net = Writer((1, 1, 1, 256), *x)
    net.op(name, (net.last,), (1, 1, 1, 256), scale, zero_point, options, **fields)
    return net


def leaky(slope, scale, zero_point):
    return elementwise("LEAKY_RELU", scale, zero_point, options="LeakyReluOptions", alpha=slope)


def bounded(name):
    net = Writer((1, 1, 1, 256), 0.06, 9)
    bound = net._tensor((), "int8", [0.06], [9], np.array(-40, np.int8))
    net.op(name, (net.last, bound), (1, 1, 1, 256), 0.06, 9)
    return net


def channels_first():
    """As PyTorch's models are converted: the input has its channels first."""
    net = Writer((1, 3, 8, 7))
    net.op("TRANSPOSE", (net.last, net.constant([0, 2, 3, 1])), (1, 8, 7, 3), 0.05, 3)
    net.layer("CONV_2D", (4, 3, 3, 3), (1, 6, 5, 4), 0.3, -9, 0, "Conv2DOptions",
              **window((1, 1), 1))  # fmt: skip
    return net


OPERATORS = {
    "spatial": spatial,
    "global pool": lambda: pooled("global"),
    "mean": lambda: pooled("mean"),
    "mean of what is not negative": lambda: mean((1, 7, 7, 6), (0.05, -128), (0.031, -128)),
    "mean of what is not positive": lambda: mean((1, 5, 3, 6), (0.05, 127), (0.013, 40)),
    "mean of one scale": lambda: mean((1, 3, 5, 6), (0.05, -128), (0.05, -128)),
    "mean of both signs": lambda: mean((1, 3, 3, 6), (0.05, 5), (0.05, 5)),
    "mean behind a relu": lambda: mean((1, 7, 7, 6), (0.05, 5), (0.031, -100), relu=True),
    "pool": lambda: pooled("sliding"),
    "logistic": lambda: elementwise("LOGISTIC", 1 / 256, -128),
    "tanh": lambda: elementwise("TANH", 1 / 128, 0),
    "relu": lambda: elementwise("RELU", 0.06, 9),
    "quantize": lambda: elementwise("QUANTIZE", 0.11, -20),
    "leaky relu": lambda: leaky(0.2, 0.017, -31),
    "leaky relu, coarse": lambda: leaky(0.013, 0.11, 90),
    "maximum": lambda: bounded("MAXIMUM"),
    "minimum": lambda: bounded("MINIMUM"),
    "channels first": channels_first,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_equal_tflite_micro(name):
    net = OPERATORS[name]()
    data = net.finish()
    network = network_from_tflite(data, "model.tflite")
    theirs = runtime.Interpreter.from_bytes(data, arena_size=ARENA_BYTES)
    run, random = Int8Run(network), np.random.default_rng(3)
    shape = tuple(net.shape_of(net.first))
    for i in range(25):
        x = random.integers(-128, 128, shape).astype(np.int8)
        if shape[3] == 256:
            x = np.arange(-128, 128, dtype=np.int8).reshape(shape)
        elif i % 3 == 0:
            x = np.full(shape, -128 if i % 2 else 127, np.int8)
        theirs.set_input(x, 0)
        theirs.invoke()
        ours = x if name == "channels first" else x.transpose(0, 3, 1, 2)
        got = run(ours)[network.output].transpose(0, 2, 3, 1).ravel()
        apart = np.abs(got.astype(int) - theirs.get_output(0).ravel().astype(int)).max()
        assert apart <= (NOTE in network.notes), (name, i)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name.startswith("mean")])
def test_only_a_mean_of_both_signs_says_that_it_may_be_a_step_off(name):
    network = network_from_tflite(OPERATORS[name]().finish(), "model.tflite")
    assert (NOTE in network.notes) == (name in ("mean", "mean of both signs"))


@pytest.mark.parametrize("name", ["ADD", "MUL"])
def test_a_constant_beside_int8_values_is_refused(name):
    net = Writer((1, 4, 4, 3))
    number = net._tensor((), "int8", [0.05], [3], np.array(9, np.int8))
    net.op(name, (net.last, number), (1, 4, 4, 3), 0.05, 3)
    with pytest.raises(GraphError, match=f"{name} of a constant: a layer's bias and weights"):
        network_from_tflite(net.finish(), "m.tflite")


@pytest.mark.case("J1")
def test_unsupported_operators_are_all_named():
    net = Writer((1, 8, 8, 3))
    first = net.op("TRANSPOSE_CONV", (net.last, net.constant([16, 16])), (1, 16, 16, 3), 0.05, 3)
    net.op("ABS", (net.last,), (1, 16, 16, 3), 0.05, 3)
    net.op("ABS", (first,), (1, 16, 16, 3), 0.05, 3)
    with pytest.raises(GraphError) as caught:
        network_from_tflite(net.finish(), "m.tflite")
    text = str(caught.value)
    assert text.startswith("m.tflite: not supported: TRANSPOSE_CONV: a resize to the")
    assert "ABS (2 times); supported are conv2d" in text and "\n" not in text


def test_a_kernel_larger_than_its_map_is_refused_with_the_operator():
    net = Writer((1, 4, 4, 3))
    pool = {"filterHeight": 5, "filterWidth": 2, **window((1, 1), 1)}
    net.op("MAX_POOL_2D", (net.last,), (1, 1, 3, 3), 0.05, 3, "Pool2DOptions", **pool)
    with pytest.raises(GraphError, match="m.tflite: MAX_POOL_2D: p0: kernel .* is larger than"):
        network_from_tflite(net.finish(), "m.tflite")
