# SPDX-License-Identifier: MIT
"""GRU layers of ONNX models, step by step: each step is layers, tables, products and sums.

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
        self.handlers = {"GRU": self._gru}

    def turned(self, op):
        """Tell whether a Transpose brought the time to the front, or back."""
        low, name = self.low, op.inputs[0]
        if op.attrs.get("perm") != [1, 0, 2]:
            return False
        if name in self.time_first:
            low.made[op.outputs[0]] = low.made[name]
            low.hwc.add(op.outputs[0])
        else:
            low.made[op.outputs[0]] = self.moves.channels_last(name)
            self.time_first.add(op.outputs[0])
        return True

    def squeezed(self, op):
        """Tell whether an operator took the axis of directions away."""
        if op.inputs[0] not in self.time_first:
            return False
        self.low.made[op.outputs[0]] = self.low.made[op.inputs[0]]
        self.time_first.add(op.outputs[0])
        return True

    def refuse(self, op):
        """Note an operator that reads a signal whose time comes first; tell whether it does."""
        moves = ("GRU", "Transpose", "Squeeze", "Reshape")
        found = op.name not in moves and any(name in self.time_first for name in op.inputs)
        if found:
            self.low.problems.add(f"{op.name} with time before samples", "batch_first = True")
        return found

    def _gru(self, op):
        low, x = self.low, op.inputs[0]
        inputs = [*op.inputs, "", "", "", ""][:6]
        parts = [self.constant(name) if name else None for name in inputs[1:]]
        plain = op.attrs.get("activations") in (None, ["Sigmoid", "Tanh"], [b"Sigmoid", b"Tanh"])
        plain = plain and op.attrs.get("direction", "forward") in ("forward", "reverse")
        if low.quantized or not plain or op.attrs.get("clip") or inputs[4] or parts[0] is None:
            low.problems.add(
                f"GRU ({op.attrs.get('direction', 'forward')})",
                "one direction, sigmoid and tanh, all steps, in a float model",
            )
            return
        steps = low.shape(x)[1]
        if x not in self.time_first or steps > STEPS_MOST:
            low.problems.add(
                f"GRU over {steps} steps", f"batch_first = True, at most {STEPS_MOST} steps"
            )
            return
        cell = _Cell(low, op, parts)
        found = cell.run(low.made[x], range(steps)[:: -1 if cell.is_reverse else 1])
        rows = found[::-1] if cell.is_reverse else found
        outputs = [*op.outputs, ""]
        if outputs[0] and low.readers(outputs[0]):
            low.made[outputs[0]] = low.build.concat(
                low.new("j"), rows, "all", (cell.units, steps, 1)
            )
            self.time_first.add(outputs[0])
        if outputs[1]:
            low.place(outputs[1], found[-1])


class _Cell:
    """One GRU layer: W, R and biases of update (z), reset (r) and candidate (n)."""

    def __init__(self, low, op, parts):
        self.low, units = low, parts[1].shape[-1]
        self.name = low.new("gru")
        self.units, self.is_reverse = units, op.attrs.get("direction") == "reverse"
        self.input, self.own = parts[0][0], parts[1][0]
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
