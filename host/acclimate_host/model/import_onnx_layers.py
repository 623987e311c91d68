# SPDX-License-Identifier: MIT
"""ONNX operators one by one; see `import_onnx`."""

import math
from dataclasses import replace

import numpy as np

from .import_moves import in_order
from .import_onnx_moves import Moves
from .import_onnx_recurrent import Recurrent
from .importing import (
    ModelImportError,
    affine,
    dilate,
    function_of,
    keep_bias,
    looked_up,
    mean_layer,
    same_padding,
    scaled,
    table,
    with_numbers,
    with_room,
)
from .losses import softmax_note
from .onnx_check import reshape_fault
from .onnx_file import Stored

_FUNCTIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "HardSwish": "hard_swish", "Gelu": "gelu"}
# Functions with numbers, and these where the file has none.
_WITH_ATTRIBUTES = {
    "LeakyRelu": ("leaky_relu", {"alpha": 0.01}),
    "Elu": ("elu", {"alpha": 1.0}),
    "HardSigmoid": ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
}
# What keeps the order of axes of its signal, and what wants channels first.
ELEMENTWISE = (
    "Add", "Sub", "Mul", "Div", "Relu", "Clip", "Requantize", "Max", "Min", "PRelu",
    *_FUNCTIONS, *_WITH_ATTRIBUTES,
)  # fmt: skip
CHANNELS_FIRST = (
    "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Pad",
    "BatchNormalization",
)  # fmt: skip
PER_SAMPLE = (*CHANNELS_FIRST, "Resize", "Upsample")  # the first axis is that of samples
_RESHAPES = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")


class Layers:
    """Handlers by operator; `low` is the lowering that they add to."""

    def __init__(self, low):
        self.low, self.file = low, low.file
        self.moves = Moves(low, self.constant)
        self.recurrent = Recurrent(low, self.constant, self.moves)
        self.handlers = {
            **self.moves.handlers,
            **self.recurrent.handlers,
            "Conv": self._conv,
            "ConvTranspose": self._conv_transposed,
            "Gemm": self._gemm,
            "MatMul": self._matmul,
            "Add": self._add,
            "Sub": self._affine,
            "Mul": self._affine,
            "Div": self._affine,
            "BatchNormalization": self._normalization,
            "Relu": self._relu,
            "Clip": self._clip,
            "MaxPool": self._pool,
            "AveragePool": self._pool,
            "Pad": self._pad,
            "GlobalAveragePool": self._global,
            "GlobalMaxPool": self._global,
            "ReduceMean": self._mean,
            "Transpose": self._transpose,
            "Softmax": self._softmax,
            "LogSoftmax": self._softmax,
            "Requantize": self._requantize,
            "Max": self._bounded,
            "Min": self._bounded,
            **dict.fromkeys(_FUNCTIONS, self._function),
            **dict.fromkeys(_WITH_ATTRIBUTES, self._with_numbers),
            **dict.fromkeys(_RESHAPES, self._reshape),
        }

    def constant(self, name):
        """Return a constant's array of real numbers, or None."""
        value = self.file.constants.get(name)
        return value.real if isinstance(value, Stored) else value

    # ---- layers with weights -----------------------------------------------------------------

    def _conv(self, op):
        low, weight = self.low, self.file.constants.get(op.inputs[1])
        if weight is None or op.inputs[0] not in low.made:
            low.problems.add("Conv with weights that are computed", "constant weights")
            return
        data = weight.data if isinstance(weight, Stored) else weight
        if data.ndim == 3:
            data = data[..., None]
        if data.ndim == 4 and low.is_turned(op.inputs[0]):
            data, op = data.swapaxes(2, 3), _turned(op)
        if data.ndim != 4:
            low.problems.add(f"Conv in {data.ndim - 2} dimensions", "1 or 2 dimensions")
            return
        data = dilate(data, _spread(op.attrs.get("dilations"), 1))
        stride = _spread(op.attrs.get("strides"), 1)
        edges = low.shape(op.inputs[0])[1:]
        pad = _padding(op.attrs, edges, data.shape[2:], stride)
        name = low.new("c")
        y = low.build.conv(
            name,
            low.made[op.inputs[0]],
            len(data),
            data.shape[2:],
            stride,
            op.attrs.get("group", 1),
            False,
            pad,
        )
        self._parameters(name, op, weight, data, low.made[op.inputs[0]])
        low.place(op.outputs[0], y)

    def _conv_transposed(self, op):
        """Squares beside each other: a convolution of one pixel, whose channels become squares."""
        low, weight = self.low, self.constant(op.inputs[1])
        if weight is not None and weight.ndim == 3:
            weight = weight[..., None]
        if low.quantized or op.inputs[0] not in low.made or not _is_beside(op.attrs, weight):
            form = "a float model, constant weights, strides as the kernel, without padding"
            low.problems.add("ConvTranspose that overlaps", form)
            return
        weight = weight.swapaxes(2, 3) if low.is_turned(op.inputs[0]) else weight
        groups, name = op.attrs.get("group", 1), low.new("c")
        each, (rows, columns) = weight.shape[1], weight.shape[2:]
        outputs, (_, height, width) = groups * each, low.shape(op.inputs[0])
        data = weight.reshape(groups, -1, each, rows, columns).transpose(0, 2, 3, 4, 1)
        data = data.reshape(outputs * rows * columns, -1, 1, 1)
        y = low.build.conv(name, low.made[op.inputs[0]], len(data), 1, 1, groups, False, 0)
        bias = self.constant(op.inputs[2]) if len(op.inputs) > 2 else np.zeros(outputs)
        low.values[name + ".w"] = np.asarray(data, float)
        low.values[name + ".b"] = np.repeat(np.ravel(bias), rows * columns).astype(float)
        index = np.arange(height * width * len(data)).reshape(height, width, outputs, rows, -1)
        index = index.transpose(0, 3, 1, 4, 2).ravel()
        low.place(
            op.outputs[0],
            in_order(low, y, index, (outputs, height * rows, width * columns)),
        )

    def _gemm(self, op):
        is_scaled = op.attrs.get("alpha", 1.0) > 0 or not self.low.quantized
        if not is_scaled or op.attrs.get("transA"):
            form = "Gemm of x, W and bias"
            self.low.problems.add("Gemm with transA, or alpha of 0 or less in int8", form)
            return
        self._dense(op, bool(op.attrs.get("transB")))

    def _matmul(self, op):
        self._dense(op, False)

    def _dense(self, op, rows_first):
        low, weight = self.low, self.file.constants.get(op.inputs[1])
        if weight is None or op.inputs[0] not in low.made:
            form = "constant weights, or attention: MatMul, a factor, Softmax, MatMul"
            low.problems.add(f"{op.name} of two activations", form)
            return
        data = weight.data if isinstance(weight, Stored) else weight
        data = data if rows_first else data.T
        channels, height, width = low.shape(op.inputs[0])
        edges = self.moves.edges(op.inputs[0])
        if data.ndim == 2 and len(edges) > 1 and data.shape[1] == edges[-1] < math.prod(edges):
            self._pointwise(op, weight, data, int(not rows_first))
            return
        if data.ndim != 2 or data.shape[1] != channels * height * width:
            low.problems.add(
                f"{op.name} of {tuple(data.shape)} on {channels}x{height}x{width} values",
                "all values of its input at once",
            )
            return
        if op.inputs[0] in low.hwc:
            data = data.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        data = data.reshape(-1, channels, height, width)
        name = low.new("fc")
        y = low.build.dense(name, low.made[op.inputs[0]], len(data))
        self._parameters(name, op, weight, data, low.made[op.inputs[0]], int(not rows_first))
        low.place(op.outputs[0], y)

    def _pointwise(self, op, weight, data, outputs_axis):
        """A product with the last axis alone: a convolution of one pixel."""
        low, x = self.low, self.moves.channels_last(op.inputs[0])
        name = low.new("c")
        y = low.build.conv(name, x, len(data), 1, 1, 1, False, 0)
        self._parameters(name, op, weight, data[..., None, None], x, outputs_axis)
        low.place(op.outputs[0], y)
        low.hwc.add(op.outputs[0])

    def _parameters(self, name, op, weight, data, x, outputs_axis=0):
        """Keep a layer's weight and bias, stored or real, and their scales.

        :param outputs_axis: of the outputs in the file's weight
        """
        low, real = self.low, self._bias(op, len(data))
        alpha = op.attrs.get("alpha", 1.0)  # of a Gemm
        if real is None:
            return
        if not low.quantized:
            low.values[name + ".w"], low.values[name + ".b"] = (
                alpha * np.asarray(data, float),
                real,
            )
            return
        if (
            not isinstance(weight, Stored)
            or weight.data.dtype != np.int8
            or np.any(weight.zero_point)
        ):
            low.problems.add(f"{op.name} with {data.dtype} weights", "symmetric int8 weights")
            return
        if np.size(weight.scale) > 1 and weight.axis != outputs_axis:
            form = "a scale for each output"
            low.problems.add(f"{op.name} with scales along axis {weight.axis}", form)
            return
        scale = alpha * np.broadcast_to(weight.scale, (len(data),))
        if x in low.scales:
            data, coarse = with_room(data, scale, low.scales[x][0], real)
            changed = np.flatnonzero(coarse != scale).tolist()
            if changed:
                low.notes.append(f"{name}: channels {changed} have tiny weights: coarser scales")
            scale = coarse
        low.values[name + ".w"] = np.ascontiguousarray(data)
        low.scales[name + ".w"] = (tuple(scale.tolist()), 0)
        if x in low.scales:
            keep_bias(low, name, real, scale * low.scales[x][0])
        else:  # the model is refused later
            keep_bias(low, name, np.zeros(len(data)), np.ones(len(data)))

    def _bias(self, op, outputs):
        """Return the real bias of a layer, a number for each of its outputs, or None: refused."""
        name = op.inputs[2] if len(op.inputs) > 2 else ""
        value = self.constant(name) if name else 0.0
        if (
            value is None
            or np.size(value) not in (1, outputs)
            or np.size(value) > (np.shape(value) or (1,))[-1]
        ):
            form = "a constant, one number for each output"
            self.low.problems.add(f"{op.name} with a bias of shape {np.shape(value)}", form)
            return None
        real = np.broadcast_to(np.ravel(value).astype(float), (outputs,))
        return op.attrs.get("beta", 1.0) * real

    # ---- what is folded into a layer -----------------------------------------------------------

    def _normalization(self, op):
        if op.attrs.get("training_mode") or op.attrs.get("spatial", 1) != 1:
            form = "export for inference: model.eval()"
            self.low.problems.add(f"{op.name} in training, or of each place", form)
            return
        scale, shift, mean, variance = (self.constant(name) for name in op.inputs[1:5])
        variance = variance + op.attrs.get("epsilon", 1e-5)
        if not np.min(variance) > 0:
            raise ModelImportError(
                f"{self.low.source}: {op.name} {op.outputs[0]}: variance and epsilon: expected "
                f"above 0, got {np.min(variance):g}"
            )
        factor = scale / np.sqrt(variance)
        self._scaled(op, factor, shift - mean * factor)

    def _affine(self, op):
        """Sub, Mul or Div of an activation and a constant that is one number per channel."""
        if op.name == "Mul" and self._swish(op):
            return
        both = all(name in self.low.made for name in op.inputs)
        if both and self.moves.two_signals(op):
            return
        left = op.inputs[0] in self.low.made
        constant = self.constant(op.inputs[1] if left else op.inputs[0])
        form = None if constant is None else affine(op.name, constant, left)
        if form is None:
            form = "two of one shape, or one number per channel; a constant per channel"
            self.low.problems.add(f"{op.name} of two activations", form)
            return
        factor, shift = form
        signal = op.inputs[0 if left else 1]
        found = [self.moves.per_channel(value, signal) for value in (factor, shift)]
        if any(value is None for value in found):
            is_sum = op.name == "Add" or op.name == "Sub" and left
            if not is_sum or not self.moves.shifted(op, shift, signal):
                self.low.problems.add(f"{op.name} of a constant map", "a constant per channel")
            return
        self._scaled(op, *found, source=signal)

    def _scaled(self, op, factor, shift, source=None):
        """Make y = x * factor + shift, within the layer that makes x if nobody else reads it."""
        low, source = self.low, source or op.inputs[0]
        y = scaled(low, low.made[source], factor, shift)
        low.place(op.outputs[0], y)

    def _relu(self, op):
        self._clamped(op, math.inf)

    def _clip(self, op):
        bounds = [op.attrs.get("min"), op.attrs.get("max")]
        for i, name in enumerate(op.inputs[1:3]):
            bounds[i] = float(self.constant(name)) if name else bounds[i]
        low, high = bounds
        if low != 0:
            self.low.problems.add(f"Clip to [{low}, {high}]", "Clip to [0, limit]")
            return
        self._clamped(op, math.inf if high is None or high > 1e30 else float(high))

    def _clamped(self, op, limit):
        low, source = self.low, op.inputs[0]
        x, before = low.made[source], source
        alone = self._is_alone(before)
        pool = next((o for o in self.file.ops if source in o.outputs), None)
        if alone and pool is not None and pool.name in ("MaxPool", "GlobalMaxPool"):
            # The largest of clamped numbers is the largest one, clamped.
            before = pool.inputs[0]
            alone = self._is_alone(before)
        if alone and low.build.clamp(low.made[before], limit):
            low.place(op.outputs[0], x)
        elif limit == math.inf:
            self._with_table(op, "relu")
        elif limit == 6:
            self._with_table(op, "relu6")
        else:
            low.problems.add(f"Clip to [0, {limit}] of its own", "Clip behind a layer")

    def _is_alone(self, name):
        """Tell whether one operator alone reads a tensor, which has no scale of its own."""
        return self.low.readers(name) == 1 and name not in self.file.scales

    # ---- the others ----------------------------------------------------------------------------

    def _add(self, op):
        low = self.low
        if all(name in low.made for name in op.inputs):
            if not self.moves.two_signals(op):
                shapes = [self.moves.edges(name) for name in op.inputs]
                low.problems.add(f"Add of {shapes}", "shapes that ONNX broadcasts")
        else:
            self._affine(op)

    def _pool(self, op):
        low, x = self.low, self.low.made[op.inputs[0]]
        edges = low.shape(op.inputs[0])[1:]
        op = _turned(op) if low.is_turned(op.inputs[0]) else op
        kernel = _spread(op.attrs["kernel_shape"], 1)
        stride = _spread(op.attrs.get("strides"), 1)
        pad = _padding(op.attrs, edges, kernel, stride)
        if op.attrs.get("ceil_mode") or any(d != 1 for d in op.attrs.get("dilations", ())):
            low.problems.add(f"{op.name} with ceil_mode or dilations", "neither")
        elif op.name == "AveragePool" and any(pad) and op.attrs.get("count_include_pad"):
            low.problems.add("AveragePool that counts padding", "count_include_pad = 0")
        elif op.name == "AveragePool" and not any(pad) and self._has_own_scale(op):
            low.place(op.outputs[0], mean_layer(low, x, kernel, stride))
        else:
            kind = "average_pool" if op.name == "AveragePool" else "max_pool"
            self._pooled(op, low.build.sliding_pool(kind, low.new("p"), x, kernel, stride, pad))

    def _global(self, op):
        low, x = self.low, self.low.made[op.inputs[0]]
        if op.name == "GlobalAveragePool":
            self._average(op)
            return
        edges = low.shape(op.inputs[0])[1:]
        self._pooled(op, low.build.sliding_pool("max_pool", low.new("p"), x, edges, 1))

    def _mean(self, op):
        low = self.low
        axes = op.attrs.get("axes")
        if axes is None and len(op.inputs) > 1:
            axes = np.ravel(self.constant(op.inputs[1])).tolist()
        name = op.inputs[0]
        has_samples, last = self.moves.samples_axis(name), self.moves.has_channels_last(name)
        rank = len(self.moves.edges(name)) + has_samples
        if not last and not self.moves.leads(name, True):
            self.moves.channels_first(name)
        places = range(1, rank - 1) if last else range(2, rank)
        if not (has_samples and axes) or sorted(a % rank for a in axes) != list(places):
            low.problems.add(f"ReduceMean over axes {axes}", "mean over height and width")
            return
        self._average(op)

    def _average(self, op):
        """The mean of each channel; one of another scale is a depthwise layer."""
        low, x = self.low, self.low.made[op.inputs[0]]
        if self._has_own_scale(op):
            low.place(op.outputs[0], mean_layer(low, x))
        else:
            self._pooled(op, low.build.pool(low.new("p"), x))

    def _has_own_scale(self, op):
        """Tell whether an output is stored in other steps than its input."""
        low, stored = self.low, self.file.scales.get(op.outputs[0])
        x = low.made[op.inputs[0]]
        if not low.quantized or stored is None or x not in low.scales:
            return False
        return (stored.scale, stored.zero_point) != low.scales[x]

    def _pooled(self, op, y):
        """What keeps its input's scale needs a table for another scale in the file."""
        low, x = self.low, self.low.made[op.inputs[0]]
        if not low.quantized:
            low.place(op.outputs[0], y)
            return
        low.scales[y] = low.scales[x]
        self._with_table(op, "identity", y)

    def _pad(self, op):
        low, amounts = self.low, self._pad_amounts(op)
        value = op.attrs.get("value", 0.0)
        if len(op.inputs) > 2 and op.inputs[2]:
            value = float(np.ravel(self.constant(op.inputs[2]))[0])
        form = op.attrs.get("mode", "constant")
        if (
            form != "constant"
            or value
            or len(amounts) != 8
            or min(amounts) < 0
            or any(amounts[i] for i in (0, 1, 4, 5))
        ):
            low.problems.add(f"Pad ({form})", "zeros around height and width")
            return
        pad = (amounts[2], amounts[3], amounts[6], amounts[7])
        if low.is_turned(op.inputs[0]):
            pad = (pad[1], pad[0], pad[3], pad[2])
        self._pooled(op, low.build.pad(low.new("pad"), low.made[op.inputs[0]], pad))

    def _pad_amounts(self, op):
        """Return the places before each axis and behind each, () where they are computed."""
        amounts = op.attrs.get("pads")
        if amounts is None and len(op.inputs) > 1:
            amounts = self.constant(op.inputs[1])
        rank = len(self.moves.edges(op.inputs[0])) + 1
        axes = range(rank)
        if len(op.inputs) > 3 and op.inputs[3]:
            axes = self.constant(op.inputs[3])
        if amounts is None or axes is None:
            return ()
        whole = np.zeros((2, rank), int)
        whole[:, [int(axis) % rank for axis in axes]] = np.reshape(amounts, (2, -1))
        return whole.ravel().tolist()

    def _transpose(self, op):
        if op.outputs[0] not in self.low.made and not self.recurrent.turned(op):
            self.moves.turned(op)

    def _reshape(self, op):
        """Alias: a flattening; what follows must be a dense layer, which sees all values.

        Axes of one place may come and go anywhere.
        """
        low = self.low
        if op.outputs[0] in low.made or self.recurrent.squeezed(op):
            return
        self._check_count(op)
        if self._is_rearranged(op):
            self.moves.reshaped(op)
            return
        self._kept(op)
        if op.inputs[0] in low.hwc:
            low.hwc.add(op.outputs[0])

    def _kept(self, op):
        """Let the output be the input, in other steps where the file has another pair for it."""
        if self._has_own_scale(op):
            self._with_table(op, "identity")
        else:
            self.low.made[op.outputs[0]] = self.low.made[op.inputs[0]]

    def _is_rearranged(self, op):
        """Tell whether a reshape is more than axes of one place and flattening."""
        shapes = [self.file.shapes.get(name) for name in (op.inputs[0], op.outputs[0])]
        if all(shapes) and len({tuple(e for e in shape if e > 1) for shape in shapes}) == 1:
            return False
        bad = [
            o.name
            for o in self.file.ops
            if op.outputs[0] in o.inputs
            and o.name not in (*_RESHAPES, "Gemm", "MatMul", "Softmax", "LogSoftmax")
        ]
        return bool(bad) and sum(edge > 1 for edge in self.low.shape(op.inputs[0])) > 1

    def _check_count(self, op):
        """Raise where a Reshape names a shape that its input's values cannot have."""
        old = self.file.shapes.get(op.inputs[0])
        wanted = self.file.constants.get(op.inputs[1]) if len(op.inputs) > 1 else None
        if op.name != "Reshape" or not old or not isinstance(wanted, np.ndarray):
            return
        wrong = reshape_fault(old, np.ravel(wanted).tolist())
        if wrong:
            raise ModelImportError(f"{self.low.source}: {op.name} {op.outputs[0]}: {wrong}")

    def _softmax(self, op):
        if op.outputs[0] not in self.file.outputs:
            self.low.problems.add(f"{op.name} within the network", "softmax at the output")
            return
        outputs = math.prod(self.low.shape(op.inputs[0]))  # of one sample, however many are given
        shape = self.file.shapes.get(op.inputs[0], (1, outputs))
        axis = op.attrs.get("axis", -1)
        each = shape[axis:] if op.attrs.get("all_behind") else shape[axis:][:1]
        note = softmax_note(math.prod(each), outputs)
        if note is None:
            self.low.problems.add(f"{op.name} over 1 value", "one over the classes")
            return
        self.low.notes.append(note)
        self.low.made[op.outputs[0]] = self.low.made[op.inputs[0]]

    def _function(self, op):
        if op.name == "Gelu" and op.attrs.get("approximate", "none") != "none":
            self.low.problems.add("Gelu with approximate", "the exact one")
            return
        self._with_table(op, _FUNCTIONS[op.name])

    def _with_numbers(self, op):
        word, numbers = _WITH_ATTRIBUTES[op.name]
        found = [op.attrs.get(key, value) for key, value in numbers.items()]
        self._with_table(op, with_numbers(word, *found))

    def _bounded(self, op):
        """A maximum or minimum of a signal and a number."""
        signals = [name for name in op.inputs if name in self.low.made]
        numbers = [self.constant(name) for name in op.inputs if name not in self.low.made]
        if len(signals) != 1 or len(numbers) != 1 or np.size(numbers[0]) != 1:
            self.low.problems.add(f"{op.name} of two signals", "of a signal and one number")
            return
        word = {"Max": "maximum", "Min": "minimum"}[op.name]
        function = with_numbers(word, *np.ravel(numbers[0]))
        self._with_table(op, function, self.low.made[signals[0]])

    def _swish(self, op):
        """Make x times its own sigmoid one function; tell whether it is that."""
        low = self.low
        for x, gate in (op.inputs, op.inputs[::-1]):
            made = next((o for o in self.file.ops if gate in o.outputs), None)
            if made is None or list(made.inputs) != [x] or low.readers(gate) != 1:
                continue
            slope = made.attrs.get("alpha", 0.2), made.attrs.get("beta", 0.5)
            is_hard = made.name == "HardSigmoid" and np.allclose(slope, (1 / 6, 0.5), atol=1e-4)
            if made.name == "Sigmoid" or is_hard:
                low.build.take_back(low.made[gate])
                self._with_table(op, "hard_swish" if is_hard else "silu", low.made[x])
                return True
        return False

    def _requantize(self, op):
        low = self.low
        if self._has_own_scale(op):
            first, second = low.scales[low.made[op.inputs[0]]], self.file.scales[op.outputs[0]]
            steps = first[0], second.scale
            low.notes.append(
                f"{op.inputs[0]} is stored twice, in steps of {steps[0]:.3g} and {steps[1]:.3g}: "
                "the second is made of the first"
            )
        self._with_table(op, "identity")

    def _with_table(self, op, function, x=None):
        low, x = self.low, x or self.low.made[op.inputs[0]]
        stored = self.file.scales.get(op.outputs[0])
        target = (stored.scale, stored.zero_point) if stored else None
        if function == "identity" and (not low.quantized or target in (None, low.scales[x])):
            low.place(op.outputs[0], x)
            return
        if not low.quantized:
            low.place(op.outputs[0], looked_up(low, x, function))
            return
        name = low.new("t")
        y = low.build.lookup(name, x, function)
        if target and x in low.scales:
            low.values[name + ".table"] = table(function_of(function), low.scales[x], target)
            low.scales[name + ".table"] = target
        low.place(op.outputs[0], y)


def _is_beside(attrs, weight):
    """Tell whether a transposed convolution makes squares that lie beside each other."""
    if weight is None or weight.ndim != 4:
        return False
    plain = attrs.get("auto_pad", "NOTSET") in ("NOTSET", "VALID") and "output_shape" not in attrs
    zeros = [*attrs.get("pads", ()), *attrs.get("output_padding", ())]
    ones = attrs.get("dilations", ())
    same = _spread(attrs.get("strides"), 1) == weight.shape[2:]
    return plain and not any(zeros) and all(d == 1 for d in ones) and same


def _turned(op):
    """Return an operator over height and width with the two exchanged."""
    attrs = dict(op.attrs)
    for key in ("kernel_shape", "strides", "dilations"):
        if key in attrs:
            attrs[key] = attrs[key][::-1]
    if "pads" in attrs:
        attrs["pads"] = [attrs["pads"][i] for i in (1, 0, 3, 2)]
    return replace(op, attrs=attrs)


def _spread(values, missing):
    """Return (rows, columns) of one or two numbers; one-dimensional models have one column."""
    values = [missing] if values is None else list(values)
    return (values[0], values[1] if len(values) > 1 else (missing if values else 1))


def _padding(attrs, edges, kernel, stride):
    """Return (top, left, bottom, right)."""
    mode = attrs.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        shapes = list(zip(edges, kernel, stride, strict=True))
        if any((math.ceil(e / s) - 1) * s + k < e - 1 for e, k, s in shapes):
            raise ModelImportError(  # onnxruntime's Conv begins elsewhere than its AveragePool
                f"auto_pad {mode} with strides {tuple(stride)} beyond a kernel of {tuple(kernel)} "
                f"on {tuple(edges)} places: ONNX leaves open which are skipped; give pads"
            )
        sides = [same_padding(*three) for three in shapes]
        if mode == "SAME_LOWER":
            sides = [side[::-1] for side in sides]
        return (sides[0][0], sides[1][0], sides[0][1], sides[1][1])
    pads = list(attrs.get("pads", (0, 0, 0, 0))) if mode != "VALID" else [0] * 4
    return (pads[0], 0, pads[1], 0) if len(pads) == 2 else tuple(pads)
