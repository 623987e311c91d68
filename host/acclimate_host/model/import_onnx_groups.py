# SPDX-License-Identifier: MIT
"""Groups of ONNX operators that are one operator here: GELU, and attention.

PyTorch's exporter writes both in parts. Where a group is not as here it stays as it is, and each
part is taken or refused by itself.
"""

import math
from dataclasses import replace

import numpy as np

from .onnx_file import OnnxOp, Stored

ATTENTION = "attention"  # no operator of ONNX: inputs q, k^T, v; attribute factor


def grouped(file):
    """Return the OnnxFile with each group as one operator in place of its last one."""
    if file.scales:
        return file  # scales between the parts have no place here
    search = _Search(file)
    for op in file.ops:
        if op.name == "Erf":
            search.gelu(op)
        elif op.name == "Softmax":
            search.attention(op)
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
        if x is None or not math.isclose(factor, math.sqrt(0.5), rel_tol=1e-4):
            return
        if plus is None or plus.name != "Add" or self._next(before) is not op:
            return
        if 1.0 not in map(self._scalar, plus.inputs):
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
        is_half = last is not None and self._parts(last) == (times.outputs[0], 0.5)
        return (last, [times]) if other == x and is_half else None

    def _halved_before(self, times, x, other):
        """The half of x as factor of the product."""
        made = self.makers.get(other)
        is_half = self._parts(made) == (x, 0.5) and self._next(made) is times
        return (times, [made]) if is_half else None

    def _halved_first(self, times, x, other):
        """The half of the sum, then the product with x."""
        last = self._next(times)
        is_last = last is not None and last.name == "Mul" and self._scalar(other) == 0.5
        return (last, [times]) if is_last and _other(last, times.outputs[0]) == x else None

    # ---- softmax(factor q k^T) v -------------------------------------------------------------

    def attention(self, op):
        """Look for what stands around a softmax within a network."""
        shape = self.file.shapes.get(op.inputs[0], ())
        after, name, factor, group = self._next(op), op.inputs[0], 1.0, [op]
        if after is None or after.name != "MatMul" or after.inputs[0] != op.outputs[0]:
            return
        if not shape or op.attrs.get("axis", -1) % len(shape) != len(shape) - 1:
            return
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
            self._make(OnnxOp(ATTENTION, inputs, after.outputs, {"factor": factor}), group)

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
        self.gone |= {name for part in gone for name in part.outputs}


def _other(op, name):
    """Return the input of a product that is not `name`."""
    return op.inputs[1] if op.inputs[0] == name else op.inputs[0]
