# SPDX-License-Identifier: MIT
"""Networks from .tflite files: quantized ones (int8 activations), and float32.

Streams are understood as TensorFlow writes them: a variable is read, joined with the new rows,
used, and its last rows are assigned back. That is one `window` here. A split of channels whose
parts meet depthwise layers of different heights and are joined again becomes one depthwise layer
whose shorter kernels begin with zeros: the same sums.
"""

import math
from functools import partial
from pathlib import Path

import numpy as np

from .build import Builder
from .coarse import checked
from .graph import GraphError
from .import_moves import (
    difference,
    enlarged,
    gated,
    in_order,
    joined,
    of_scale,
    selected,
    shaped,
    sloped,
    with_zeros,
)
from .import_tflite_mean import add_mean
from .import_tflite_recurrent import RECURRENT, states_of
from .import_tflite_streams import Streams
from .importing import (
    Problems,
    affine,
    damage_named,
    dilate,
    function_of,
    hard_swish_table,
    leaky_table,
    looked_up,
    operator_named,
    requantized_table,
    same_padding,
    scaled,
    table,
    with_numbers,
)
from .losses import softmax_note
from .network import with_scales
from .tflite_file import read_tflite

_LOOKUPS = {
    "LOGISTIC": "sigmoid",
    "TANH": "tanh",
    "RELU": "relu",
    "RELU6": "relu6",
    "HARD_SWISH": "hard_swish",
    "QUANTIZE": "identity",
}


def _depth_to_space(order, options):
    n, (_, height, width, depth) = options["BlockSize"], order.shape
    parts = order.reshape(1, height, width, n, n, depth // n**2)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(1, height * n, width * n, -1)


def _space_to_depth(order, options):
    n, (_, height, width, depth) = options["BlockSize"], order.shape
    parts = order.reshape(1, height // n, n, width // n, n, depth)
    return parts.transpose(0, 1, 3, 2, 4, 5).reshape(1, height // n, width // n, -1)


def _slice(order, options, begin, size):
    spans = zip(np.ravel(begin).astype(int), np.ravel(size).astype(int), strict=True)
    return order[tuple(slice(a, None if n < 0 else a + n) for a, n in spans)]


def _strided(order, options, *constants):
    """Rows, columns and channels in steps; None where axes are left open or made."""
    if any(options[name] for name in ("EllipsisMask", "NewAxisMask", "Offset")):
        return None
    masks = [options[name + "Mask"] for name in ("Begin", "End", "ShrinkAxis")]
    spans = []
    for i, (begin, end, step) in enumerate(zip(*(np.ravel(c) for c in constants), strict=True)):
        from_first, to_last, is_one = (mask & 1 << i for mask in masks)
        first, last = (None if from_first else int(begin)), (None if to_last else int(end))
        spans.append(int(begin) if is_one else slice(first, last, int(step)))
    return order[tuple(spans)]


def _mirrored(order, options, amounts):
    amounts = np.asarray(amounts, int).tolist()
    return np.pad(order, amounts, "symmetric" if options["Mode"] else "reflect")


# What a signal's places become, given those before, the operator's options and its constants.
MOVES = {
    "TRANSPOSE": lambda order, options, axes: order.transpose(np.ravel(axes).astype(int)),
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided,
    "MIRROR_PAD": _mirrored,
}
_AFFINE = {"MUL": "Mul", "SUB": "Sub", "DIV": "Div"}
_RESHAPES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
# Fused activation by number: (relu, limit).
_ACTIVATIONS = {0: (False, None), 1: (True, math.inf), 3: (True, None)}


def import_tflite(path):
    """Return the Network of a .tflite file: quantized, or float where its input is float32.

    Inputs and outputs of a quantized one are int8; where the file ends with uint8 the output holds
    value - 128. A float one goes through `quantize`; stored int8 or float16 weights are made real.
    A softmax at the output is left out: its input orders the classes just so.

    :raises ModelImportError: one line with every operator that is not supported and the
        nearest form that is
    """
    path = Path(path)
    return network_from_tflite(path.read_bytes(), path.name)


def network_from_tflite(data, source="model"):
    """As `import_tflite`, from the bytes of the file."""
    graphs = read_tflite(data, source)
    with damage_named(source):
        return _Lowering(graphs, source).run()


class _Lowering:
    """Goes through the operators in order; `made` maps a file's tensor to one of the graph."""

    def __init__(self, graphs, source):
        self.graphs, self.file, self.source = graphs, graphs[0], source
        self.problems = Problems(source)
        self.made, self.values, self.scales, self.counts = {}, {}, {}, {}
        self.notes = []
        self.build, self.quantized = None, True
        self.constants = {}  # real numbers by tensor, where a DEQUANTIZE makes them
        self.states = {index for op in self.file.ops for index in states_of(op)}
        self.left_out = set()  # outputs of a softmax at the end
        self.streams = Streams(self)

    def run(self):
        handlers = {
            "CONV_2D": self._conv,
            "DEPTHWISE_CONV_2D": self._depthwise,
            "ADD": self._add,
            "FULLY_CONNECTED": self._dense,
            "AVERAGE_POOL_2D": self._pool,
            "MAX_POOL_2D": self._pool,
            "MEAN": self._mean,
            "PAD": self._pad,
            "SOFTMAX": self._softmax,
            "DEQUANTIZE": self._dequantize,
            "LEAKY_RELU": self._leaky,
            "PRELU": self._prelu,
            "RESIZE_BILINEAR": self._resize,
            "RESIZE_NEAREST_NEIGHBOR": self._resize,
            "DENSIFY": self._densify,
            **dict.fromkeys(MOVES, self.moved),
            **{name: partial(add, self) for name, add in RECURRENT.items()},
            "GREATER_EQUAL": self._at_least,
            "SELECT": self._select,
            "SELECT_V2": self._select,
            "TRANSPOSE": self._transpose,
            "MAXIMUM": self._bounded,
            "MINIMUM": self._bounded,
            **dict.fromkeys(_AFFINE, self._affine),
            **self.streams.handlers,
            **dict.fromkeys(_LOOKUPS, self._lookup),
            **dict.fromkeys(_RESHAPES, self._reshape),
        }
        normal = [part for op in self.file.ops for part in self._normal_parts(op)]
        for op in self.file.ops:
            if op.name not in handlers and op not in normal:
                self.problems.add_unknown(op.name)
        is_sound = all([self._has_scales(op) for op in self.file.ops])
        self._start()
        if self.build is None or not is_sound:
            self.problems.check()
        for op in self.file.ops:
            if op in normal:
                self._norm(op)
            elif op.name in handlers and all(self._known(i) for i in op.inputs):
                self._lower(handlers[op.name], op)
        self.problems.check()
        return self._finished()

    def _lower(self, handler, op):
        try:
            with operator_named(self.source, op.name):
                self.streams.make_real(op)
                handler(op)
        except GraphError:
            self.problems.check()  # of what was found before, all at once
            raise

    def _has_scales(self, op):
        """Note stored tensors of an operator whose scale is no number above 0; tell if none is."""
        is_sound = True
        for tensor in (self.tensor(i) for i in (*op.inputs, *op.outputs) if i >= 0):
            if tensor.scale is None or tensor.dtype not in ("INT8", "UINT8", "INT16"):
                continue
            wrong = tensor.scale[~(np.isfinite(tensor.scale) & (tensor.scale > 0))]
            if len(wrong):
                is_sound = False
                self.problems.add(f"{op.name} with a scale of {wrong[0]:g}", "scales above 0")
        return is_sound

    # ---- tensors ---------------------------------------------------------------------------

    def tensor(self, index):
        return self.file.tensors[index]

    def _known(self, index):
        """Say whether a tensor is there; it is not behind an operator that was noted."""
        return (
            index < 0
            or index in self.made
            or index in self.constants
            or index in self.states
            or self.tensor(index).data is not None
            or self.streams.knows(index)
        )

    def _start(self):
        if len(self.file.inputs) != 1:
            self._start_with_several()
            return
        index = self._stored(self.file.inputs[0])
        given = self.tensor(index)
        reshaped = [op for op in self.file.ops if self._renames(op, index)]
        shape = self.tensor(reshaped[0].outputs[0]).shape if reshaped else given.shape
        self.quantized = given.dtype != "FLOAT32"
        if self.quantized and (given.dtype != "INT8" or given.scale is None):
            self.problems.add(f"input of type {given.dtype}", "float32, or int8 with a scale")
        elif not 2 <= len(shape) <= 4 or shape[0] != 1:
            self.problems.add(f"input of shape {shape}", "(1, height, width, channels)")
        else:
            self.build = Builder(self.source.rsplit(".", 1)[0], chw(shape))
            self.place(index, self.build.x)
            if reshaped:
                self.place(reshaped[0].outputs[0], self.build.x)

    def _start_with_several(self):
        """Take several inputs as one row, behind each other in the file's order."""
        given = [self.tensor(index) for index in self.file.inputs]
        kinds = {(t.dtype, *(np.ravel(v)[0] for v in (t.scale, t.zero_point) if v is not None))
                 for t in given}  # fmt: skip
        self.quantized = given[0].dtype != "FLOAT32"
        is_known = given[0].dtype == "FLOAT32" or given[0].scale is not None
        if len(kinds) != 1 or given[0].dtype not in ("FLOAT32", "INT8") or not is_known:
            what = ", ".join(t.dtype for t in given)
            self.problems.add(f"{len(given)} inputs ({what})", "float32, or int8 of one scale")
            return
        if any(not 2 <= len(t.shape) <= 4 or t.shape[0] != 1 for t in given):
            self.problems.add(f"{len(given)} inputs", "each (1, height, width, channels)")
            return
        counts = [math.prod(t.shape) for t in given]
        self.build = Builder(self.source.rsplit(".", 1)[0], (sum(counts), 1, 1))
        self.notes.append(f"{len(given)} inputs behind each other, of {counts} numbers")
        if self.quantized:
            scale = float(given[0].scale[0]), self.zero_point(self.file.inputs[0])
            self.scales[self.build.x] = scale
        start = 0
        for index, tensor, count in zip(self.file.inputs, given, counts, strict=True):
            places = range(start, start + count)
            self.place(index, in_order(self, self.build.x, places, chw(tensor.shape)))
            start += count

    def _renames(self, op, index):
        """Tell whether an operator moves no value of the input `index`, seen from here."""
        if index not in op.inputs[:1]:
            return False
        if op.name == "TRANSPOSE":  # channels lead in a network here; who else reads is not told
            axes = np.ravel(self.tensor(op.inputs[1]).data).tolist()
            return axes == [0, 2, 3, 1] and self.readers(index) == 1
        return op.name in _RESHAPES

    def _transpose(self, op):
        if op.outputs[0] not in self.made:  # not the input's own
            self.moved(op)

    def moved(self, op):
        """Put the elements of a signal in other places."""
        constants = [self.real(i) for i in op.inputs[1:]]
        order = None
        if all(constant is not None for constant in constants):
            order = MOVES[op.name](self.order(op.inputs[0]), op.options, *constants)
        self.moved_to(op, op.outputs[0], op.inputs[0], order)

    def moved_to(self, op, index, source, order):
        """Let the file's tensor `index` be elements of `source`, at `order` in memory's order."""
        shape = self.tensor(index).shape
        if order is None or order.shape != tuple(shape) or not is_map(shape):
            self.problems.add(f"{op.name} to {shape}", "constant places, at most four axes")
            return
        x = self.shaped(source)
        self.place(index, in_order(self, x, order.ravel(), chw(shape)))

    def _stored(self, index):
        """Return the int8 tensor that stands for the file's input: behind its QUANTIZE."""
        readers, given = [op for op in self.file.ops if index in op.inputs], self.tensor(index)
        is_wide = given.dtype == "FLOAT32" or given.dtype == "INT16" and given.scale is not None
        if not is_wide or [o.name for o in readers] != ["QUANTIZE"]:
            return index
        step = f" in steps of {given.scale[0]:g}" if given.dtype == "INT16" else ""
        kind = given.dtype.lower() + step
        self.notes.append(f"the file's input is {kind}, here int8: net.quantize stores it")
        return readers[0].outputs[0]

    def _dequantize(self, op):
        if self.real(op.inputs[0]) is not None:
            self.constants[op.outputs[0]] = self.real(op.inputs[0])
            return
        if not self._is_end(op.inputs[0], [op]):
            self.problems.add("DEQUANTIZE within the network", "int8 from input to output")
            return
        self.notes.append("the file's output is float32, here int8: net.real_outputs reads it")
        self.made[op.outputs[0]] = self.made[op.inputs[0]]

    def _is_end(self, index, readers=None):
        """Tell whether a tensor is an output and no more, but for a change of how it is stored.

        :param readers: operators to look at; None: all that read it
        """
        if readers is None:
            readers = [op for op in self.file.ops if index in op.inputs]
        ends = [op.outputs[0] for op in readers]
        is_stored = all(op.name in ("DEQUANTIZE", "QUANTIZE") for op in readers)
        unread = all(end in self.file.outputs and self.readers(end) == 1 for end in ends)
        return is_stored and unread and (index in self.file.outputs or bool(ends))

    def place(self, index, name):
        """Say that the graph's tensor `name` is the file's tensor `index`."""
        self.made[index] = name
        tensor = self.tensor(index)
        if tensor.scale is not None and len(tensor.scale) == 1:
            self.scales[name] = (float(tensor.scale[0]), self.zero_point(index))

    def readers(self, index):
        read = sum(op.inputs.count(index) for op in self.file.ops)
        return read + (index in self.file.outputs)

    def real(self, index, axis=0):
        """Return a constant's real numbers, or None; `axis` is that of its scales."""
        tensor = self.tensor(index)
        if index in self.constants or tensor.data is None:
            return self.constants.get(index)
        if tensor.scale is None:
            return tensor.data.astype(np.float64)
        edges = [1] * tensor.data.ndim
        if len(tensor.scale) > 1:
            edges[axis] = -1
        zero = np.reshape(tensor.zero_point, edges) if edges else tensor.zero_point[0]
        scale = np.reshape(tensor.scale, edges) if edges else tensor.scale[0]
        return (tensor.data.astype(np.float64) - zero) * scale

    def zero_point(self, index):
        tensor = self.tensor(index)
        return int(tensor.zero_point[0]) - (128 if tensor.dtype == "UINT8" else 0)

    def new(self, kind):
        """Return a name that is not taken yet."""
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return f"{kind}{self.counts[kind]}"

    def activation(self, op):
        """Return (relu, limit) of a fused activation; None after it was noted."""
        number = op.options.get("FusedActivationFunction", 0)
        if number not in _ACTIVATIONS:
            self.problems.add(f"{op.name} with activation {number}", "none, ReLU or ReLU6")
            return None
        return _ACTIVATIONS[number]

    def padding(self, op, edges, kernel):
        stride = (op.options["StrideH"], op.options["StrideW"])
        if op.options["Padding"] == 1:
            return stride, (0, 0, 0, 0)
        rows, columns = (same_padding(*three) for three in zip(edges, kernel, stride, strict=True))
        return stride, (rows[0], columns[0], rows[1], columns[1])

    def parameters(self, name, op, weight, x):
        """Keep weight and bias of a layer, with the scales of both."""
        outputs = len(weight)
        if not self.quantized:
            bias = self.real(op.inputs[2]) if len(op.inputs) > 2 and op.inputs[2] >= 0 else None
            self.values[name + ".w"] = np.ascontiguousarray(weight, np.float32)
            bias = np.zeros(outputs) if bias is None else np.ravel(bias)
            self.values[name + ".b"] = bias.astype(np.float32)
            return
        self.values[name + ".w"] = np.ascontiguousarray(weight, np.int8)
        bias = self.tensor(op.inputs[2]).data if len(op.inputs) > 2 and op.inputs[2] >= 0 else None
        self.values[name + ".b"] = self.bias(op, np.zeros(outputs) if bias is None else bias)
        found = self.tensor(op.inputs[1])
        if found.zero_point is not None and found.zero_point.any():
            self.problems.add(f"{op.name} weights with a zero point", "symmetric int8 weights")
        scale = np.broadcast_to(found.scale, (outputs,))
        self.scales[name + ".w"] = (tuple(scale.tolist()), 0)
        self.scales[name + ".b"] = (tuple((scale * self.scales[x][0]).tolist()), 0)

    def bias(self, op, values):
        """Return stored biases as int32; what does not fit is noted, never cut."""
        values = np.ravel(values)
        if np.abs(values.astype(np.float64)).max(initial=0) > 2**31 - 1:
            self.problems.add(f"{op.name} with a bias beyond int32", "int32 biases")
            return np.zeros(len(values), np.int32)
        return values.astype(np.int32)

    # ---- layers ----------------------------------------------------------------------------

    def _weights(self, op, axis=0):
        """Return the weight of a layer, or None after it was noted."""
        found = self.tensor(op.inputs[1])
        if not self.quantized:
            real = self.real(op.inputs[1], axis)
            if real is None:
                self.problems.add(f"{op.name} with weights that are computed", "constant weights")
            return real
        if found.data is None or found.dtype != "INT8" or found.scale is None:
            self.problems.add(f"{op.name} with {found.dtype} weights", "constant int8 weights")
            return None
        if len(found.scale) > 1 and found.axis != axis:
            what = f"{op.name} with scales along axis {found.axis} of its weights"
            self.problems.add(what, f"along axis {axis}")
            return None
        return found.data

    def _conv(self, op):
        weight = self._weights(op)
        if weight is not None:
            depth = self.build.tensors[self.shaped(op.inputs[0])].shape[0]
            self.convolution(op, weight.transpose(0, 3, 1, 2), depth // weight.shape[3])

    def _depthwise(self, op):
        weight = self._weights(op, axis=3)
        if weight is None or self.streams.depthwise_of_part(op, weight):
            return
        depth = self.build.tensors[self.shaped(op.inputs[0])].shape[0]
        self.convolution(op, weight.transpose(3, 0, 1, 2), depth)

    def convolution(self, op, weight, groups, x=None):
        """Add a convolution of `weight` (outputs, inputs, height, width); `x` is its input."""
        x, activation = x or self.shaped(op.inputs[0]), self.activation(op)
        if activation is None:
            return
        dilation = (op.options.get("DilationHFactor", 1), op.options.get("DilationWFactor", 1))
        weight = dilate(weight, dilation)
        kernel = weight.shape[2:]
        stride, pad = self.padding(op, self.build.tensors[x].shape[1:], kernel)
        name = self.new("c")
        relu, limit = activation
        y = self.build.conv(name, x, len(weight), kernel, stride, groups, relu, pad, limit)
        self.parameters(name, op, weight, x)
        self.place(op.outputs[0], y)

    def _dense(self, op):
        weight, activation = self._weights(op), self.activation(op)
        if weight is None or activation is None:
            return
        if op.options.get("WeightsFormat"):
            self.problems.add("FULLY_CONNECTED with weights in another order", "as they are")
            return
        x, (outputs, inputs) = self.made[op.inputs[0]], weight.shape
        channels, height, width = self.build.tensors[x].shape
        if inputs != channels * height * width:
            self._dense_of_rows(op, weight, *activation)
            return
        weight = weight.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        name = self.new("fc")
        y = self.build.dense(name, x, outputs)
        if activation[0]:
            self.build.clamp(y, activation[1] or 6.0)
        self.parameters(name, op, weight, x)
        self.place(op.outputs[0], y)

    def _dense_of_rows(self, op, weight, relu, limit):
        """Add a dense layer over each row of its input as a convolution of one pixel."""
        (outputs, inputs), x = weight.shape, self.made[op.inputs[0]]
        rows, rest = divmod(self.build.tensors[x].elements, inputs)
        if rest:
            what = f"{op.name} over {inputs} of {rows * inputs + rest} values"
            self.problems.add(what, "over all values of its input, or of each row")
            return
        x, name = shaped(self, x, (inputs, rows, 1)), self.new("c")
        y = self.build.conv(name, x, outputs, 1, 1, 1, relu, 0, limit)
        self.parameters(name, op, weight[:, :, None, None], x)
        self.place(op.outputs[0], y)

    def _add(self, op):
        if not all(i in self.made for i in op.inputs):
            self._affine(op)
            return
        activation, parts = self.activation(op), self._pair(op)
        if activation is not None:
            y = self.build.add(self.new("a"), *parts)
            if activation[0]:
                self.build.clamp(y, activation[1] or 6.0)
            self.place(op.outputs[0], y)

    def _pair(self, op):
        """Return two signals in the shape of the output: what has less there is repeated."""
        names, shapes = (
            [self.made[i] for i in op.inputs],
            [self.tensor(i).shape for i in op.inputs],
        )
        edges = [self.build.tensors[name].shape for name in names]
        shape = tuple(self.tensor(op.outputs[0]).shape)
        if shapes[0] == shapes[1] and edges[0] == edges[1]:
            return names
        orders = (np.broadcast_to(self.order(i), shape) for i in op.inputs)
        return [
            in_order(self, self.shaped(i), order.ravel(), chw(shape))
            for i, order in zip(op.inputs, orders, strict=True)
        ]

    def _of_two(self, op):
        """A product, or a difference, of two signals."""
        activation, y = self.activation(op), None
        if op.name == "MUL":
            y = gated(self, *(self.shaped(i) for i in op.inputs))
            y = gated(self, *self._pair(op)) if y is None else y
        elif op.name == "SUB" and not self.quantized:
            y = difference(self, *self._pair(op))
        else:
            self.problems.add(f"{op.name} of two signals", "in a float model, a product or sum")
            return
        if activation is not None:
            self.place(op.outputs[0], y)
            if activation[0] and self.quantized:
                self.build.nodes[-1].attrs.update(relu=True, limit=activation[1] or 6.0)
            elif activation[0]:
                function = "relu6" if activation[1] is None else "relu"
                self.place(op.outputs[0], looked_up(self, y, function))

    def shaped(self, index):
        """Return a signal as a tensor of the file's own shape."""
        shape = self.tensor(index).shape
        if not is_map(shape):
            raise GraphError(f"a signal of shape {shape}; expected one sample, at most four axes")
        return shaped(self, self.made[index], chw(shape))

    def order(self, index):
        """Return where each element of a signal lies in memory, in the file's shape."""
        shape = self.tensor(index).shape
        return np.arange(math.prod(shape)).reshape(shape)

    def join(self, op):
        """Put signals behind each other along any axis."""
        if op.options["FusedActivationFunction"]:
            self.problems.add(f"{op.name} with an activation", "an activation behind it")
            return
        parts = [self.shaped(i) for i in op.inputs]
        given = self.tensor(op.outputs[0])
        if self.quantized:
            target = (float(given.scale[0]), self.zero_point(op.outputs[0]))
            parts = [of_scale(self, part, target) for part in parts]
        axis = op.options["Axis"] % len(given.shape)
        orders = [self.order(i) for i in op.inputs]
        self.place(op.outputs[0], joined(self, parts, orders, axis, chw(given.shape)))

    def _densify(self, op):
        self.constants[op.outputs[0]] = self.real(op.inputs[0])

    def _normal_parts(self, mean):
        """Return the operators of a layer normalization that begins with a mean, or none.

        As Keras writes it: x less its mean, by the square root of the mean of squares and eps.
        """
        if mean.name != "MEAN" or self.real(mean.inputs[1]) is None:
            return []
        x, found = mean.inputs[0], [mean]

        def read_by(name, *inputs):
            for op in self.file.ops:
                if op.name == name and sorted(op.inputs) == sorted(inputs):
                    found.append(op)
                    return op.outputs[0]
            return None

        def mean_of(index):
            for op in self.file.ops:
                if op.name == "MEAN" and op.inputs[0] == index:
                    found.append(op)
                    return op.outputs[0]
            return None

        rank = len(self.tensor(x).shape)
        axes = [int(axis) % rank for axis in np.ravel(self.real(mean.inputs[1]))]
        less = read_by("SUB", x, mean.outputs[0])
        if less is None or axes != [rank - 1]:
            return []
        variance = mean_of(read_by("MUL", less, less))
        eps = next((o for o in self.file.ops if o.name == "ADD" and variance in o.inputs), None)
        if variance is None or eps is None:
            return []
        found.append(eps)
        root = read_by("RSQRT", eps.outputs[0])
        done = None if root is None else read_by("MUL", less, root)
        return [] if done is None else found

    def _norm(self, mean):
        """Add a layer normalization where its first operator stands."""
        parts = self._normal_parts(mean)
        if not parts or mean.inputs[0] not in self.made:
            return
        eps, done = parts[-3], parts[-1]
        given = next(self.real(i) for i in eps.inputs if self.real(i) is not None)
        if self.quantized or np.size(given) != 1:
            self.problems.add("layer normalization in int8", "in a float model")
            return
        y = self.build.norm(self.new("n"), self.shaped(mean.inputs[0]), float(np.ravel(given)[0]))
        self.place(done.outputs[0], y)

    def _at_least(self, op):
        least = self.real(op.inputs[1])
        if self.quantized or op.inputs[0] not in self.made or np.size(least) != 1 or least is None:
            self.problems.add("GREATER_EQUAL", "of a signal and a number, in a float model")
            return
        function = with_numbers("at_least", *np.ravel(least))
        y = self.build.lookup(self.new("t"), self.made[op.inputs[0]], function)
        self.place(op.outputs[0], y)

    def _select(self, op):
        parts = [self.shaped(i) if i in self.made else None for i in op.inputs]
        shapes = [self.build.tensors[part].shape for part in parts if part]
        if self.quantized or len(shapes) != 3 or len(set(shapes)) != 1:
            self.problems.add(f"{op.name}", "of three signals of one shape, in a float model")
            return
        self.place(op.outputs[0], selected(self, *parts))

    def _prelu(self, op):
        x, slope = self.shaped(op.inputs[0]), self.real(op.inputs[1])
        channels = self.build.tensors[x].shape[0]
        if self.quantized or slope is None or not is_of_channels(slope, channels):
            self.problems.add("PRELU", "in a float model, a slope for each channel")
            return
        slope = np.broadcast_to(np.ravel(slope), (channels,))
        self.place(op.outputs[0], sloped(self, x, slope))

    def _resize(self, op):
        x = self.shaped(op.inputs[0])
        old, new = (self.tensor(i).shape for i in (op.inputs[0], op.outputs[0]))
        is_linear = op.name == "RESIZE_BILINEAR"
        factor = tuple(b // a for a, b in zip(old[1:3], new[1:3], strict=True))
        if op.options.get("AlignCorners") or tuple(
            a * f for a, f in zip(old[1:3], factor, strict=True)
        ) != tuple(new[1:3]):
            self.problems.add(
                f"{op.name} of {old} to {new}", "by whole factors, no aligned corners"
            )
        elif is_linear and self.quantized:
            self.problems.add(f"{op.name} in int8", "the nearest neighbour, or a float model")
        else:
            centers = bool(op.options.get("HalfPixelCenters")) if is_linear else None
            self.place(op.outputs[0], enlarged(self, x, factor, centers))

    def _affine(self, op):
        """Add, subtract, multiply with or divide by one number for each channel."""
        if all(i in self.made for i in op.inputs):
            self._of_two(op)
            return
        activation = self.activation(op)
        is_left = op.inputs[0] in self.made
        source, constant = op.inputs if is_left else op.inputs[::-1]
        real = self.real(constant)
        if self.quantized or real is None or source not in self.made:
            self.problems.add(f"{op.name} of a constant", "a layer's bias and weights, or float")
            return
        x = self.shaped(source)
        channels = self.build.tensors[x].shape[0]
        form = affine(_AFFINE.get(op.name, "Add"), real, is_left)
        if form is None or not is_of_channels(real, channels):
            self.problems.add(f"{op.name} of a constant map", "a constant per channel")
        elif activation is not None:
            factor, shift = (np.broadcast_to(np.ravel(part), channels) for part in form)
            y = scaled(self, x, factor, shift)
            if activation[0]:
                self.build.clamp(y, activation[1] or 6.0)
            self.place(op.outputs[0], y)

    def _pool(self, op):
        activation, x = self.activation(op), self.shaped(op.inputs[0])
        if activation is None:
            return
        kernel = (op.options["FilterHeight"], op.options["FilterWidth"])
        edges = self.build.tensors[x].shape[1:]
        stride, pad = self.padding(op, edges, kernel)
        is_average = op.name == "AVERAGE_POOL_2D"
        if is_average and kernel == edges and not any(pad) and not activation[0]:
            y = self.build.pool(self.new("p"), x)
        else:
            kind = "average_pool" if is_average else "max_pool"
            y = self.build.sliding_pool(kind, self.new("p"), x, kernel, stride, pad)
        if activation[0]:
            self.build.nodes[-1].attrs.update(relu=True, limit=activation[1] or 6.0)
        self.place(op.outputs[0], y)

    def _mean(self, op):
        axes, shape = self.tensor(op.inputs[1]).data, self.tensor(op.inputs[0]).shape
        axes = None if axes is None else {int(axis) % len(shape) for axis in np.ravel(axes)}
        # Axes of one place make no difference.
        middle = {i for i, edge in enumerate(shape[:-1]) if edge > 1}
        if axes is None or {i for i in axes if shape[i] > 1} != middle:
            what = "computed axes" if axes is None else f"axes {sorted(axes)} of {shape}"
            self.problems.add(f"MEAN over {what}", "mean over height and width")
            return
        x, given = self.shaped(op.inputs[0]), self.tensor(op.outputs[0])
        if self.quantized:
            y = add_mean(self, x, (float(given.scale[0]), self.zero_point(op.outputs[0])))
        else:
            y = self.build.pool(self.new("p"), x)
        self.place(op.outputs[0], y)

    def _pad(self, op):
        amounts = self.tensor(op.inputs[1]).data
        rank = len(self.tensor(op.inputs[0]).shape)
        if amounts is None or amounts.shape != (rank, 2) or rank < 2 or amounts[0].any():
            self.problems.add("PAD of batch", "pad of height and width")
            return
        # Where there is no height, or no width either, nothing is added to them.
        (top, bottom), (left, right), channels = [[0, 0]] * (4 - rank) + amounts[1:].tolist()
        if any(channels) and self.quantized:
            self.problems.add("PAD of channels in int8", "in a float model")
            return
        x = self.shaped(op.inputs[0])
        y = with_zeros(self, x, *channels) if any(channels) else x
        if any((top, left, bottom, right)):
            y = self.build.pad(self.new("pad"), y, (top, left, bottom, right))
        self.place(op.outputs[0], y)

    def _softmax(self, op):
        if not self._is_end(op.outputs[0]):
            self.problems.add("SOFTMAX within the network", "softmax at the output")
            return
        if op.options.get("Beta", 1.0) != 1.0:
            self.problems.add(f"SOFTMAX with beta {op.options['Beta']:g}", "a beta of 1")
            return
        shape = self.file.tensors[op.inputs[0]].shape
        note = softmax_note(shape[-1], math.prod(shape))
        if note is None:
            self.problems.add("SOFTMAX over 1 value", "one over the classes")
            return
        self.notes.append(note)
        self.made[op.outputs[0]] = self.made[op.inputs[0]]
        self.left_out.add(op.outputs[0])

    def _lookup(self, op):
        if op.inputs[0] in self.left_out:  # a probability stored in another way
            self.made[op.outputs[0]] = self.made[op.inputs[0]]
            return
        self._with_table(op, _LOOKUPS[op.name], self.made[op.inputs[0]])

    def _leaky(self, op):
        slope = op.options["Alpha"]
        if slope < 0 and self.quantized:
            self.problems.add("LEAKY_RELU with an alpha below 0 in int8", "a positive alpha")
            return
        self._with_table(op, with_numbers("leaky_relu", slope), self.made[op.inputs[0]], slope)

    def _bounded(self, op):
        """A maximum or minimum of a signal and a number."""
        signals = [i for i in op.inputs if i in self.made]
        numbers = [self.real(i) for i in op.inputs if i not in self.made]
        if len(signals) != 1 or np.size(numbers[0]) != 1:
            self.problems.add(f"{op.name} of two signals", "of a signal and one number")
            return
        function = with_numbers(op.name.lower(), *np.ravel(numbers[0]))
        self._with_table(op, function, self.made[signals[0]])

    def _with_table(self, op, function, x, slope=None):
        """Map `x` to the file's tensor; no table where it would change no byte.

        :param slope: of a leaky ReLU, whose two factors are rounded as those of a layer
        """
        index = op.outputs[0]
        given = self.tensor(index)
        if not self.quantized:
            if function == "identity":
                self.problems.add(f"{op.name} in a float model", "float32 or int8 throughout")
                return
            self.place(index, looked_up(self, x, function))
            return
        if given.scale is None or given.dtype not in ("INT8", "UINT8"):
            self.problems.add(f"{op.name} to {given.dtype}", "int8 inside, int8 at the output")
            return
        target = (float(given.scale[0]), self.zero_point(index))
        if given.dtype == "UINT8":
            self.notes.append("output is uint8 in the file, here int8: value - 128")
        if function == "identity" and target == self.scales[x]:
            self.made[index] = x
            return
        name = self.new("t")
        self.values[name + ".table"] = self._table(function, self.scales[x], target, slope)
        y = self.build.lookup(name, x, function)
        self.scales[name + ".table"] = target
        self.place(index, y)

    @staticmethod
    def _table(function, x, y, slope):
        """Return a table as TensorFlow Lite Micro rounds it, where it does so in integers."""
        if function in ("identity", "relu"):
            return requantized_table(x, y, function == "relu")
        if function == "hard_swish":
            return hard_swish_table(x, y)
        if slope is not None:
            return leaky_table(slope, x, y)
        return table(function_of(function), x, y)

    def _reshape(self, op):
        if op.outputs[0] in self.made:  # the input's own
            return
        x = self.made[op.inputs[0]]
        old, shape = self.build.tensors[x].shape, self.tensor(op.outputs[0]).shape
        size = math.prod(old)
        flat = [edge for edge in shape if edge != 1] in ([size], [-1], [])
        if not flat and (not is_map(shape) or math.prod(shape) != size):
            self.problems.add(f"{op.name} to {shape}", "at most four axes")
            return
        # A flattened tensor stays as it is: a dense layer sees all values in memory's order.
        y = x if flat else shaped(self, x, chw(shape))
        self.made[op.outputs[0]] = y

    def _output(self):
        """Return the output; several stand behind each other, each in the file's order."""
        for index in self.file.outputs:
            self.streams.make(index)
        ends = [self.made[index] for index in self.file.outputs]
        if len(ends) == 1:
            return ends[0]
        counts = [math.prod(self.build.tensors[end].shape) for end in ends]
        self.notes.append(f"{len(ends)} outputs behind each other, of {counts} numbers")
        if self.quantized:
            widest = max((self.scales[end] for end in ends), key=lambda scale: scale[0])
            ends = [of_scale(self, end, widest) for end in ends]
        y = self.build.concat(self.new("j"), ends, "all")
        if self.quantized:
            self.scales[y] = self.scales[ends[0]]
        return y

    def _finished(self):
        y = self._output()
        graph = with_scales(self.build.finish(y), self.scales)
        values = self.values
        if not self.quantized:
            values = {name: np.asarray(value, np.float32) for name, value in values.items()}
        return checked(graph, values, self.notes)


def chw(shape):
    """Return (channels, height, width) of a file's shape (1, ..., channels), or without the 1."""
    edges = tuple(shape[1:] if shape[:1] == (1,) else shape)
    *rest, channels = edges or (1,)
    return (channels, *(1,) * (2 - len(rest)), *rest)


def is_map(shape):
    """Tell whether a file's shape is one that `chw` takes."""
    return len(shape) - (shape[:1] == (1,)) <= 3


def is_of_channels(constant, channels):
    """Tell whether a constant is one number, or one for each channel along its last axis."""
    size = np.size(constant)
    return size == 1 or size == channels == np.shape(constant)[-1]
