# SPDX-License-Identifier: MIT
"""What the importers share: errors that name everything at once, values, tables, padding."""

import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from .factors import multiplier, requantize, round_shift
from .graph import GraphError

OPERATORS = (
    "conv2d, depthwise, pointwise, dense, ReLU, ReLU6, add, max/average/global pool, flatten, "
    "pad, softmax at the output, element-wise functions, products, joined and cut maps, resize, "
    "layer normalization, attention"
)


BIAS_LIMIT = 2**30  # of a stored bias
KERNEL_MOST = 255  # a program keeps edges of kernels in one byte


_GROWS = "a resize to the nearest or linear, then a convolution"
_RECURRENT = "a window of the stream's last rows, then convolutions or a dense layer"
_LEVELS = "make the levels before the network: acclimate.features.Frontend"
_FOLDED = "export with a fixed input shape and constants folded"
_NORMAL = "batch normalization, which is folded, or LayerNormalization"
_PAIRS = "pairs of int8 or uint8, with one constant scale"
# What to do about an operator that networks here do not have; names without case and marks.
_ADVICE = {
    **dict.fromkeys(
        ("TRANSPOSECONV", "CONVTRANSPOSE", "RESIZEBILINEAR", "RESIZENEARESTNEIGHBOR"),
        _GROWS,
    ),
    **dict.fromkeys(
        ("LSTM", "GRU", "RNN", "UNIDIRECTIONALSEQUENCERNN"),
        _RECURRENT,
    ),
    **dict.fromkeys(("LOG", "POW", "SQRT", "BATCHMATMUL", "RFFT2D", "STFT", "DFT"), _LEVELS),
    **dict.fromkeys(("RSQRT", "SUB", "INSTANCENORMALIZATION", "GROUPNORMALIZATION"), _NORMAL),
    **dict.fromkeys(
        ("SHAPE", "EXPAND", "EQUAL", "CAST", "IF", "WHERE", "CONSTANTOFSHAPE", "RANGE"),
        _FOLDED,
    ),
    **dict.fromkeys(("QUANTIZELINEAR", "DEQUANTIZELINEAR"), _PAIRS),
    "DROPOUT": "export for inference: model.eval()",
    "ERF": "Gelu, of operators 20 on",
    "CUSTOM": "the file from before it was compiled for one chip or library",
}  # fmt: skip


class ModelImportError(GraphError):
    """A model that cannot be brought in; one line that names every reason."""

    def __init__(self, text):
        super().__init__(" ".join(text.split()))  # names in a file may hold anything


class Problems:
    """Collects what a model has that networks here do not, to tell it all at once."""

    def __init__(self, source, hint=""):
        self.source, self.found, self.unknown, self.hint = source, {}, False, hint

    def add(self, operator, why):
        """Note an operator (its name and place) and the nearest supported form."""
        self.found.setdefault((operator, why), 0)
        self.found[operator, why] += 1

    def add_unknown(self, operator):
        """Note an operator that no network here has, with the advice that fits it."""
        self.unknown = True
        self.add(operator, _ADVICE.get(operator.partition(" ")[0].replace("_", "").upper(), ""))

    def check(self):
        """Raise ModelImportError if anything was noted."""
        if self.found:
            parts = []
            for (operator, why), count in self.found.items():
                times = f" ({count} times)" if count > 1 else ""
                parts.append(f"{operator}{times}: {why}" if why else f"{operator}{times}")
            if self.unknown:
                parts.append(f"supported are {OPERATORS}")
            parts += [self.hint] if self.hint else []
            raise ModelImportError(f"{self.source}: not supported: " + "; ".join(parts))


@contextmanager
def damage_named(source):
    """Turn what a broken file leads to, an index out of range and the like, into one line."""
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        text = " ".join(str(error).split())[:80]
        raise ModelImportError(
            f"{source}: damaged, or of a form that is not known ({type(error).__name__}: {text})"
        ) from error


@contextmanager
def operator_named(source, operator):
    """Put the file's operator before what a layer made of it is refused for."""
    try:
        yield
    except ModelImportError:
        raise
    except GraphError as error:
        raise ModelImportError(f"{source}: {operator}: {error}") from error


def same_padding(edge, kernel, stride):
    """Return (before, after) so that the output has ceil(edge / stride) places."""
    total = max((math.ceil(edge / stride) - 1) * stride + kernel - edge, 0)
    return total // 2, total - total // 2


def dilate(weight, dilation):
    """Return a weight (.., height, width) with zeros between its taps."""
    if tuple(dilation) == (1, 1):
        return weight
    height, width = ((e - 1) * d + 1 for e, d in zip(weight.shape[2:], dilation, strict=True))
    if not 0 < max(height, width) <= KERNEL_MOST:
        raise ModelImportError(f"a kernel of {height} x {width}, dilated; most is {KERNEL_MOST}")
    wide = np.zeros((*weight.shape[:2], height, width), weight.dtype)
    wide[:, :, :: dilation[0], :: dilation[1]] = weight
    return wide


def with_room(weight, scale, input_scale, bias):
    """Return (int8 weight, scales) whose biases fit: tiny weights get a coarser scale.

    What its weights lose is far below a step of the output, which the bias alone moves.

    :param weight: int8 (outputs, ...). :param scale: of each output channel
    :param bias: real numbers, one for each output channel
    """
    scale = np.asarray(scale, np.float64)
    least = np.abs(bias) / (BIAS_LIMIT / 2 * input_scale)
    coarse = np.maximum(scale, least)
    factor = (scale / coarse).reshape(-1, *(1,) * (weight.ndim - 1))
    return np.rint(weight * factor).astype(np.int8), coarse


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


FUNCTIONS = {
    "sigmoid": sigmoid,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "silu": lambda x: x * sigmoid(x),
    "gelu": _gelu,
    "identity": lambda x: x,
    "complement": lambda x: 1 - x,
    "negative": lambda x: -x,
}
# Of a signal and numbers, which stand behind the name: "leaky_relu 0.2".
_WITH_NUMBERS = {
    "leaky_relu": lambda x, slope: np.where(x < 0, slope * x, x),
    "elu": lambda x, size: np.where(x < 0, size * np.expm1(np.minimum(x, 0)), x),
    "hard_sigmoid": lambda x, slope, middle: np.clip(slope * x + middle, 0, 1),
    "at_least": lambda x, least: np.where(x >= least, 1.0, 0.0),
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def with_numbers(word, *numbers):
    """Return the name of a function of _WITH_NUMBERS with its numbers.

    :raises ModelImportError: for numbers that are not finite
    """
    if not np.isfinite(numbers).all():
        raise ModelImportError(f"{word}: expected finite numbers, got {numbers}")
    return " ".join((word, *(repr(float(number)) for number in numbers)))


def function_of(name):
    """Return the element-wise function that a lookup's `function` names.

    :param name: of FUNCTIONS, or a word and its numbers, such as "leaky_relu 0.2"; several are
        parted by "|", and the first comes first
    """
    first, _, others = name.partition("|")
    if others:
        return lambda x: function_of(others)(function_of(first)(x))
    word, *numbers = name.split()
    if not numbers:
        return FUNCTIONS[word]
    return lambda x: _WITH_NUMBERS[word](x, *map(float, numbers))


def table(function, x, y):
    """Return the 256 bytes of an element-wise function between two (scale, zero point)."""
    stored = np.arange(-128, 128)
    real = function((stored - x[1]) * np.float64(x[0])) / y[0]
    real = np.sign(real) * np.floor(np.abs(real) + 0.5) + y[1]
    return np.clip(real, -128, 127).astype(np.int8)


def leaky_table(slope, x, y):
    """Return the table of a leaky ReLU as TensorFlow Lite Micro has it, rounded as a layer is.

    Its factors are float32 numbers. :param x: (scale, zero point). :param y: the same
    """
    stored = np.arange(-128, 128) - x[1]
    one, leaky = np.float32(x[0]) / np.float32(y[0]), np.float32(x[0]) * np.float32(slope)
    found = [
        requantize(stored, *multiplier(float(factor)))
        for factor in (one, leaky / np.float32(y[0]))
    ]
    return np.clip(np.where(stored < 0, found[1], found[0]) + y[1], -128, 127).astype(np.int8)


def requantized_table(x, y, has_relu):
    """Return the table of another scale, or of a ReLU, as TensorFlow Lite rounds it.

    :param x: (scale, zero point). :param y: the same. :param has_relu: below 0 stands 0
    """
    stored = np.arange(-128, 128) - x[1]
    found = requantize(stored, *multiplier(x[0] / y[0])) + y[1]
    return np.clip(found, y[1] if has_relu else -128, 127).astype(np.int8)


def hard_swish_table(x, y):
    """Return the table of a hard swish as TensorFlow Lite has it: in numbers of 16 bits.

    What it rounds on the way is up to one step of the output. Where the output's scale is below
    1/128 of the input's, it has no such form, and each entry is rounded once.
    """
    fine = float(x[0]) / 128
    (to_output, output_shift), (to_gate, gate_shift) = map(_half, (fine / y[0], fine * 32768 / 3))
    if output_shift > 0:
        return table(FUNCTIONS["hard_swish"], x, y)
    value = (np.arange(-128, 128) - x[1]) << 7
    gate = value if gate_shift <= 0 else _within_16(value << (gate_shift - 1))
    gate = (gate * to_gate + (1 << 14)) >> 15
    gate = _within_16(gate << 1) if gate_shift > 0 else round_shift(gate, -gate_shift)
    gate = (gate + (1 << 15)) >> 1  # from 0 for -3 and below to 32767 for 3 and above
    product = gate * ((value * to_output + (1 << 14)) >> 15)
    found = round_shift(np.sign(product) * (np.abs(product) >> 15), -output_shift) + y[1]
    return np.clip(found, -128, 127).astype(np.int8)


def _half(factor):
    """Return (m, shift) with m / 2^15 * 2^shift next to a factor."""
    m, shift = multiplier(factor)
    return min((m + (1 << 15)) >> 16, 32767), shift


def _within_16(values):
    return np.clip(values, -32768, 32767)


def is_alone(low, x):
    """Tell whether one operator reads a tensor, under all names that the file has for it.

    :param low: a lowering with `made` and `readers`
    """
    if any(x in node.inputs for node in low.build.nodes):
        return False
    names = [name for name, tensor in low.made.items() if tensor == x]
    return sum(map(low.readers, names)) - (len(names) - 1) == 1


def looked_up(low, x, function):
    """Return the tensor of an element-wise function of `x` in a float model.

    Functions one behind the other are one table where nothing else reads what is between. The
    output of a sigmoid or tanh has a scale of its own, so that these stay apart.

    :param low: a lowering with `build`, `new`, `made` and `readers`
    """
    nodes = low.build.nodes
    at = next((i for i, node in enumerate(nodes) if x in node.outputs), None)
    first = at is None or nodes[at].op != "lookup" or not is_alone(low, x)
    if first or function in ("sigmoid", "tanh"):
        return low.build.lookup(low.new("t"), x, function)
    attrs = {**nodes[at].attrs, "function": f"{nodes[at].attrs['function']} | {function}"}
    nodes[at] = replace(nodes[at], attrs=attrs)
    return x


def scaled(low, x, factor, shift):
    """Return the tensor of ``x * factor + shift``, one number a channel.

    Within the layer that makes `x` where nothing else reads it and the model is float, else as a
    layer of its own, whose output then needs a scale.

    :param low: a lowering with `build`, `new`, `values`, `made` and `readers`
    """
    if low.quantized:
        return _stored_affine(low, x, factor, shift)
    node = next((n for n in low.build.nodes if x in n.outputs), None)
    is_open = node is not None and node.op in ("conv", "dense") and not node.attrs.get("relu")
    if is_open and is_alone(low, x):
        name = node.attrs["layer"]
        low.values[name + ".w"] = low.values[name + ".w"] * factor[:, None, None, None]
        low.values[name + ".b"] = low.values[name + ".b"] * factor + shift
        return x
    name, channels = low.new("c"), len(factor)
    y = low.build.conv(name, x, channels, 1, 1, channels, False, 0)
    low.values[name + ".w"], low.values[name + ".b"] = factor[:, None, None, None], shift
    return y


def _stored_affine(low, x, factor, shift):
    """`scaled` of a quantized tensor: weights of 127, whose scales are the factors."""
    name, channels = low.new("c"), len(factor)
    factor, shift = (np.broadcast_to(np.asarray(v, float), (channels,)) for v in (factor, shift))
    weight = (127 * np.sign(factor)).astype(np.int8)[:, None, None, None]
    input_scale = low.scales[x][0]
    scale = np.where(factor == 0, 1.0, np.abs(factor)) / 127
    weight, scale = with_room(weight, scale, input_scale, shift)
    y = low.build.conv(name, x, channels, 1, 1, channels, False, 0)
    low.values[name + ".w"] = weight
    low.scales[name + ".w"] = (tuple(scale.tolist()), 0)
    keep_bias(low, name, shift, scale * input_scale)
    return y


def keep_bias(low, name, real, unit):
    """Keep a stored layer's bias, and the most that rounding takes from it.

    :param low: a lowering with `values`, `scales` and `rounded`
    :param real: of each output channel. :param unit: what 1 of the stored bias is worth
    """
    stored = np.rint(real / unit)
    low.values[name + ".b"] = stored.astype(np.int32)
    low.scales[name + ".b"] = (tuple(unit.tolist()), 0)
    low.rounded[name] = float(np.max(np.abs(stored * unit - real)))


def affine(operator, constant, is_left):
    """Return (factor, shift) of Add, Sub, Mul or Div of a signal and a constant, or None.

    :param is_left: the signal comes first
    """
    constant = np.asarray(constant, float)
    if operator == "Div" and not is_left:
        return None
    return {
        "Add": lambda: (1.0, constant),
        "Sub": lambda: (1.0, -constant) if is_left else (-1.0, constant),
        "Mul": lambda: (constant, 0.0),
        "Div": lambda: (1 / constant, 0.0),
    }[operator]()


def mean_layer(low, x, kernel=None, stride=1):
    """Add the mean over each channel as a depthwise layer of equal weights; return its output.

    :param kernel: (rows, columns) of a sliding mean; all of them where it is None

    For quantized models whose mean has a scale of its own, usually a finer one. Weights of 127
    keep the factor small, where the two roundings of a requantization do no harm.

    :param low: a lowering with `build`, `new`, `values` and `scales`
    """
    channels, *edges = low.build.tensors[x].shape
    edges, name = kernel or edges, low.new("c")
    y = low.build.conv(name, x, channels, tuple(edges), stride, channels, False, 0)
    low.values[name + ".w"] = np.full((channels, 1, *edges), 127, np.int8)
    low.values[name + ".b"] = np.zeros(channels, np.int32)
    scale = 1 / (127 * math.prod(edges))
    low.scales[name + ".w"] = ((scale,) * channels, 0)
    low.scales[name + ".b"] = ((scale * low.scales[x][0],) * channels, 0)
    return y
