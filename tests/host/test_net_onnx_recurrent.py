# SPDX-License-Identifier: MIT
"""GRU and LSTM layers of ONNX models: onnxruntime as float, in int8 one result everywhere."""

import numpy as np
import pytest

from acclimate.net import Net
from acclimate.net import interpreter as in_python
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step, training_step
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.contribution import trainable
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytest.importorskip("onnxruntime")
from test_net_onnx import Model, samples, theirs  # noqa: E402

STEPS, NUMBERS, UNITS = 9, 5, 6


def gru(net, x, numbers, units, first=None, bias=True, kind="GRU", **attrs):
    """Add a layer as PyTorch writes one with batch_first; return the names of Y and Y_h."""
    turned = net.op("Transpose", x, perm=[1, 0, 2])
    rows = units * (3 if kind == "GRU" else 4)
    shapes = ((rows, numbers), (rows, units), (2 * rows,))
    parts = [net.random.normal(0, 0.6, (1, *shape)).astype(np.float32) for shape in shapes]
    inputs = [turned, *parts[: 3 if bias else 2]]
    if first is not None:
        inputs += ["", first, *[first] * (kind == "LSTM")]
    net.op(kind, *inputs, hidden_size=units, **attrs)
    names = [f"{net.last}_y", f"{net.last}_h"]
    del net.nodes[-1].output[:]
    net.nodes[-1].output.extend(names)
    return names


def stacked(**attrs):
    """Two layers, and the last row of the second one."""
    net = Model((STEPS, NUMBERS))
    y, _ = gru(net, "x", NUMBERS, UNITS, **attrs)
    back = net.op("Transpose", net.op("Squeeze", y, np.array([1])), perm=[1, 0, 2])
    y, _ = gru(net, back, UNITS, 4, **attrs)
    net.op("Transpose", net.op("Squeeze", y, np.array([1])), perm=[1, 0, 2])
    net.op("Gather", net.last, np.array(-1), axis=1)
    net.dense(3, 4)
    return net


def last_state(**attrs):
    """The state behind the last step alone."""
    net = Model((STEPS, NUMBERS))
    _, state = gru(net, "x", NUMBERS, UNITS, **attrs)
    net.op("Squeeze", state, np.array([0]))
    net.dense(3, UNITS)
    return net


def of_a_map(**attrs):
    """Rows that a product makes of a map of one channel."""
    net = Model((1, STEPS, NUMBERS))
    net.op("MatMul", "x", net.random.normal(0, 0.5, (NUMBERS, 4)).astype(np.float32))
    _, state = gru(net, net.op("Squeeze", net.last, np.array([1])), 4, UNITS, **attrs)
    net.op("Squeeze", state, np.array([0]))
    net.dense(3, UNITS)
    return net


FIRST = np.linspace(-0.5, 0.5, UNITS, dtype=np.float32).reshape(1, 1, UNITS)
KINDS = {
    "stacked": lambda: stacked(linear_before_reset=1),
    "stacked, reset before": stacked,
    "LSTM, stacked": lambda: stacked(kind="LSTM"),
    "LSTM, reverse": lambda: last_state(kind="LSTM", direction="reverse", first=0 * FIRST),
    "LSTM without bias": lambda: last_state(kind="LSTM", bias=False),
    "last": lambda: last_state(linear_before_reset=1),
    "reverse": lambda: last_state(direction="reverse", first=FIRST),
    "without bias": lambda: last_state(bias=False, linear_before_reset=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_float_model_gives_what_onnxruntime_gives(kind):
    net = KINDS[kind]()
    model, given = net.finish(), samples(net.shape)
    got = FloatRun(import_onnx(model)).predict(given[..., None])
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", ("GRU", "LSTM"))
def test_rows_of_a_map_of_one_channel_are_steps(kind):
    net = of_a_map(kind=kind)
    model, given = net.finish(), samples(net.shape)
    got = FloatRun(import_onnx(model)).predict(given)
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_int8_is_close_and_has_the_same_bytes_everywhere(kind):
    net = KINDS[kind]()
    model, given = net.finish(), samples(net.shape, 80)
    small, _ = quantize(import_onnx(model), given[..., None])
    x, wanted = small.quantize_input(given[..., None])[:20], theirs(model, given[:20])
    stored = Int8Run(small).predict(x)
    apart = np.abs(small.real_output(stored) - wanted)
    assert apart.mean() < 0.03 * np.ptp(wanted) and apart.max() < 0.15 * np.ptp(wanted)
    program = encode(inference_step(small.graph), small)
    twin_net.register()
    nets = [Net(program.code, program.weights) for _ in range(2)]
    nets[1]._native = nets[1]._trainer = in_python
    for count, run in zip((20, 3), nets, strict=True):
        for data, row in zip(as_bytes(x[:count]), stored, strict=False):
            run.predict(data)
            assert bytes(run.outputs()) == row.astype(np.int8).tobytes()


@pytest.mark.parametrize("kind", [{"linear_before_reset": 1}, {"kind": "LSTM"}])
def test_all_steps_share_what_lies_in_a_program(kind):
    """Weights, factors and tables lie there once; a step adds its instructions alone."""
    sizes = []
    for steps in (4, 8):
        net = Model((steps, NUMBERS))
        gru(net, "x", NUMBERS, 32, **kind)
        net.op("Squeeze", net.nodes[-1].output[1], np.array([0]))
        net.dense(3, 32)
        given = samples(net.shape, 30)[..., None]
        small, _ = quantize(import_onnx(net.finish()), given)
        program = encode(inference_step(small.graph), small)
        sizes.append((len(program.code) - program.code_bytes, program.code_bytes))
    assert sizes[1][0] - sizes[0][0] < 64
    assert sizes[1][1] - sizes[0][1] < 4 * 170


def test_what_stands_behind_it_learns():
    net = KINDS["last"]()
    given = samples(net.shape, 30)[..., None]
    small = with_loss(quantize(import_onnx(net.finish()), given)[0])
    program = encode(training_step(small.graph, Scheme(0)), small)
    twin_net.register()
    run = Net(bytearray(program.code), program.weights, seed=3)
    run.set_rate(20000, -18)
    shares = [run.train_step(as_bytes(small.quantize_input(given[:1]))[0], 1) for _ in range(30)]
    assert shares[-1] > shares[0]


def test_the_steps_of_one_layer_are_not_trained_apart():
    """They share weights; a step of its own would make them differ."""
    net = KINDS["last"]()
    given = samples(net.shape, 30)[..., None]
    small = with_loss(quantize(import_onnx(net.finish()), given)[0])
    convs = [n.attrs for n in small.graph.nodes if n.op == "conv"]
    shared = [attrs["layer"] for attrs in convs if "like" in attrs]
    assert len(shared) > 4
    for scheme in (Scheme(len(convs)), Scheme(0, ((shared[0], 1),)), Scheme(1)):
        with pytest.raises(GraphError, check=naming("step", "share")):
            training_step(small.graph, scheme)
    before = next(attrs["layer"] for attrs in convs if "like" not in attrs)
    program = encode(training_step(small.graph, Scheme(0, ((before, 1),))), small)
    assert any(name.startswith(before) for name, _, _ in program.parts)
    assert not {n.attrs["layer"] for n in trainable(small.graph)} & set(shared)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda n: gru(n, "x", 5, 6, activations=["Tanh", "Tanh"]), "one direction, sigmoid"),

        (lambda n: n.op("GRU", n.op("Transpose", "x", perm=[1, 0, 2]), np.zeros((1, 6, 5)),
                        np.zeros((1, 6, 2)), hidden_size=3), "GRU (forward): one direction"),
        (lambda n: gru(n, "x", 5, 6, layout=1), "GRU (forward): one direction"),
        (lambda n: gru(n, "x", 5, 6, kind="LSTM", first=FIRST), "LSTM (forward): one direction"),
        (lambda n: n.op("Concat", gru(n, "x", 5, 6)[0],
                        n.op("Relu", n.op("Transpose", "x", perm=[1, 0, 2])), axis=-1),
         "Relu with time before samples: batch_first"),
        (lambda n: n.op("GRU", n.op("Transpose", "x", perm=[1, 0, 2]), np.zeros((1, 18, 5)), "",
                        hidden_size=6), "GRU (forward): one direction"),
        (lambda n: gru(n, n.op("Resize", "x", "", np.array([1, 20, 1], np.float32)), 5, 6),
         "GRU over 180 steps: batch_first = True, at most 128"),
    ],
)  # fmt: skip
def test_other_forms_are_refused(change, words):
    net = Model((STEPS, NUMBERS))
    change(net)
    net.last = net.nodes[-1].output[-1]
    with pytest.raises(GraphError) as caught:
        import_onnx(net.finish())
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", ("GRU", "LSTM"))
@pytest.mark.parametrize("units", (STEPS, UNITS))
@pytest.mark.parametrize("perm", ([1, 2, 0], [2, 1, 0], [0, 2, 1], [2, 0, 1], [2, 1, 0, 3]))
def test_rows_that_are_turned_in_another_way_are_refused(kind, units, perm):
    """What a layer gives has its time first: these exchange times, numbers or places."""
    net = Model((STEPS, NUMBERS))
    rows, _ = gru(net, "x", NUMBERS, units, kind=kind)
    if len(perm) == 3:
        rows = net.op("Squeeze", rows, np.array([1]))
    net.op("Reshape", net.op("Transpose", rows, perm=perm), np.array([1, -1]))
    net.dense(3, STEPS * units)
    with pytest.raises(GraphError, match="Transpose with time before samples"):
        import_onnx(net.finish())


@pytest.mark.parametrize("units", (STEPS, UNITS))
@pytest.mark.parametrize(
    "shape", ((UNITS, STEPS, 1), (STEPS * UNITS, 1, 1), (3, 1, -1), (1, 1, -1))
)
def test_rows_that_are_cut_anew_are_refused(units, shape):
    net = Model((STEPS, NUMBERS))
    rows, _ = gru(net, "x", NUMBERS, units)
    if shape[0] == UNITS:
        shape = (units, *shape[1:])
    elif shape[0] == STEPS * UNITS:
        shape = (STEPS * units, 1, 1)
    net.op("Transpose", net.op("Reshape", rows, np.array(shape)), perm=[1, 0, 2])
    net.op("Reshape", net.last, np.array([1, -1]))
    net.dense(3, STEPS * units)
    with pytest.raises(GraphError, match="Reshape with time before samples: batch_first = True$"):
        import_onnx(net.finish())


# ---- what the file says of a layer ----------------------------------------------------------


def layer_of(kind, inputs=(), outputs=(), **attrs):
    """One layer over the input; `inputs` by place replace or follow X, W and R."""
    net, gates = Model((STEPS, NUMBERS)), {"GRU": 3, "LSTM": 4}[kind]
    given = [net.op("Transpose", "x", perm=[1, 0, 2])]
    for last in (NUMBERS, UNITS):
        given.append(net.random.normal(0, 0.6, (1, gates * UNITS, last)).astype(np.float32))
    for at, value in dict(inputs).items():
        given += [""] * (at + 1 - len(given))
        given[at] = value
    net.op(kind, *given, hidden_size=UNITS, **attrs)
    names = ["y", "h", "c"][: 2 if kind == "GRU" else 3]
    del net.nodes[-1].output[:]
    net.nodes[-1].output.extend(names)
    read = [net.op("Squeeze", name, np.array([0])) for name in outputs or ("h",)]
    net.last = net.op("Add", *read) if len(read) > 1 else read[0]
    net.dense(3, UNITS)
    return net


def refused_as(net, kind):
    words = f"{kind} \\(forward\\): one direction, sigmoid and tanh, all steps, in a float model"
    with pytest.raises(GraphError, match=words):
        import_onnx(net.finish())


USUAL = {"GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


@pytest.mark.parametrize("kind", USUAL)
def test_functions_that_are_named_are_the_usual_ones(kind):
    net = layer_of(kind, activations=USUAL[kind])
    model, given = net.finish(), samples(net.shape)
    got = FloatRun(import_onnx(model)).predict(given[..., None])
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)
    for at in range(len(USUAL[kind])):
        others = [*USUAL[kind][:at], "Relu", *USUAL[kind][at + 1 :]]
        refused_as(layer_of(kind, activations=others), kind)


@pytest.mark.parametrize("kind", USUAL)
def test_what_a_cell_here_does_not_do_is_refused(kind):
    refused_as(layer_of(kind, clip=2.0), kind)
    refused_as(layer_of(kind, {4: np.array([STEPS - 2], np.int32)}), kind)
    if kind == "LSTM":
        refused_as(layer_of(kind, input_forget=1), kind)
        refused_as(layer_of(kind, outputs=("h", "c")), kind)
        refused_as(layer_of(kind, outputs=("c",)), kind)


def test_weights_from_the_cell_to_its_gates_are_none_or_zeros():
    peepholes = np.full((1, 3 * UNITS), 0.5, np.float32)
    refused_as(layer_of("LSTM", {7: peepholes}), "LSTM")
    net = layer_of("LSTM", {7: 0 * peepholes})
    model, given = net.finish(), samples(net.shape)
    got = FloatRun(import_onnx(model)).predict(given[..., None])
    assert got == pytest.approx(theirs(model, given), rel=1e-4, abs=1e-4)


def test_a_first_state_of_zeros_costs_no_operator():
    made = [layer_of("GRU", given) for given in ({}, {5: 0 * FIRST}, {5: FIRST})]
    counts = [len(import_onnx(net.finish()).graph.nodes) for net in made]
    assert counts[0] == counts[1] < counts[2]
