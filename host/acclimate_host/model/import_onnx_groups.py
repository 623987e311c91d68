# SPDX-License-Identifier: MIT
"""Groups of ONNX operators that are one operator here: GELU, layer normalization, attention.

PyTorch's exporter writes them in parts, the normalization before operators 17. Where a group is
not as here it stays as it is, and each part is taken or refused by itself.
"""

import math
from dataclasses import replace

import numpy as np

from .onnx_file import OnnxOp, Stored

ATTENTION = "attention"  # no operator of ONNX: inputs q, k^T, v; attribute factor


def grouped(file):
    """Return the OnnxFile with each group as one operator in place of its last one.

    Of a quantized model's group the first and last scales stay: within it numbers here are finer.
    """
    search = _Search(file)
    for op in file.ops:
        if op.name == "Erf":
            search.gelu(op)
        elif op.name == "Softmax":
            search.attention(op)
        elif op.name == "Sqrt":
            search.normalization(op)
    ops = [search.made.get(op.outputs[0], op) for op in file.ops]
    return replace(file, ops=tuple(op for op in ops if op.outputs[0] not in search.gone))


class _Search:
    """`made`: operators by the last output of their group; `gone`: outputs of the others."""

    def __init__(self, file):
        self.file, self.made, self.gone = file, {}, set()
        self.makers = {name: op for op in file.ops for name in op.outputs}
        self.readers = {}
        for op in file.ops:
            for name in op.inputs:
                self.readers.setdefault(name, []).append(op)

    def _scalar(self, name):
        """Return the one number of a constant, or None."""
        value = self.file.constants.get(name)
        value = value.real if isinstance(value, Stored) else value
        return float(np.ravel(value)[0]) if value is not None and np.size(value) == 1 else None

    def _parts(self, op):
        """Return (signal, factor) of a product with one number, or (None, None)."""
        if op is None or op.name not in ("Mul", "Div"):
            return None, None
        for at, other in ((0, 1), (1, 0)):
            number = self._scalar(op.inputs[other])
            if number and (op.name == "Mul" or other == 1):
                return op.inputs[at], number if op.name == "Mul" else 1 / number
        return None, None

    def _next(self, op):
        """Return the only reader of an operator's output, or None."""
        name = op.outputs[0]
        found = self.readers.get(name, [])
        return found[0] if len(found) == 1 and name not in self.file.outputs else None

    # ---- x / 2 * (1 + erf(x / sqrt(2))) ------------------------------------------------------

    def gelu(self, op):
        """Look for what stands around an error function."""
        before = self.makers.get(op.inputs[0])
        x, factor = self._parts(before)
        plus = self._next(op)
        if x is None or not self._is_near(factor, math.sqrt(0.5)):
            return
        if plus is None or plus.name != "Add" or self._next(before) is not op:
            return
        if not any(self._is_near(self._scalar(name), 1.0) for name in plus.inputs):
            return
        times = self._next(plus)
        if times is None or times.name != "Mul":
            return
        group, other = [before, op, plus], _other(times, plus.outputs[0])
        forms = (self._halved, self._halved_before, self._halved_first)
        found = [form(times, x, other) for form in forms]
        last, more = next((pair for pair in found if pair), (None, None))
        if last is not None:
            self._make(OnnxOp("Gelu", (x,), last.outputs), [*group, *more])

    def _halved(self, times, x, other):
        """The product with x, then with a half: (last operator, others)."""
        last = self._next(times)
        is_half = self._is_half(last, times.outputs[0])
        return (last, [times]) if other == x and is_half else None

    def _halved_before(self, times, x, other):
        """The half of x as factor of the product."""
        made = self.makers.get(other)
        is_half = self._is_half(made, x) and self._next(made) is times
        return (times, [made]) if is_half else None

    def _halved_first(self, times, x, other):
        """The half of the sum, then the product with x."""
        last = self._next(times)
        is_last = (
            last is not None and last.name == "Mul" and self._is_near(self._scalar(other), 0.5)
        )
        return (last, [times]) if is_last and _other(last, times.outputs[0]) == x else None

    def _is_near(self, number, wanted):
        """Tell whether a number is the wanted one, but for the steps of a stored constant."""
        near = 1e-2 if self.file.scales else 1e-4
        return number is not None and math.isclose(number, wanted, rel_tol=near)

    def _is_half(self, op, x):
        """Tell whether an operator makes half of x."""
        signal, factor = self._parts(op)
        return signal == x and self._is_near(factor, 0.5)

    # ---- (x - mean) / sqrt(variance + eps) * scale + shift -----------------------------------

    def normalization(self, op):
        """Look for what stands around a root: the last axis less its mean, by its deviation."""
        plus, divided = self._made(op.inputs[0], "Add"), self._next(op)
        numbers = [self._scalar(name) for name in plus.inputs] if plus else []
        if numbers.count(None) != 1 or divided is None or divided.name != "Div":
            return
        at = numbers.index(None)
        variance = self._mean(plus.inputs[at])
        square = variance and self._square(variance.inputs[0])
        rest = square and self.makers.get(square.inputs[0])
        mean = rest and rest.name == "Sub" and self._mean(rest.inputs[1])
        if not mean or mean.inputs[0] != rest.inputs[0] or numbers[1 - at] < 0:
            return
        fits = divided.inputs == (rest.outputs[0], op.outputs[0])
        if fits and all(o is square or o is divided for o in self.readers[rest.outputs[0]]):
            group = [mean, rest, square, variance, plus, op, divided]
            self._scaled_and_shifted(rest.inputs[0], numbers[1 - at], group)

    def _scaled_and_shifted(self, x, eps, group):
        """Make the normalization with the constants behind it; without a scale it stays apart."""
        times = self._next(group[-1])
        scale = self._row_of(times, "Mul", group[-1])
        if scale is None:
            return
        plus = self._next(times)
        shift = self._row_of(plus, "Add", times)
        if shift is not None:
            group.append(times)
        last = times if shift is None else plus
        inputs = (x, scale) if shift is None else (x, scale, shift)
        attrs = {"axis": -1, "epsilon": eps}
        self._make(OnnxOp("LayerNormalization", inputs, last.outputs, attrs), group)

    def _row_of(self, op, kind, before):
        """Return the name of the constant row that an operator takes beside a signal, or None."""
        if op is None or op.name != kind:
            return None
        other, wanted = _other(op, before.outputs[0]), self.file.shapes.get(before.outputs[0], ())
        value = self.file.constants.get(other)
        return other if value is not None and wanted and np.shape(value) == wanted[-1:] else None

    def _made(self, name, kind):
        """Return the operator of a kind that makes a value for one reader, or None."""
        op = self.makers.get(name)
        return op if op is not None and op.name == kind and self._next(op) else None

    def _square(self, name):
        """Return the operator that makes a value as the square of its first input, or None."""
        power, product = self._made(name, "Pow"), self._made(name, "Mul")
        if power and self._scalar(power.inputs[1]) == 2:
            return power
        return product if product and product.inputs[0] == product.inputs[1] else None

    def _mean(self, name):
        """Return the operator that makes a value as the mean over the last axis, or None."""
        op = self._made(name, "ReduceMean")
        axes = op.attrs.get("axes") if op else None
        if op and axes is None and len(op.inputs) > 1:
            axes = self.file.constants.get(op.inputs[1])
        rank = len(self.file.shapes.get(op.inputs[0], ())) if op else 0
        if axes is None or not rank or not op.attrs.get("keepdims", 1):
            return None
        return op if [int(axis) % rank for axis in np.ravel(axes)] == [rank - 1] else None

    # ---- softmax(factor q k^T) v -------------------------------------------------------------

    def attention(self, op):
        """Look for what stands around a softmax within a network."""
        shape = self.file.shapes.get(op.inputs[0], ())
        after, name, factor, group = self._next(op), op.inputs[0], 1.0, [op]
        if after is None or after.name != "MatMul" or after.inputs[0] != op.outputs[0]:
            return
        if not shape or op.attrs.get("axis", -1) % len(shape) != len(shape) - 1:
            return
        name, mask = self._unmasked(name, group)
        name, factor = self._unscaled(name, factor, group)
        product = self.makers.get(name)
        if product is None or product.name != "MatMul" or self._next(product) is not group[-1]:
            return
        group.append(product)
        parts = []
        for name in product.inputs:
            name, factor = self._unscaled(name, factor, group, product)
            parts.append(name)
        if factor > 0:
            inputs = (*parts, after.inputs[1])
            attrs = {"factor": factor, "mask": mask}
            self._make(OnnxOp(ATTENTION, inputs, after.outputs, attrs), group)

    def _unmasked(self, name, group):
        """Return (scores, what a constant mask adds to them, or None); its operator joins."""
        op, shape = self.makers.get(name), self.file.shapes.get(name)
        if op is None or op.name not in ("Add", "Where") or self._next(op) is not group[-1]:
            return name, None
        values = [self._array(part) for part in op.inputs]
        signals = [part for part, value in zip(op.inputs, values, strict=True) if value is None]
        if len(signals) != 1 or shape is None or values[0] is None and op.name == "Where":
            return name, None
        if op.name == "Add":
            mask = next(value for value in values if value is not None)
        else:  # a number in place of some scores
            given = [0.0 if value is None else value for value in values[1:]]
            if any(np.size(value) != 1 for value in given):
                return name, None
            mask = np.where(values[0].astype(bool), *given)
        group.append(op)
        return signals[0], np.broadcast_to(mask, shape)

    def _array(self, name):
        value = self.file.constants.get(name)
        return value.real if isinstance(value, Stored) else value

    def _unscaled(self, name, factor, group, reader=None):
        """Return (signal, factor) in front of products with one number, which join the group."""
        while True:
            made = self.makers.get(name)
            x, number = self._parts(made)
            if x is None or self._next(made) is not (reader or group[-1]):
                return name, factor
            group.append(made)
            name, factor, reader = x, factor * number, made

    def _make(self, op, gone):
        self.made[op.outputs[0]] = op
        self.makers.pop(op.outputs[0], None)  # it is no part of the next group
        self.gone |= {name for part in gone for name in part.outputs}


def _other(op, name):
    """Return the input of a product that is not `name`."""
    return op.inputs[1] if op.inputs[0] == name else op.inputs[0]
