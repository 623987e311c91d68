# SPDX-License-Identifier: MIT
"""ONNX operators that cut, join, turn and enlarge signals, or normalize them; see `import_onnx`.

Each works on the places of the file's elements in memory: an array of the file's shape without
samples, of which parts are taken as the operator takes parts of its input.
"""

import math

import numpy as np

from .build import ATTENTION_MOST
from .import_moves import (
    difference,
    enlarged,
    gated,
    in_order,
    of_scale,
    shaped,
    sloped,
    source_of,
)
from .import_onnx_groups import ATTENTION
from .importing import scaled
from .int8 import NORM_MOST
from .moves import is_in_order, places

_FIXED = "numbers that are constants"
_HIDDEN = -100.0  # a score that is lower by so much has no weight
_SETS_MOST = 64  # each has some 50 bytes of code
_RESIZED_MOST = 1 << 24  # more than any board's program; damaged files may ask for much


class Moves:
    """Handlers by operator; `low` is the lowering that they add to.

    :param constant: function of a name that gives its array of real numbers, or None
    """

    def __init__(self, low, constant):
        self.low, self.file, self.constant = low, low.file, constant
        self.brought = set()  # results of two signals whose order of axes is settled
        self.handlers = {
            ATTENTION: self._attention,
            "Concat": self._concat,
            "DepthToSpace": self._blocks,
            "Gather": self._gather,
            "LayerNormalization": self._normalization,
            "PRelu": self._prelu,
            "Resize": self._resize,
            "Slice": self._slice,
            "SpaceToDepth": self._blocks,
            "Split": self._split,
            "Upsample": self._resize,
        }

    # ---- places ------------------------------------------------------------------------------

    def edges(self, name):
        """Return a signal's shape in the file, without samples.

        Where its first axis is not that of the one sample the shape is whole.
        """
        channels, height, width = self.low.shape(name)
        whole = self.file.shapes.get(name, ())
        for found in (whole[1:], whole):
            if found and math.prod(found) == channels * height * width:
                return tuple(found)
        last = name in self.low.hwc
        return (height, width, channels) if last else (channels, height, width)

    def order(self, name):
        """Return where each element of a signal lies in memory, in the file's shape."""
        shape = self.low.shape(name)
        order = np.arange(math.prod(shape)) if name in self.low.hwc else places(shape)
        return order.reshape(self.edges(name))

    def samples_axis(self, name):
        """Return 1 where the first axis of a signal in the file is that of samples, else 0."""
        return int(self.edges(name) != tuple(self.file.shapes.get(name, ())))

    def whole(self, name):
        """Return `order` with the axis of the one sample, in the file's shape."""
        order = self.order(name)
        return order[None] if self.samples_axis(name) else order

    def has_channels_last(self, name):
        """Tell whether the file's last axis holds what are channels here."""
        return name in self.low.hwc and self.edges(name)[-1] == self.low.shape(name)[0]

    def leads(self, name, first):
        """Tell whether the file's first (else last) axis holds what are channels here."""
        if not first:
            return self.has_channels_last(name)
        return name not in self.low.hwc and self.edges(name)[0] == self.low.shape(name)[0]

    def per_channel(self, value, name):
        """Return one number per channel of a constant, or None where it varies otherwise.

        A constant's axes are the last ones of the signal in the file.
        """
        value, channels = np.asarray(value, float), self.low.shape(name)[0]
        if value.size == 1:
            return np.full(channels, float(value.ravel()[0]))
        edges, last = self.edges(name), self.has_channels_last(name)
        at = len(edges) - 1 if last else 0
        wide = (*(1,) * (len(edges) - value.ndim), *value.shape)[-len(edges) :]
        fits = last or self.leads(name, True)
        return value.ravel() if fits and wide[at] == value.size == channels else None

    def channels_first(self, name, output=None):
        """Bring a signal whose channels are not the file's first axis to an order as here.

        :param output: of the operator that reads it; a row may stay a column if that is one, too
        """
        low, edges, shape = self.low, self.edges(name), self.low.shape(name)
        wide = (*edges, 1, 1)[: max(3, len(edges))]
        turned = low.is_turned(name) and edges[0] == shape[0]
        turned = turned and 1 in self.file.shapes.get(output, (1,) * 4)[2:]
        if name in low.hwc or wide != tuple(shape) and not turned:
            index, x = self.order(name), low.made[name]
            low.hwc.discard(name)
            self.take(name, x, index, is_free=False)

    def channels_last(self, name):
        """Return a signal as a tensor whose channels are the file's last axis."""
        low = self.low
        if self.has_channels_last(name):
            return low.made[name]
        index = self.order(name)
        shape = (index.shape[-1], *index.shape[:-1], 1)[:3]
        return in_order(low, low.made[name], index.ravel(), shape)

    def take(self, output, x, index, last=False, is_free=True):
        """Say that a value of the file has the elements of the tensor `x` at `index`.

        :param index: of the file's shape. :param last: its last axis becomes the channels
        :param is_free: it may lie as it lay before it was moved
        """
        low = self.low
        if not index.size:
            low.problems.add(f"{output} without values", "one or more")
            return
        first, places = source_of(low, x, index.ravel())
        old = low.build.tensors[first].shape
        # The channels may be several axes of the file, such as heads and what each has.
        is_free = is_free and old[0] in np.cumprod(index.shape[::-1])
        if is_free and is_in_order(places, math.prod(old)):
            low.hwc.add(output)
            self.placed(output, first)
            return
        if index.ndim > 3:
            index = index.reshape(-1, index.shape[-1])
            last = True
        ones = (1,) * (3 - index.ndim)
        if last:
            shape = (index.shape[-1], *index.shape[:-1], *ones)
            low.hwc.add(output)
        else:
            shape = (*index.shape, *ones)
            index = index.reshape(shape).transpose(1, 2, 0)
        self.placed(output, in_order(low, x, index.ravel(), shape))

    def placed(self, output, y):
        """Place a tensor that has its input's scale; another one in the file needs a table."""
        low, stored = self.low, self.file.scales.get(output)
        if low.quantized and stored is not None:
            y = of_scale(low, y, (stored.scale, stored.zero_point))
        low.place(output, y)

    def turned(self, op):
        """A Transpose in whatever order of axes; samples, where there are several, stay first."""
        name, output = op.inputs[0], op.outputs[0]
        whole = self.whole(name)
        perm = op.attrs.get("perm") or list(range(whole.ndim))[::-1]
        shape = self.file.shapes.get(name, ())
        is_one = math.prod(shape) == whole.size and output in self.file.shapes
        if len(perm) != whole.ndim or perm[0] != 0 and not is_one:
            self.low.problems.add(f"Transpose {perm}", "the first axis, of samples, stays")
            return
        index = whole.transpose(perm)
        self.take(output, self.low.made[name], index.reshape(self._target(output, index)))

    def _target(self, output, index):
        """Return the shape of an output's places: without samples if these are its first axis."""
        wanted = tuple(self.file.shapes.get(output, index.shape))
        return wanted[1:] if math.prod(wanted[1:]) == index.size and wanted[1:] else wanted

    def reshaped(self, op):
        """A Reshape that is more than an alias."""
        index = self.order(op.inputs[0])
        wanted = self._target(op.outputs[0], index)
        if op.outputs[0] not in self.file.shapes or math.prod(wanted) != index.size:
            self.low.problems.add(f"{op.name} to an open shape", "export with a fixed input shape")
            return
        self.take(op.outputs[0], self.low.made[op.inputs[0]], index.reshape(wanted))

    # ---- parts -------------------------------------------------------------------------------

    def _axis(self, op, missing, name=None):
        """Return the axis of an operator among `edges`, or None for that of the samples."""
        name = name or op.inputs[0]
        samples = self.samples_axis(name)
        rank = len(self.edges(name)) + samples
        axis = op.attrs.get("axis", missing)
        if not -rank <= axis < rank or axis % rank < samples:
            self.low.problems.add(f"{op.name} along axis {axis}", "an axis of one sample")
            return None
        return axis % rank - samples

    def _numbers(self, op, key, place):
        """Return the numbers of an attribute or of a constant input, or None."""
        found = op.attrs.get(key)
        if found is None and len(op.inputs) > place and op.inputs[place]:
            found = self.constant(op.inputs[place])
        return None if found is None else np.ravel(found)

    def _split(self, op):
        axis = self._axis(op, 0)
        if axis is None:
            return
        name, count = op.inputs[0], len(op.outputs)
        index, sizes = self.order(name), self._numbers(op, "split", 1)
        if sizes is None:
            size = -(-index.shape[axis] // count)
            sizes = [min(size, index.shape[axis] - i * size) for i in range(count)]
        if len(sizes) != count or min(sizes) < 0 or sum(sizes) != index.shape[axis]:
            text = f"{index.shape[axis]} places in {count} parts"
            self.low.problems.add(f"Split into {np.ravel(sizes).tolist()}", text)
            return
        parts = np.split(index, np.cumsum(np.asarray(sizes, int))[:-1], axis)
        for output, part in zip(op.outputs, parts, strict=True):
            self.take(output, self.low.made[name], part, self.has_channels_last(name))

    def _slice(self, op):
        keys = ("starts", "ends", "axes", "steps")
        found = [self._numbers(op, key, place) for place, key in enumerate(keys, 1)]
        if op.inputs[0] not in self.low.made or found[0] is None or found[1] is None:
            self.low.problems.add("Slice from computed places", _FIXED)
            return
        index, last = self.order(op.inputs[0]), self.has_channels_last(op.inputs[0])
        axes = range(len(found[0])) if found[2] is None else found[2]
        steps = np.ones(len(found[0]), int) if found[3] is None else found[3]
        for start, end, axis, step in zip(*found[:2], axes, steps, strict=True):
            rank = index.ndim + self.samples_axis(op.inputs[0])
            place = int(axis) % rank - (rank - index.ndim)
            if place < 0 or not -rank <= axis < rank:
                self.low.problems.add(f"Slice along axis {axis}", "an axis of one sample")
                return
            edge = index.shape[place]
            start, end, step = max(int(start), -edge), int(end), int(step)
            part = slice(start, None if step < 0 and end < -edge else end, step)
            index = index[(slice(None),) * place + (part,)]
        self.take(op.outputs[0], self.low.made[op.inputs[0]], index, last)

    def _gather(self, op):
        where = self.constant(op.inputs[1])
        if op.inputs[0] not in self.low.made or where is None or np.ndim(where) > 1:
            self.low.problems.add("Gather by computed places", _FIXED)
            return
        axis = self._axis(op, 0)
        if axis is not None:
            index = self.order(op.inputs[0]).take(np.asarray(where, int), axis)
            self.take(op.outputs[0], self.low.made[op.inputs[0]], index[None][0])

    def _concat(self, op):
        low, names = self.low, [name for name in op.inputs if name in self.low.made]
        if low.quantized and len(names) < len(op.inputs):
            low.problems.add("Concat with a constant in a quantized model", "signals alone")
            return
        axis, stored = self._axis(op, 1, names[0]), self.file.scales.get(op.outputs[0])
        if axis is None:
            return
        filled = [n for n in op.inputs if n in low.made or np.size(self.constant(n))]
        whole = [self._as_signal(name, names[0]) for name in filled]
        parts, orders = zip(*whole, strict=True)
        if low.quantized and stored is not None:
            target = (stored.scale, stored.zero_point)
            parts = [of_scale(self.low, part, target) for part in parts]
        last = all(map(self.has_channels_last, names))
        rank = len(self.edges(names[0]))
        first = all(self.leads(name, True) for name in names)
        same = len({low.shape(name)[1:] for name in names}) == 1 and len(names) == len(parts)
        if same and (last and axis == rank - 1 or first and axis == 0):
            y, index = low.build.concat(low.new("j"), parts), None
        else:
            starts = np.cumsum([0, *(order.size for order in orders)])
            moved = [a + b for a, b in zip(orders, starts[:-1], strict=True)]
            index = np.concatenate(moved, axis)
            y = low.build.concat(low.new("j"), parts, "all")
        if parts[0] in low.scales:
            low.scales[y] = low.scales[parts[0]]
        if index is not None:
            self.take(op.outputs[0], y, index, last)
            return
        low.place(op.outputs[0], y)
        low.hwc.update(op.outputs[:1] if last else ())

    def _as_signal(self, name, signal):
        """Return (tensor, places) of a signal, or of a constant beside one, such as a token.

        A constant is a layer's bias: the layer multiplies some numbers of the signal by 0.
        """
        low = self.low
        if name in low.made:
            return low.made[name], self.order(name)
        value = np.asarray(self.constant(name), float)
        x = in_order(low, low.made[signal], np.zeros(value.size, int), (value.size, 1, 1))
        y = scaled(low, x, np.zeros(value.size), value.ravel())
        shape = value.shape[self.samples_axis(signal) :]
        return y, np.arange(value.size).reshape(shape)

    def _blocks(self, op):
        """Channels become squares of pixels (DepthToSpace), or the reverse."""
        name, size = op.inputs[0], op.attrs.get("blocksize", 1)
        order = self.order(name)
        if order.ndim != 3:
            self.low.problems.add(f"{op.name} of {order.ndim + 1} axes", "four axes")
            return
        channels, height, width = order.shape
        if op.name == "SpaceToDepth":
            parts = order.reshape(channels, height // size, size, width // size, size)
            index = parts.transpose(2, 4, 0, 1, 3).reshape(-1, height // size, width // size)
        elif op.attrs.get("mode", "DCR") == "DCR":
            parts = order.reshape(size, size, -1, height, width).transpose(2, 3, 0, 4, 1)
            index = parts.reshape(-1, height * size, width * size)
        else:
            parts = order.reshape(-1, size, size, height, width).transpose(0, 3, 1, 4, 2)
            index = parts.reshape(-1, height * size, width * size)
        self.take(op.outputs[0], self.low.made[name], index)

    # ---- larger and smaller ------------------------------------------------------------------

    def _resize(self, op):
        """Nearest by any factor; linear by whole ones, as a layer does it."""
        name, mode = op.inputs[0], op.attrs.get("mode", "nearest")
        found = self._resize_numbers(op)
        if found is None:
            return
        sizes, factors = found
        # Both are one operator until operators 10.
        old = op.name == "Upsample" or len(op.inputs) == 2
        form = op.attrs.get("coordinate_transformation_mode", "half_pixel")
        form = "asymmetric" if old else form
        if mode == "nearest":
            index = self.order(name)
            for axis, (new, factor) in enumerate(zip(sizes, factors, strict=True)):
                rule = "floor" if old else op.attrs.get("nearest_mode")
                at = _nearest(index.shape[axis], new, factor, form, rule)
                if at is None:
                    self.low.problems.add(f"{op.name} with {form}", "half_pixel or asymmetric")
                    return
                index = index.take(at, axis)
            self.take(op.outputs[0], self.low.made[name], index, self.has_channels_last(name))
            return
        self._linear(op, mode, form, factors)

    def _resize_numbers(self, op):
        """Return (new edges, factors), or None where it is refused."""
        at = (1, 9) if op.name == "Upsample" or len(op.inputs) == 2 else (2, 3)
        found = [self._numbers(op, "scales", at[0]), self._numbers(op, "", at[1])]
        scales, sizes = [None if value is None or not value.size else value for value in found]
        if scales is None and sizes is None:
            self.low.problems.add(f"{op.name} by computed factors", _FIXED)
            return None
        if op.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
            self.low.problems.add(f"{op.name} that keeps the aspect ratio", "sizes or factors")
            return None
        edges = self.edges(op.inputs[0])
        old = (self.file.shapes.get(op.inputs[0], (1,))[0], *edges)
        given = sizes if scales is None else scales
        new = list(old) if scales is None else [1.0] * len(old)
        for axis, value in zip(op.attrs.get("axes", range(len(old))), given, strict=True):
            new[axis] = int(value) if scales is None else float(value)
        if new[0] != (old[0] if scales is None else 1):
            self.low.problems.add(f"{op.name} of samples", "an axis of one sample")
            return None
        if scales is None:
            factors = [n / edge for n, edge in zip(new[1:], edges, strict=True)]
            new = new[1:]
        else:
            factors = new[1:]
            new = [math.floor(n * s + 1e-6) for n, s in zip(edges, factors, strict=True)]
        if math.prod(new) > _RESIZED_MOST:
            self.low.problems.add(f"{op.name} to {new}", f"at most {_RESIZED_MOST} values")
            return None
        return new, factors

    def _linear(self, op, mode, form, factors):
        low, name = self.low, op.inputs[0]
        centers = {"half_pixel": True, "pytorch_half_pixel": True, "asymmetric": False}.get(form)
        whole = [round(factor) for factor in factors]
        is_map = self.leads(name, True)
        plain = np.allclose(whole, factors) and min(whole) > 0 and whole[0] == 1
        if mode != "linear" or centers is None or not (is_map and plain) or low.quantized:
            low.problems.add(
                f"{op.name} ({mode}, {form}) by {[round(factor, 3) for factor in factors]}",
                "nearest, or linear by whole factors of height and width in a float model, "
                "half_pixel or asymmetric",
            )
            return
        factor = (*whole[1:], 1, 1)[:2]
        low.place(op.outputs[0], enlarged(low, low.made[name], factor, centers))

    # ---- normalization and slopes ------------------------------------------------------------

    def _normalization(self, op):
        low, name = self.low, op.inputs[0]
        numbers = [self.constant(part) for part in op.inputs[1:3] if part]
        axis = self._axis(op, -1)
        if axis is None:
            return
        edges = self.edges(name)
        n = math.prod(edges[axis:])
        known = all(part is not None for part in numbers)
        known = known and op.attrs.get("epsilon", 1e-5) >= 0
        if not known or n > NORM_MOST or len(op.outputs) > 1:
            low.problems.add(
                f"LayerNormalization over {n} values",
                f"constant factors, at most {NORM_MOST} values",
            )
            return
        last = self.has_channels_last(name) and axis == len(edges) - 1
        x, index = low.made[name], self.order(name).reshape(-1, n)
        if not last:
            x = in_order(low, x, index.ravel(), (n, len(index), 1))
        y = low.build.norm(low.new("n"), x, op.attrs.get("epsilon", 1e-5))
        low.made[op.outputs[0]] = y  # so that what scales it sees who reads it
        given = [np.broadcast_to(part, edges[axis:]).ravel() for part in (*numbers, 0.0)][:2]
        if low.quantized:
            low.scales[y] = _normal_scale(self._target_scale(op), *given)
        y = scaled(low, y, *given)
        if low.quantized:
            low.scales[y] = self._target_scale(op)
        if last or len(edges) == 1:
            low.place(op.outputs[0], y)
            low.hwc.update(op.outputs[:1] if last else ())
            return
        # Rows of n channels are the file's order: the last axis, or all from the axis on.
        self.take(op.outputs[0], y, np.arange(index.size).reshape(edges))

    def _attention(self, op):
        """softmax(factor q k^T) v, which `import_onnx_groups` found."""
        low, parts = self.low, []
        for which, name in enumerate(op.inputs):
            if name not in low.made:
                low.problems.add("MatMul of scores with a constant", "attention of three signals")
                return
            order = self.whole(name)  # the one sample's axis is that of the rows where it is one
            order = order.swapaxes(-1, -2) if which == 1 else order
            parts.append(order.reshape(-1, *order.shape[-2:]))
        heads, rows, n = parts[0].shape
        fits = parts[1].shape[::2] == (heads, n) and parts[2].shape[:2] == parts[1].shape[:2]
        most = max(heads, rows, n, *parts[2].shape[1:])
        if not fits or most > ATTENTION_MOST:
            shapes = [self.edges(name) for name in op.inputs]
            form = f"(heads, rows, channels) alike, at most {ATTENTION_MOST} each"
            low.problems.add(f"Softmax of attention over {shapes}", form)
            return
        made = []
        for name, part in zip(op.inputs, parts, strict=True):
            shape = (heads * part.shape[2], part.shape[1], 1)
            made.append(in_order(low, low.made[name], part.transpose(1, 0, 2).ravel(), shape))
        sets = self._seen(op.attrs["mask"], heads, rows)
        if sets is None:
            return
        target = self._target_scale(op) if low.quantized else None
        y = self._attended(made, heads, op.attrs["factor"], sets, target)
        index = np.arange(heads * rows * parts[2].shape[2]).reshape(rows, heads, -1)
        index = index.transpose(1, 0, 2)
        low.made[op.outputs[0]] = y
        if heads == 1:
            low.hwc.add(op.outputs[0])
            return
        self.take(op.outputs[0], y, index.reshape(self._target(op.outputs[0], index)), True)

    def _seen(self, mask, heads, rows):
        """Return [(rows, columns that these rows see)] of a constant mask, None for another one.

        Only the distance to the largest number of a row counts, as in the softmax.
        """
        if mask is None:
            return [(np.arange(rows), None)]
        with np.errstate(invalid="ignore"):
            less = (mask - mask.max(-1, keepdims=True)).reshape(heads, rows, -1)
        hidden = less <= _HIDDEN
        if not (hidden | (less == 0)).all() or (hidden != hidden[:1]).any():
            form = f"0, or {_HIDDEN} and less, alike in all heads, one column or more in each row"
            self.low.problems.add("Softmax of attention with another mask", form)
            return None
        kinds, which = np.unique(hidden[0], axis=0, return_inverse=True)
        if len(kinds) > _SETS_MOST:
            form = f"at most {_SETS_MOST} kinds of rows"
            self.low.problems.add(f"Softmax of attention with {len(kinds)} kinds of rows", form)
            return None
        which = np.ravel(which)
        order = sorted(range(len(kinds)), key=lambda kind: np.flatnonzero(which == kind)[0])
        sets = [(np.flatnonzero(which == kind), np.flatnonzero(~kinds[kind])) for kind in order]
        return sets if len(sets) > 1 or hidden.any() else [(sets[0][0], None)]

    def _attended(self, made, heads, factor, sets, target):
        """Add an attention for each set of rows that see the same columns; return all rows.

        :param target: (scale, zero point) of all of it, None in a float model
        """
        low, found = self.low, []
        for rows, columns in sets:
            parts = made
            if columns is not None:
                each = (rows, columns, columns)
                parts = [self._rows_of(x, at) for x, at in zip(made, each, strict=True)]
            found.append(low.build.attention(low.new("t"), *parts, heads, factor))
        low.scales.update(dict.fromkeys(found if target else (), target))
        if len(found) == 1:
            return found[0]
        rows = np.concatenate([rows for rows, _ in sets])
        width = low.build.tensors[found[0]].shape[0]
        y = low.build.concat(low.new("j"), found, "all", (width, len(rows), 1))
        low.scales.update({y: target} if target else {})
        return self._rows_of(y, np.argsort(rows))

    def _rows_of(self, x, rows):
        """Return some rows of a tensor whose rows are pixels."""
        width = self.low.build.tensors[x].shape[0]
        index = rows[:, None] * width + np.arange(width)
        return in_order(self.low, x, index.ravel(), (width, len(rows), 1))

    def shifted(self, op, constant, name):
        """Add a map of constants to a signal; tell whether it was placed."""
        low, order = self.low, self.order(name)
        try:
            value = np.broadcast_to(constant, self.whole(name).shape).ravel()
        except ValueError:
            return False
        shape = low.shape(name)
        shift = np.zeros(order.size)
        shift[order.ravel()] = value
        flat = shaped(low, low.made[name], (order.size, 1, 1))
        y = scaled(low, flat, np.ones(order.size), shift)
        if low.quantized:
            low.scales[y] = self._target_scale(op)
        y = shaped(low, y, shape)
        low.place(op.outputs[0], y)
        return True

    def _target_scale(self, op):
        """Return the (scale, zero point) that a quantized file gives an operator's output."""
        stored = self.file.scales.get(op.outputs[0])
        if stored is None:
            raise self.low.bare(op.outputs)
        return stored.scale, stored.zero_point

    def _prelu(self, op):
        low, name, slope = self.low, op.inputs[0], self.constant(op.inputs[1])
        found = None
        if name in low.made and slope is not None and not low.quantized:
            found = self.per_channel(slope, name)
            if found is None and name in low.hwc:
                self.channels_first(name)
                found = self.per_channel(slope, name)
        if found is None:
            low.problems.add("PRelu", "a float model, one slope or one for each channel")
            return
        low.place(op.outputs[0], sloped(low, low.made[name], found))

    def pairs(self, name, other):
        """Tell whether the file pairs elements of two signals as they lie in memory.

        :param other: has as many elements, or one for each channel
        """
        orders = [self.order(signal)[None] for signal in (name, other)]
        sizes, channels = [order.size for order in orders], self.low.shape(name)[0]
        only_other = other in self.low.hwc and name not in self.low.hwc
        if sizes[1] not in (sizes[0], channels) or only_other:
            return False
        try:
            left, right = np.broadcast_arrays(*orders)
        except ValueError:
            return False
        wanted = left if sizes[1] == sizes[0] else left % channels
        return left.size == sizes[0] and bool((right == wanted).all())

    def two_signals(self, op):
        """Add, Mul or Sub of two signals; tell whether it was placed."""
        low, names = self.low, op.inputs
        if op.name not in ("Add", "Mul", "Sub"):
            return False
        x, y = [low.made[name] for name in names], None
        if op.name == "Mul" and (self.pairs(*names) or self.pairs(*names[::-1])):
            y = gated(low, *x)
        if y is None:
            alike = low.shape(names[0]) == low.shape(names[1])
            x = x if alike and self.pairs(*names) else self._brought(names, op.outputs[0])
            if x is None:
                return False
            y = self._of_one_shape(op.name, *x)
        low.place(op.outputs[0], y)
        return True

    def _of_one_shape(self, name, left, right):
        low = self.low
        if name == "Sub":
            return difference(low, left, right)
        if name == "Mul":
            return low.build.multiply(low.new("m"), left, right)
        return low.build.add(low.new("a"), left, right)

    def _brought(self, names, output):
        """Return two signals in one shape and order, repeated as the file does, or None.

        They lie as one of them does that has all elements, else in the file's order.
        """
        low, orders = self.low, [self.whole(name) for name in names]
        try:
            wide = np.broadcast_arrays(*orders)
        except ValueError:
            return None
        size = wide[0].size
        if size > _RESIZED_MOST:
            return None
        self.brought.add(output)
        complete = [at for at in (0, 1) if orders[at].size == size]
        if not complete:
            edges = self._target(output, wide[0])
            shape = (edges[-1], size // edges[-1], 1)
            low.hwc.add(output)
            return [
                in_order(low, low.made[name], order.ravel(), shape)
                for name, order in zip(names, wide, strict=True)
            ]
        at = complete[0]
        found, index = [low.made[name] for name in names], np.empty(size, int)
        index[wide[at].ravel()] = wide[1 - at].ravel()
        found[1 - at] = in_order(low, found[1 - at], index, low.shape(names[at]))
        low.hwc.update([output] if names[at] in low.hwc else [])
        return found


def _normal_scale(target, factor, shift):
    """Return (scale, zero point) of what a normalization makes before its factors.

    It holds all that they bring within the output's range, and no normalization of n values
    gives more than the root of n - 1.

    :param target: (scale, zero point) of the output. :param factor, shift: of each of n values
    """
    most = max(math.sqrt(len(factor) - 1), 1.0)
    ends = [target[0] * (end - target[1]) for end in (-128, 127)]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = [np.nan_to_num((end - shift) / factor, nan=0.0) for end in ends]
    low = max(float(np.min(reach)), -most)
    high = min(float(np.max(reach)), most)
    scale = max(high, 0.0) - min(low, 0.0)
    scale = (scale or 1.0) / 255
    return scale, int(np.clip(np.rint(-128 - min(low, 0.0) / scale), -128, 127))


def _nearest(old, new, factor, form, rule):
    """Return which of `old` elements each of `new` is, or None for another form."""
    at = np.arange(new, dtype=np.float32)
    if form == "asymmetric":
        real = at / np.float32(factor)
    elif form == "half_pixel" or form == "pytorch_half_pixel" and new > 1:
        real = (at + np.float32(0.5)) / np.float32(factor) - np.float32(0.5)
    elif form == "pytorch_half_pixel":
        real = np.zeros(new)
    elif form == "align_corners":
        real = at * np.float32((old - 1) / max(new - 1, 1))
    else:
        return None
    rounded = {
        "floor": np.floor,
        "ceil": np.ceil,
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }.get(rule, lambda x: np.ceil(x - 0.5))
    return np.clip(rounded(real), 0, old - 1).astype(int)
