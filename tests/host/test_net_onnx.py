# SPDX-License-Identifier: MIT
"""The ONNX importer against onnxruntime: float models, and int8 models it quantized itself."""

from pathlib import Path

import numpy as np
import pytest

from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.int8 import Int8Run
from harness.errors import naming

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
helper, to_tensor = onnx.helper, onnx.numpy_helper.from_array
FLOAT = onnx.TensorProto.FLOAT


class Model:
    """Writes an ONNX model one operator a call."""

    opset = 17

    def __init__(self, shape, seed=1, order="random"):
        self.nodes, self.constants, self.shape = [], [], shape
        self.random, self.last = np.random.default_rng(seed), "x"

    def constant(self, array, name=None):
        name = name or f"k{len(self.constants)}"
        self.constants.append(to_tensor(np.asarray(array), name))
        return name

    def op(self, kind, *inputs, **attrs):
        """Add an operator on the last value (or `inputs`); arrays become constants."""
        inputs = [self.constant(i) if isinstance(i, np.ndarray) else i for i in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attrs))
        self.last = name
        return name

    def conv(self, outputs, depth, kernel, bias=True, source=None, **attrs):
        shape = (outputs, depth, *kernel)
        weight = self.random.normal(0, 1.5 / np.sqrt(np.prod(shape[1:])), shape)
        inputs = [source or self.last, weight.astype(np.float32)]
        if bias:
            inputs.append(self.random.normal(0, 0.3, outputs).astype(np.float32))
        return self.op("Conv", *inputs, kernel_shape=kernel, **attrs)

    def normalization(self, channels):
        random = self.random
        parts = [
            random.uniform(0.5, 2, channels),
            random.normal(0, 1, channels),
            random.normal(0, 1, channels),
            random.uniform(0.3, 2, channels),
        ]
        return self.op("BatchNormalization", self.last, *(p.astype(np.float32) for p in parts))

    def dense(self, outputs, features):
        weight = self.random.normal(0, 1 / np.sqrt(features), (outputs, features))
        bias = self.random.normal(0, 0.3, outputs)
        return self.op(
            "Gemm", self.last, weight.astype(np.float32), bias.astype(np.float32), transB=1
        )

    def finish(self):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", FLOAT, (1, *self.shape))],
            [helper.make_tensor_value_info(self.last, FLOAT, None)],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 9
        return model


def session(model):
    """Quantized models run as they are written, not through kernels that saturate in int16."""
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def theirs(model, samples):
    run = session(model)
    return np.concatenate([run.run(None, {"x": s[None]})[0].reshape(1, -1) for s in samples])


def samples(shape, count=6, seed=2):
    return np.random.default_rng(seed).normal(0, 1, (count, *shape)).astype(np.float32)


def residual():
    """Strides, SAME padding, groups, depthwise, folding, a residual, Clip to 6, pooling."""
    net = Model((3, 13, 11))
    net.conv(8, 3, (3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
    net.normalization(8)
    start = net.op("Relu", net.last)
    net.conv(16, 8, (1, 1), bias=False)
    net.normalization(16)
    net.op("Clip", net.last, np.array(0, np.float32), np.array(6, np.float32))
    net.conv(16, 1, (5, 3), group=16, pads=[2, 1, 2, 1])
    net.op("Relu", net.last)
    net.conv(8, 16, (1, 1))
    net.op("Add", start, net.last)
    net.op("Relu", net.last)
    net.conv(12, 4, (3, 2), group=2, pads=[0, 1, 2, 0], dilations=[2, 1])
    net.op("MaxPool", net.last, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.op("AveragePool", net.last, kernel_shape=[2, 2], pads=[1, 0, 0, 1])
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.dense(5, 12)
    net.op("Softmax", net.last, axis=1)
    return net


def flattened():
    """A dense layer over a whole map, ReLU behind it, element-wise functions, a matrix product."""
    net = Model((2, 6, 5))
    net.conv(4, 2, (3, 3), strides=[1, 2], auto_pad="SAME_LOWER")
    net.op("Tanh", net.last)
    net.op("Pad", net.last, np.array([0, 0, 1, 0, 0, 0, 0, 2]))
    net.op("Reshape", net.last, np.array([1, -1]))
    size = 4 * 7 * 5
    net.dense(7, size)
    net.op("Relu", net.last)
    net.op("MatMul", net.last, net.random.normal(0, 1, (7, 6)).astype(np.float32))
    net.op("Add", net.last, net.random.normal(0, 1, 6).astype(np.float32))
    net.op("Sigmoid", net.last)
    return net


def channels_last():
    """As Keras models come: the input is (height, width, channels), factors stay apart."""
    net = Model((9, 8, 2))
    net.op("Transpose", net.last, perm=[0, 3, 1, 2])
    net.conv(5, 2, (3, 3), bias=False)
    net.op("Mul", net.last, net.random.uniform(0.5, 2, (1, 5, 1, 1)).astype(np.float32))
    net.op("Add", net.last, net.random.normal(0, 1, (1, 5, 1, 1)).astype(np.float32))
    net.op("Relu", net.last)
    net.op("MaxPool", net.last, kernel_shape=[2, 2], strides=[2, 2])
    net.op("Transpose", net.last, perm=[0, 2, 3, 1])
    net.op("Flatten", net.last)
    net.dense(3, 5 * 3 * 3)
    return net


def signal():
    """One dimension: a sensor's channels over time."""
    net = Model((6, 40))
    net.conv(8, 6, (5,), strides=[2], pads=[2, 2])
    net.op("Relu", net.last)
    net.conv(8, 1, (3,), group=8, pads=[1, 1])
    net.op("GlobalAveragePool", net.last)
    net.op("Flatten", net.last)
    net.dense(4, 8)
    return net


def tutorial():
    """As many tutorials have it: the clamp behind the max pool."""
    net = Model((2, 12, 11))
    net.conv(6, 2, (3, 3), pads=[1, 1, 1, 1])
    net.op("MaxPool", net.last, kernel_shape=[2, 2], strides=[2, 2])
    net.op("Relu", net.last)
    net.conv(7, 6, (3, 3), bias=False)
    net.normalization(7)
    net.op("GlobalMaxPool", net.last)
    net.op("Clip", net.last, np.array(0, np.float32), np.array(2, np.float32))
    net.op("Flatten", net.last)
    net.dense(4, 7)
    return net


def spelled_out():
    """As PyTorch's newer exporter writes (operators of version 18): axes and limits are inputs,
    every attribute is there, a Reshape keeps the number of samples."""
    net = Model((3, 11, 9))
    net.opset = 18
    net.conv(
        6,
        3,
        (3, 3),
        group=1,
        auto_pad="NOTSET",
        strides=[2, 2],
        dilations=[1, 1],
        pads=[1, 1, 1, 1],
        bias=False,
    )
    net.normalization(6)
    net.op("Clip", net.last, np.array(0, np.float32), np.array(6, np.float32))
    net.conv(6, 1, (3, 3), group=6, auto_pad="NOTSET", pads=[1, 1, 1, 1])
    net.op("Relu", net.last)
    net.op("ReduceMean", net.last, np.array([-1, -2]), keepdims=1, noop_with_empty_axes=0)
    net.op("Reshape", net.last, np.array([1, 6]), allowzero=1)
    net.op(
        "Gemm",
        net.last,
        net.random.normal(0, 1, (4, 6)).astype(np.float32),
        net.random.normal(0, 1, 4).astype(np.float32),
        alpha=1.0,
        beta=1.0,
        transA=0,
        transB=1,
    )
    return net


def functions():
    """Element-wise functions, with numbers and made of two operators."""
    net = Model((2, 7, 6))
    net.opset = 20
    net.conv(5, 2, (3, 3))
    net.op("LeakyRelu", net.last, alpha=0.2)
    net.op("Max", net.last, np.array(-0.3, np.float32))
    net.conv(5, 5, (1, 1))
    net.op("Min", np.array([2.5], np.float32), net.last)
    net.op("Elu", net.last, alpha=0.7)
    before = net.conv(6, 5, (1, 1))
    net.op("Mul", net.op("Sigmoid", net.last), before)
    before = net.conv(6, 6, (1, 1))
    net.op("Mul", before, net.op("HardSigmoid", net.last, alpha=1 / 6, beta=0.5))
    net.op("HardSigmoid", net.last)
    net.conv(4, 6, (1, 1))
    net.op("LeakyRelu", net.last)
    net.op("Gelu", net.last)
    return net


def one_channel_last():
    """As tf2onnx writes an image of one channel: a Reshape moves it to the front."""
    net = Model((7, 6, 1))
    net.op("Reshape", net.last, np.array([1, 1, 7, 6]))
    net.conv(4, 1, (3, 2))
    net.op("Flatten", net.last)
    net.dense(3, 4 * 5 * 5)
    return net


NETS = {
    "residual": residual,
    "flattened": flattened,
    "channels last": channels_last,
    "signal": signal,
    "tutorial": tutorial,
    "spelled out": spelled_out,
    "functions": functions,
    "one channel last": one_channel_last,
}


def as_ours(network, given):
    """Return samples in the shape of the network's input."""
    shape = network.graph[network.input].shape
    if given.shape[1:] != shape and any("channels lead" in note for note in network.notes):
        given = given.transpose(0, 3, 1, 2)
    return given.reshape(len(given), *shape)


@pytest.mark.parametrize("name", NETS)
def test_float_model_equals_onnxruntime(name):
    net = NETS[name]()
    model = net.finish()
    given = samples(net.shape)
    wanted = theirs(model, given)
    network = import_onnx(model)
    got = FloatRun(network).predict(as_ours(network, given))
    if any("softmax" in note for note in network.notes):
        got = np.exp(got - got.max(axis=1, keepdims=True))
        got /= got.sum(axis=1, keepdims=True)
    assert got == pytest.approx(wanted, rel=2e-5, abs=2e-5)


def test_what_is_read_under_another_name_as_well_is_not_changed():
    net = Model((2, 4, 1))
    first = net.conv(3, 2, (1, 1))
    net.op("Squeeze", first, np.array([3]))
    net.op("Mul", net.last, np.array(3, np.float32))
    net.op("LeakyRelu", net.op("Unsqueeze", net.last, np.array([3])))
    net.op("Add", net.last, first)
    model, given = net.finish(), samples(net.shape)
    assert FloatRun(import_onnx(model)).predict(given) == pytest.approx(theirs(model, given))


def test_functions_one_behind_the_other_are_one_table():
    graph = import_onnx(functions().finish()).graph
    found = [node.attrs["function"] for node in graph.nodes if node.op == "lookup"]
    assert found == [
        "leaky_relu 0.20000000298023224 | maximum -0.30000001192092896",
        "minimum 2.5 | elu 0.699999988079071",
        "silu",
        "hard_swish | hard_sigmoid 0.2 0.5",
        "leaky_relu 0.01 | gelu",
    ]
    net = Model((2, 4, 4))
    first = net.op("LeakyRelu", net.last)
    net.op("Add", first, net.op("Tanh", net.op("Elu", first)))
    graph = import_onnx(net.finish()).graph
    found = [node.attrs["function"] for node in graph.nodes if node.op == "lookup"]
    assert found == ["leaky_relu 0.01", "elu 1.0", "tanh"]  # the first is read twice


def quantized_by_onnxruntime(model, given, folder, activations):
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.left = iter([{"x": s[None]} for s in given])

        def get_next(self):
            return next(self.left, None)

    # As its manual says: fold batch normalization before quantization.
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "float.onnx")
    ort.InferenceSession(model.SerializeToString(), options)
    q.quantize_static(
        folder / "float.onnx",
        folder / "int8.onnx",
        Reader(),
        quant_format=q.QuantFormat.QDQ,
        per_channel=True,
        weight_type=q.QuantType.QInt8,
        activation_type=activations,
    )
    return onnx.load(folder / "int8.onnx")


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize(
    "name, share", [("residual", 0.4), ("channels last", 0.05), ("signal", 0.12)]
)
def test_int8_model_equals_onnxruntime_to_two_steps_of_the_output(name, share, unsigned, tmp_path):
    """onnxruntime rounds once, in float, after each layer; single steps apart, not often."""
    from onnxruntime import quantization as q

    net = NETS[name]()
    if net.nodes[-1].op_type == "Softmax":
        net.nodes.pop()
        net.last = net.nodes[-1].output[0]
    given = samples(net.shape, 40)
    kind = q.QuantType.QUInt8 if unsigned else q.QuantType.QInt8
    model = quantized_by_onnxruntime(net.finish(), given, tmp_path, kind)
    network = import_onnx(model)
    assert network.quantized
    wanted = theirs(model, given)
    stored = Int8Run(network).predict(network.quantize_input(as_ours(network, given)))
    step = network.graph[network.output].scale
    apart = np.abs(network.real_output(stored) - wanted) / step
    assert apart.max() <= 2.01 and (apart > 0.5).mean() < share


@pytest.mark.case("J1")
def test_all_unsupported_operators_are_named_at_once_with_the_nearest_form():
    net = Model((3, 8, 8))
    net.conv(4, 3, (3, 3))
    left = net.op("Relu", net.last)
    net.op("Erf", net.last)
    net.op("InstanceNormalization", left, net.last)
    net.op("RNN", net.last)
    net.op("Erf", net.last)
    with pytest.raises(GraphError) as caught:
        import_onnx(net.finish())
    text = str(caught.value)
    assert (
        "Erf (2 times): Gelu" in text and "LayerNormalization" in text and "RNN: a window" in text
    )
    assert text.count("depthwise") == 1 and "\n" not in text


@pytest.mark.parametrize(
    "change, words",
    [
        (
            lambda n: n.op("Clip", n.last, np.array(-1, np.float32), np.array(1, np.float32)),
            "Clip to [-1.0, 1.0]: Clip to [0, limit]",
        ),
        (
            lambda n: n.op(
                "AveragePool", n.last, kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1
            ),
            "count_include_pad = 0",
        ),
        (
            lambda n: n.op("Mul", "v0", n.op("AveragePool", "v0", kernel_shape=[5, 1])),
            "Mul of two activations: two of one shape, or one number per channel",
        ),
        (lambda n: n.op("Div", "v0", n.op("Tanh", "v0")), "Div of two activations"),
        (
            lambda n: n.op("LeakyRelu", n.last, alpha=float("nan")),
            "leaky_relu: expected finite numbers, got (nan,)",
        ),
        (lambda n: n.op("Max", n.last, n.op("Tanh", n.last)), "Max of two signals: of a signal"),
        (lambda n: n.op("Gelu", n.last, approximate="tanh"), "Gelu with approximate: the exact"),
    ],
)
def test_unsupported_forms_are_named(change, words):
    net = Model((3, 8, 8))
    net.conv(4, 3, (3, 3))
    change(net)
    net.op("Relu", net.last)
    with pytest.raises(GraphError) as caught:
        import_onnx(net.finish())
    assert words in str(caught.value)


def test_foreign_bytes_are_refused_in_one_line():
    for data in (b"", b"TFL3 and more", bytes(range(256))):
        with pytest.raises(GraphError) as caught:
            import_onnx(data)
        assert "\n" not in str(caught.value)


def test_weights_in_a_file_beside_the_model_are_read_or_named(tmp_path):
    net, path = residual(), tmp_path / "net.onnx"
    onnx.save_model(
        net.finish(), path, save_as_external_data=True, location="net.onnx.data", size_threshold=0
    )
    given = samples(net.shape)
    wanted = FloatRun(import_onnx(net.finish())).predict(given)
    assert FloatRun(import_onnx(path)).predict(given) == pytest.approx(wanted)
    with pytest.raises(GraphError, check=naming("net.onnx.data")):
        import_onnx(path.read_bytes())
    (tmp_path / "net.onnx.data").unlink()
    with pytest.raises(GraphError, match="in 'net.onnx.data' beside it, which cannot be read"):
        import_onnx(path)


def test_huge_numbers_in_what_is_worked_out_take_no_time():
    net = Model((2, 6, 5))
    net.conv(4, 2, (3, 3))
    y = net.last
    large = net.op("ConstantOfShape", np.array([2**40, 2**20]))
    net.op("Slice", np.arange(8), np.array([0]), np.array([2**62]), np.array([0]), np.array([1]))
    amounts = net.op("Concat", net.last, large, axis=0)
    net.op("Pad", y, amounts)
    with pytest.raises(GraphError, match="ConstantOfShape"):
        import_onnx(net.finish())


def made_by_torch():
    """A file in which PyTorch works out padding and a shape."""
    return (Path(__file__).parent / "onnx_files" / "torch_functional.onnx").read_bytes()


@pytest.mark.parametrize("data", [lambda: residual().finish().SerializeToString(), made_by_torch])
def test_damaged_models_are_refused_in_one_line(data):
    data, random = data(), np.random.default_rng(4)
    for _ in range(100):
        changed = bytearray(data)
        for at in random.integers(8, len(data), 4):
            changed[at] = random.integers(256)
        try:
            with np.errstate(all="ignore"):
                import_onnx(bytes(changed))
        except GraphError as error:
            assert "\n" not in str(error)
