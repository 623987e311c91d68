# SPDX-License-Identifier: MIT
"""GRU and LSTM layers of ONNX models: each step is layers, tables, products and sums.

All steps have the same weights, and what a step makes has the same scale in each ("like"), so
that weights, factors and tables lie in a program once; each step has instructions of its own.
The products with the input are one convolution for all steps.
"""

import numpy as np

from .import_moves import in_order
from .importing import scaled

STEPS_MOST = 128  # each has some 170 bytes of code


class Recurrent:
    """Handlers of recurrent operators; `time_first` are names of signals (time, 1, numbers).

    Their tensors hold the numbers as channels and the time as rows.
    """

    def __init__(self, low, constant, moves):
        self.low, self.constant, self.moves = low, constant, moves
        self.time_first = set()
        self.handlers = dict.fromkeys(_CELLS, self._layer)

    def turned(self, op):
        """Tell whether a Transpose brought the time to the front, or back."""
        low, name = self.low, op.inputs[0]
        edges = self.moves.edges(name)
        if op.attrs.get("perm") != [1, 0, 2] or name not in self.time_first and len(edges) != 2:
            return False
        if not any(other.name in _CELLS for other in low.file.ops):
            return False
        if name in self.time_first:
            low.made[op.outputs[0]] = low.made[name]
            low.hwc.add(op.outputs[0])
        else:
            # Rows may lie in one row of pixels, such as behind a Squeeze.
            x, (steps, numbers) = self.moves.channels_last(name), edges
            shape = (numbers, steps, 1)
            low.made[op.outputs[0]] = in_order(low, x, np.arange(steps * numbers), shape)
            self.time_first.add(op.outputs[0])
        return True

    def squeezed(self, op):
        """Tell whether an operator took the axis of directions away.

        Time stays in front and the numbers behind; whatever mixes them is refused.
        """
        if op.inputs[0] not in self.time_first:
            return False
        numbers, steps, _ = self.low.shape(op.inputs[0])
        shape = self.low.file.shapes.get(op.outputs[0])
        if shape and (shape[0], shape[-1]) != (steps, numbers):
            self._refuse(op)
            return True
        self.low.made[op.outputs[0]] = self.low.made[op.inputs[0]]
        self.time_first.add(op.outputs[0])
        return True

    def refuse(self, op):
        """Note an operator that reads a signal whose time comes first; tell whether it does."""
        moves = (*_CELLS, "Squeeze", "Reshape")
        back = op.name == "Transpose" and op.attrs.get("perm") == [1, 0, 2]
        reads = any(name in self.time_first for name in op.inputs)
        found = reads and not back and op.name not in moves
        if found:
            self._refuse(op)
        return found

    def _refuse(self, op):
        self.low.problems.add(f"{op.name} with time before samples", "batch_first = True")

    def _layer(self, op):
        low, x = self.low, op.inputs[0]
        inputs = [*op.inputs, *[""] * 7][:8]
        parts = [self.constant(name) if name else None for name in inputs[1:]]
        if not self._is_plain(op, inputs, parts):
            low.problems.add(
                f"{op.name} ({op.attrs.get('direction', 'forward')})",
                "one direction, sigmoid and tanh, all steps, in a float model",
            )
            return
        steps = low.shape(x)[1]
        if x not in self.time_first or steps > STEPS_MOST:
            low.problems.add(
                f"{op.name} over {steps} steps", f"batch_first = True, at most {STEPS_MOST} steps"
            )
            return
        cell = _CELLS[op.name](low, op, parts)
        found = cell.run(low.made[x], range(steps)[:: -1 if cell.is_reverse else 1])
        rows = found[::-1] if cell.is_reverse else found
        outputs = [*op.outputs, "", ""]
        if outputs[0] and low.readers(outputs[0]):
            low.made[outputs[0]] = low.build.concat(
                low.new("j"), rows, "all", (cell.units, steps, 1)
            )
            self.time_first.add(outputs[0])
        if outputs[1]:
            low.place(outputs[1], found[-1])

    def _is_plain(self, op, inputs, parts):
        """Tell whether a layer has what a cell here can be made of."""
        usual = ["Sigmoid", "Tanh", "Tanh"][: 2 if op.name == "GRU" else 3]
        names = [
            n.decode() if isinstance(n, bytes) else n for n in op.attrs.get("activations", usual)
        ]
        one_way = op.attrs.get("direction", "forward") in ("forward", "reverse")
        states = [parts[4]] if op.name == "GRU" else []
        unknown = [
            name for name, part in zip(inputs[1:], parts, strict=True) if name and part is None
        ]
        others = [part for part in parts[4 + len(states) :] if part is not None]
        last = [*op.outputs, "", ""][2]
        return (
            not (self.low.quantized or inputs[4] or unknown or parts[0] is None)
            and names == usual
            and parts[1] is not None
            and op.attrs.get("hidden_size", parts[1].shape[-1]) == parts[1].shape[-1]
            and one_way
            and not any(op.attrs.get(key) for key in ("clip", "input_forget", "layout"))
            and not any(np.any(part) for part in others)
            and not (last and self.low.readers(last))
        )


class _Cell:
    """What the cells have in common: weights of the input and of the own state, and parts."""

    def __init__(self, low, op, parts):
        self.low, self.units = low, parts[1].shape[-1]
        self.name = low.new(op.name.lower())
        self.is_reverse = op.attrs.get("direction") == "reverse"
        self.input, self.own = parts[0][0], parts[1][0]

    def _layer(self, x, weight, bias, role=None):
        name = self.low.new("c")
        y = self.low.build.conv(name, x, len(weight), 1, 1, 1, False, 0)
        self.low.values[name + ".w"] = np.asarray(weight, float)[..., None, None]
        self.low.values[name + ".b"] = np.array(bias, float)
        return self._alike(y, role) if role else y

    def _two(self, op, left, right, role):
        """Add or multiply two signals of one pixel."""
        return self._alike(getattr(self.low.build, op)(self.low.new(op[0]), left, right), role)

    def _table(self, x, function):
        y = self.low.build.lookup(self.low.new("t"), x, function)
        return self._alike(y, function)

    def _alike(self, y, role):
        """What has this role has one scale in all steps."""
        self.low.build.nodes[-1].attrs["like"] = f"{self.name} {role}"
        return y

    def _part(self, x, row, count, first=0):
        """Return `count` channels of one row."""
        channels = self.low.build.tensors[x].shape[0]
        index = row * channels + first + np.arange(count)
        return in_order(self.low, x, index, (count, 1, 1))


class _Gru(_Cell):
    """Weights and biases of update (z), reset (r) and candidate (n), in this order."""

    def __init__(self, low, op, parts):
        super().__init__(low, op, parts)
        units = self.units
        bias = np.zeros(6 * units) if parts[2] is None else np.ravel(parts[2])
        self.bias, own = bias[: 3 * units].astype(float), bias[3 * units :]
        self.before_reset = bool(op.attrs.get("linear_before_reset"))
        folded = slice(0, (2 if self.before_reset else 3) * units)
        self.bias[folded] += own[folded]
        self.own_bias = own[2 * units :] * self.before_reset
        self.first = None if parts[4] is None else np.ravel(parts[4])

    def run(self, x, order):
        """Return the state after each step of `order`."""
        units = self.units
        gates = self._layer(x, self.input[: 2 * units], self.bias[: 2 * units])
        fresh = self._layer(x, self.input[2 * units :], self.bias[2 * units :])
        state, found = None, []
        if self.first is not None and np.any(self.first):
            row = self._part(fresh, 0, units)
            state = scaled(self.low, self._table(row, "minimum 0.0 | maximum 0.0"),
                           np.ones(units), self.first)  # fmt: skip
        for step in order:
            rows = self._part(gates, step, 2 * units), self._part(fresh, step, units)
            state = self._step(*rows, state)
            found.append(state)
        return found

    def _step(self, gates, fresh, state):
        """Return (1 - z) * n + z * state; without a state, that is 0, what is left of it."""
        units = self.units
        if state is not None:
            own = self._layer(state, self.own[: 2 * units], np.zeros(2 * units), "own")
            gates = self._two("add", gates, own, "gates")
        update, reset = (self._part(gates, 0, units, at) for at in (0, units))
        rest = self._table(update, "sigmoid | complement")
        inner = self._inner(reset, state)
        fresh = fresh if inner is None else self._two("add", fresh, inner, "fresh")
        fresh = self._table(fresh, "tanh")
        if state is None:
            return self._two("multiply", rest, fresh, "state")
        kept = self._two("multiply", rest, fresh, "kept")
        old = self._two("multiply", self._table(update, "sigmoid"), state, "old")
        return self._two("add", kept, old, "state")

    def _inner(self, reset, state):
        """Return what the state adds to the candidate, None for nothing."""
        weight = self.own[2 * self.units :]
        if state is None and not np.any(self.own_bias):
            return None
        reset = self._table(reset, "sigmoid")
        if state is None:
            return scaled(self.low, reset, self.own_bias, np.zeros(self.units))
        if self.before_reset:
            state = self._layer(state, weight, self.own_bias, "candidate")
            return self._two("multiply", reset, state, "inner")
        inner = self._two("multiply", reset, state, "inner")
        return self._layer(inner, weight, self.own_bias, "candidate")


class _Lstm(_Cell):
    """Weights and biases of input (i), output (o), forget (f) and candidate (c), in this order."""

    def __init__(self, low, op, parts):
        super().__init__(low, op, parts)
        units = self.units
        both = np.zeros((2, 4 * units)) if parts[2] is None else np.reshape(parts[2], (2, -1))
        self.bias = both.sum(axis=0)

    def run(self, x, order):
        """Return the state after each step of `order`."""
        units = self.units
        gates = self._layer(x, self.input[: 3 * units], self.bias[: 3 * units])
        fresh = self._layer(x, self.input[3 * units :], self.bias[3 * units :])
        state, cell, found = None, None, []
        for step in order:
            rows = self._part(gates, step, 3 * units), self._part(fresh, step, units)
            state, cell = self._step(*rows, state, cell)
            found.append(state)
        return found

    def _step(self, gates, fresh, state, cell):
        """Return (o * tanh(cell), cell = f * the cell before + i * c)."""
        units = self.units
        if state is not None:
            zeros = np.zeros(3 * units)
            own = self._layer(state, self.own[: 3 * units], zeros, "own")
            gates = self._two("add", gates, own, "gates")
            again = self._layer(state, self.own[3 * units :], zeros[:units], "candidate")
            fresh = self._two("add", fresh, again, "fresh")
        gates = self._table(gates, "sigmoid")
        inward, outward, kept = (self._part(gates, 0, units, n * units) for n in range(3))
        fresh = self._table(fresh, "tanh")
        if cell is None:
            cell = self._two("multiply", inward, fresh, "cell")
        else:
            added = self._two("multiply", inward, fresh, "added")
            cell = self._two("add", self._two("multiply", kept, cell, "kept"), added, "cell")
        return self._two("multiply", outward, self._table(cell, "tanh"), "state"), cell


_CELLS = {"GRU": _Gru, "LSTM": _Lstm}
