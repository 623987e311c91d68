# SPDX-License-Identifier: MIT
"""Variables, slices and splits of .tflite streams; see `import_tflite`."""

from dataclasses import dataclass

import numpy as np

from .import_moves import in_order
from .importing import KERNEL_MOST
from .moves import places

_SPLIT_FORM = "split of channels into depthwise layers that see it to its last row, joined again"
# What knows a part of a tensor as one; whatever else reads it gets a tensor.
_MAKE_PARTS = ("STRIDED_SLICE", "SPLIT", "SPLIT_V")
_READ_PARTS = (*_MAKE_PARTS, "DEPTHWISE_CONV_2D", "ASSIGN_VARIABLE")
_STATE_FORM = "a variable that keeps the last rows of what it was joined with"


@dataclass(frozen=True)
class _Part:
    """Channels and rows of a graph's tensor."""

    source: str
    channels: tuple
    rows: tuple


@dataclass(frozen=True)
class _Pending:
    """A depthwise layer of a part, until its output is joined with the others."""

    op: object
    part: _Part
    weight: object  # (channels, 1, height, 1)


class Streams:
    """Handlers of the operators that move bytes only."""

    def __init__(self, lowering):
        self.low = lowering
        self.variables, self.read, self.parts, self.pending = {}, {}, {}, {}
        self.windows, self.names = {}, {}
        self.handlers = {
            "CALL_ONCE": self._call_once,
            "VAR_HANDLE": self._handle,
            "READ_VARIABLE": self._read,
            "ASSIGN_VARIABLE": self._assign,
            "CONCATENATION": self._join,
            "STRIDED_SLICE": self._slice,
            "SPLIT_V": self._split,
            "SPLIT": self._split,
        }

    def knows(self, index):
        return any(index in each for each in (self.names, self.read, self.parts, self.pending))

    def _call_once(self, op):
        """Take the variables' first values from the graph that runs once."""
        first = self.low.graphs[op.options["InitSubgraphIndex"]]
        names = {}
        for once in first.ops:
            if once.name == "VAR_HANDLE":
                names[once.outputs[0]] = once.options["SharedName"]
            elif once.name == "ASSIGN_VARIABLE":
                data = first.tensors[once.inputs[1]].data
                self.variables[names[once.inputs[0]]] = data

    def _handle(self, op):
        self.names[op.outputs[0]] = op.options["SharedName"]

    def _read(self, op):
        self.read[op.outputs[0]] = self.names[op.inputs[0]]

    def _assign(self, op):
        """Check that a variable keeps the last rows of its window."""
        variable, part = self.names[op.inputs[0]], self.parts.get(op.inputs[1])
        window = self.windows.get(variable)
        shape = self.low.build.tensors[window].shape if window else None
        kept = self.variables.get(variable)
        if part is None or part.source != window or kept is None:
            self.low.problems.add("ASSIGN_VARIABLE", _STATE_FORM)
        elif part.rows != (shape[1] - kept.shape[1], shape[1]) or part.channels != (0, shape[0]):
            self.low.problems.add("ASSIGN_VARIABLE", _STATE_FORM)

    def _join(self, op):
        low = self.low
        axis = op.options["Axis"]
        shape = low.tensor(op.outputs[0]).shape
        if len(op.inputs) == 2 and op.inputs[0] in self.read and op.inputs[1] in low.made:
            if axis in (1, 1 - len(shape)) and len(shape) == 4:
                self._window(op)
                return
        pending = [self.pending.get(i) for i in op.inputs]
        if all(pending) and axis in (3, -1) and self._joined(op, pending):
            return
        if all(i in low.made for i in op.inputs):
            low.join(op)
            return
        low.problems.add("CONCATENATION", f"{_STATE_FORM}, or {_SPLIT_FORM}")

    def _window(self, op):
        low, variable = self.low, self.read[op.inputs[0]]
        if not low.quantized:
            low.problems.add("READ_VARIABLE in a float model", "an int8 stream")
            return
        rows = low.tensor(op.outputs[0]).shape[1]
        if rows > KERNEL_MOST:
            low.problems.add(f"a window of {rows} rows", f"at most {KERNEL_MOST}")
            return
        name = low.new("w")
        x = low.made[op.inputs[1]]
        y = low.build.window(name, x, rows)
        kept = self.variables.get(variable)
        if kept is None or low.scales[x] != _scale(low, op.inputs[0]):
            low.problems.add("READ_VARIABLE without a first value of the same scale", _STATE_FORM)
            return
        first = np.full(low.build.tensors[y].shape, low.scales[x][1], np.int8)
        first[:, rows - kept.shape[1] :] = kept[0].transpose(2, 0, 1)
        low.values[y] = first
        self.windows[variable] = y
        low.place(op.outputs[0], y)

    def _whole(self, index):
        """Return the part that a tensor is, or None."""
        if index in self.parts:
            return self.parts[index]
        if index not in self.low.made:
            return None
        name = self.low.shaped(index)
        channels, rows, _ = self.low.build.tensors[name].shape
        return _Part(name, (0, channels), (0, rows))

    def _slice(self, op):
        """Rows of a tensor; the end is where its shape says, which the file states anyway."""
        low, part = self.low, self._whole(op.inputs[0])
        shape = low.tensor(op.outputs[0]).shape
        begin, _, step = (low.tensor(i).data for i in op.inputs[1:4])
        source = low.tensor(op.inputs[0]).shape
        masks = [op.options[key] for key in ("EllipsisMask", "NewAxisMask", "ShrinkAxisMask")]
        sound = (
            part is not None
            and begin is not None
            and step is not None
            and not any(masks)
            and not op.options["Offset"]
            and len(shape) == 4
            and (step == 1).all()
            and shape[2:] == source[2:]
        )
        if sound:
            start = 0 if op.options["BeginMask"] & 2 else int(begin[1]) % source[1]
            rows = (part.rows[0] + start, part.rows[0] + start + shape[1])
            sound = rows[1] <= part.rows[1] and not (begin[[0, 2, 3]] != 0).any()
        if not sound:
            self.make(op.inputs[0])
            low.moved(op)
            return
        self.parts[op.outputs[0]] = _Part(part.source, part.channels, rows)

    def _split(self, op):
        low = self.low
        axis_at, data_at = (2, 0) if op.name == "SPLIT_V" else (0, 1)
        axis, part = low.tensor(op.inputs[axis_at]).data, self._whole(op.inputs[data_at])
        if part is None or axis is None:
            low.problems.add(op.name, "an activation, along an axis that is constant")
            return
        shapes = [low.tensor(index).shape for index in op.outputs]
        axis = int(np.ravel(axis)[0]) % len(shapes[0])
        ends = np.cumsum([0, *(shape[axis] for shape in shapes)])
        if axis == 3:
            for index, *bounds in zip(op.outputs, ends, ends[1:], strict=False):
                channels = tuple(int(part.channels[0] + bound) for bound in bounds)
                self.parts[index] = _Part(part.source, channels, part.rows)
            return
        self.make(op.inputs[data_at])
        orders = np.split(low.order(op.inputs[data_at]), ends[1:-1], axis)
        for index, order in zip(op.outputs, orders, strict=True):
            low.moved_to(op, index, op.inputs[data_at], order)

    def make_real(self, op):
        """Make the parts that an operator reads tensors, unless it knows what a part is."""
        if op.name not in _READ_PARTS:
            for index in op.inputs:
                self.make(index)

    def make(self, index):
        """Make a tensor of a part; nothing where it is there, or no part."""
        low, part = self.low, self.parts.get(index)
        if part is None or index in low.made:
            return
        at = places(low.build.tensors[part.source].shape)
        at = at[slice(*part.channels), slice(*part.rows)]
        low.place(index, in_order(low, part.source, at.transpose(1, 2, 0).ravel(), at.shape))

    def depthwise_of_part(self, op, weight):
        """Put a depthwise layer of a part aside; return whether it is one."""
        part = self.parts.get(op.inputs[0])
        if part is None:
            return False
        _, height, width, channels = weight.shape
        shape = self.low.tensor(op.inputs[0]).shape
        fits = (height, width, channels) == shape[1:] and op.options["Padding"] == 1
        total = self.low.build.tensors[part.source].shape[1]
        is_whole = part.channels == (0, self.low.build.tensors[part.source].shape[0])
        if (
            not fits
            or width != 1
            or part.rows[1] != total
            or not (is_whole or self._is_joined(op))
        ):
            self.make(op.inputs[0])
            return False
        weight = weight.transpose(3, 0, 1, 2)
        if is_whole:
            wide = _raised(weight, total)
            self.low.convolution(op, wide, len(wide), part.source)
        else:
            self.pending[op.outputs[0]] = _Pending(op, part, weight)
        return True

    def _is_joined(self, op):
        """Tell whether a depthwise layer goes into a join of such layers, and nowhere else."""
        low, made = self.low, op.outputs[0]
        join = next((o for o in low.file.ops if made in o.inputs), None)
        if join is None or join.name != "CONCATENATION" or low.readers(made) != 1:
            return False
        makers = {index: o for o in low.file.ops for index in o.outputs}
        layers = [makers.get(index) for index in join.inputs]
        return low.quantized and all(
            layer is not None
            and layer.name == "DEPTHWISE_CONV_2D"
            and len(layer.inputs) > 2
            and layer.inputs[0] in makers
            and makers[layer.inputs[0]].name in _MAKE_PARTS
            for layer in layers
        )

    def _joined(self, op, pending):
        """Make one depthwise layer of several; return False where they do not fit together."""
        low, source = self.low, pending[0].part.source
        channels, rows, _ = low.build.tensors[source].shape
        bounds = [each.part.channels for each in pending]
        follow = [0] + [stop for _, stop in bounds] == [start for start, _ in bounds] + [channels]
        scales = {_scale(low, i) for i in (*op.inputs, op.outputs[0])}
        acts = {each.op.options["FusedActivationFunction"] for each in pending}
        if not follow or len(scales) != 1 or len(acts) != 1:
            return False
        if any(each.part.source != source for each in pending):
            return False
        weight = np.concatenate([_raised(each.weight, rows) for each in pending])
        activation = low.activation(pending[0].op)
        if activation is None:
            return True
        name = low.new("c")
        relu, limit = activation
        y = low.build.conv(name, source, channels, (rows, 1), 1, channels, relu, 0, limit)
        low.values[name + ".w"] = np.ascontiguousarray(weight, np.int8)
        bias = [np.ravel(low.tensor(each.op.inputs[2]).data) for each in pending]
        low.values[name + ".b"] = low.bias(pending[0].op, np.concatenate(bias))
        scale = np.concatenate(
            [
                np.broadcast_to(low.tensor(each.op.inputs[1]).scale, (len(each.weight),))
                for each in pending
            ]
        )
        low.scales[name + ".w"] = (tuple(scale.tolist()), 0)
        low.scales[name + ".b"] = (tuple((scale * low.scales[source][0]).tolist()), 0)
        low.place(op.outputs[0], y)
        return True


def _raised(weight, rows):
    """Return a weight (channels, 1, height, 1) with zeros above, `rows` high."""
    wide = np.zeros((*weight.shape[:2], rows, weight.shape[3]), weight.dtype)
    wide[:, :, rows - weight.shape[2] :] = weight
    return wide


def _scale(low, index):
    tensor = low.tensor(index)
    return (float(tensor.scale[0]), low.zero_point(index))
