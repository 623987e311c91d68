# SPDX-License-Identifier: MIT
"""The weights section of a program: layer records, requantization factors, weights, tables.

Numbers as in docs/numerics.md; the layout of a record comes from program_format.
"""

import math
import struct

import numpy as np

from ..model.attention import exponentials as exponential_table
from ..model.attention import output_factor, score_factors
from ..model.factors import multiplier, multipliers
from ..model.graph import GraphError, geometry
from ..model.int8 import layer_factors
from ..model.network import clamp_limits
from .program_format import ADD
from .rows import pack_rows, rows_bytes
from .storage import aligned

SUM_LIMIT = 1 << 31
MANY = 4  # from how many output pixels on four channels go at a time: net_work.h
GATHERED = 64  # pixels whose gradients an update gathers at once: net_work.h
# Signed fields of the records; all others are unsigned.
_SIGNED = {
    "zero_x",
    "zero_y",
    "low",
    "high",
    "exponent",
    "x_exponent",
    "i_exponent",
    "multiplier_a",
    "multiplier_b",
    "multiplier_y",
    "shift_a",
    "shift_b",
    "shift_y",
    "zero_a",
    "zero_b",
}
_CODES = {1: "b", 2: "h", 4: "i"}


def pack_record(record, values):
    """Return the bytes of a record; each field must have a value."""
    data = b""
    for field in record.fields:
        kind = _CODES[field.bytes]
        kind = kind if field.name in _SIGNED else kind.upper()
        try:
            data += struct.pack("<" + kind, values[field.name])
        except struct.error:
            raise GraphError(
                f"{field.name} is {values[field.name]}; a program has {field.bytes} bytes for it"
            ) from None
    return data


def mantissa(value):
    """Return (m, e) with m * 2^e closest to a positive value, 2^14 <= m < 2^15."""
    if not (0 < value < math.inf):
        raise GraphError(f"scale: expected a positive number, got {value!r}")
    fraction, exponent = math.frexp(value)
    m = math.floor(fraction * 32768 + 0.5)
    if m == 32768:
        m, exponent = 16384, exponent + 1
    return m, exponent - 15


def ratios(scales):
    """Return (r as uint16 array, ew) of per-channel weight scales: section 5."""
    scales = np.asarray(scales, np.float64)
    most = float(scales.max())
    if not (0 < most < math.inf):
        raise GraphError(f"weight scale: expected a positive number, got {most!r}")
    fraction, exponent = math.frexp(most)
    exponent -= fraction == 0.5
    return np.floor(scales * 2.0 ** (15 - exponent) + 0.5).astype(np.uint16), exponent


def fold(terms):
    """Return t of section 5 for sums over `terms` products."""
    for t in range(9, 24):
        if terms * 128 * (((127 << 15) >> t) + 1) < SUM_LIMIT:
            return t
    raise GraphError(f"a gradient over {terms} products leaves int32; use fewer channels")


def exponentials(scale):
    """Return the 64 bytes of section 4's table for logits of a scale."""
    steps = np.concatenate([16 * np.arange(16), np.arange(16)])
    return np.floor(32768 * np.exp(-steps * scale) + 0.5).astype("<u2").tobytes()


def float_bits(value):
    """Return a number as the bits of a float32."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


class Blob:
    """Bytes of the weights section; what is added twice lies there once."""

    def __init__(self):
        self.data, self.known = bytearray(), {}

    def add(self, data):
        """Append bytes at a multiple of 4 and return where."""
        data = bytes(data)
        if data not in self.known:
            self.data += bytes(-len(self.data) % 4)
            self.known[data] = len(self.data)
            self.data += data
        return self.known[data]


def add_rule(graph, node, a, b, blob):
    """Return the offset of the record of an addition of tensors a and b."""
    y = graph[node.outputs[0]]
    twice = 2 * max(a.scale, b.scale)
    values = {}
    factors = (("a", a.scale / twice), ("b", b.scale / twice), ("y", twice / (2**20 * y.scale)))
    for name, factor in factors:
        values["multiplier_" + name], values["shift_" + name] = multiplier(factor)
    values.update(zero_a=a.zero_point, zero_b=b.zero_point, zero_y=y.zero_point)
    values["low"], values["high"] = clamp_limits(graph, node)
    return blob.add(pack_record(ADD, values))


def multiply_rule(graph, node, blob):
    """Return the offset of the record of a product: that of an addition, with one factor."""
    a, b = (graph[name] for name in node.inputs)
    y = graph[node.outputs[0]]
    values = dict.fromkeys(("multiplier_a", "multiplier_b", "shift_a", "shift_b"), 0)
    values["multiplier_y"], values["shift_y"] = multiplier(a.scale * b.scale / y.scale)
    values.update(zero_a=a.zero_point, zero_b=b.zero_point, zero_y=y.zero_point)
    values["low"], values["high"] = clamp_limits(graph, node)
    return blob.add(pack_record(ADD, values))


def slopes(function, x, y):
    """Return (256 stored slopes of a function, their scale) between two tensors.

    The slope from below stands for all, and 0 where the function leaves the range of `y`.
    """
    real = (np.arange(-128, 128) - x.zero_point) * np.float64(x.scale)
    tiny = 1e-6 * x.scale
    slope = (function(real) - function(real - tiny)) / tiny
    stored = function(real) / y.scale + y.zero_point
    slope = np.where((stored < -128.5) | (stored > 127.5), 0.0, slope)
    scale = float(np.abs(slope).max()) / 127 or 1.0
    return np.rint(slope / scale).astype(np.int8), scale


def attention_rule(node, graph):
    """Return the record of an attention: factors, zero points, table of shares."""
    numbers = (*score_factors(node, graph), *output_factor(node, graph))
    zeros = [graph[name].zero_point for name in (*node.inputs, *node.outputs)]
    table = exponential_table().astype("<u2").tobytes()
    return struct.pack("<5i4b", *numbers, *zeros) + table


def target_table(x, y):
    """Return the table by which stored inputs are targets of outputs, in 1/16 of their steps."""
    steps = (np.arange(-128, 128) - x.zero_point) * (x.scale / y.scale) + y.zero_point
    parts = np.floor(16 * steps + 0.5)
    if np.abs(parts).max() > 32767:
        raise GraphError(f"{y.name}: its range is below 1/16 of the input's, which it gives back")
    return parts.astype("<i2").tobytes()


def matrix(weight, groups, depthwise):
    """Return a weight (outputs, inputs, height, width) in the order of a board's memory."""
    rows = np.ascontiguousarray(weight.transpose(0, 2, 3, 1)).reshape(len(weight), -1)
    if rows.dtype != np.int8:
        return rows.astype("<f4").tobytes()
    if depthwise:
        return rows.tobytes()
    return b"".join(pack_rows(part) for part in np.split(rows, groups))


def matrix_bytes(shape, groups, depthwise, is_float):
    """Return the bytes that `matrix` makes of a weight of this shape (depthwise: unfilled)."""
    outputs, depth = shape[0], math.prod(shape[1:])
    if is_float:
        return 4 * outputs * depth
    return outputs * depth if depthwise else groups * rows_bytes(outputs // groups, depth)


class LayerShape:
    """What a program knows of one convolution or dense layer, whatever its dtype."""

    def __init__(self, graph, node):
        self.node, self.name = node, node.attrs["layer"]
        self.x, self.weight, self.bias = (graph[name] for name in node.inputs[:3])
        self.y = graph[node.outputs[0]]
        if node.op == "dense":
            self.cin, self.groups = self.x.elements, 1
            self.kernel, self.stride, self.pad = (1, 1), (1, 1), (0, 0)
        else:
            shape = geometry(node.attrs)
            self.cin, self.groups = self.x.shape[0], node.attrs["groups"]
            self.kernel, self.stride, self.pad = shape.kernel, shape.stride, shape.pad[:2]
        self.cout = self.y.shape[0]
        self.depthwise = self.groups == self.cin == self.cout > 1

    @property
    def window(self):
        """h, w, oh, ow, top, left of the whole layer."""
        if self.node.op == "dense":
            return (1, 1, 1, 1, 0, 0)
        return (*self.x.shape[1:], *self.y.shape[1:], *self.pad)

    def ordered(self, weight):
        """Return the weight as (outputs, inputs, height, width) of the program's layer."""
        if self.node.op == "dense":
            return weight.transpose(0, 2, 3, 1).reshape(len(weight), -1, 1, 1)
        return weight


def forward_work(layer):
    """Return the bytes that a fast kernel needs beside its tensors: net_work.h, any split."""
    taps = math.prod(layer.kernel)
    if layer.depthwise:
        columns = (layer.window[3] - 1) * layer.stride[1] + layer.kernel[1]
        return 8 * layer.kernel[0] * (columns + layer.kernel[1])
    row = taps * layer.cin // layer.groups + 8  # filled twice, trained and frozen part
    quads = 9 * layer.kernel[0] * aligned(layer.kernel[1] * layer.cin) + 4 + 4 * layer.window[3]
    return aligned(max(5 * row, quads if layer.groups == 1 and _has_many(layer) else 0))


def _has_many(layer):
    return layer.window[2] * layer.window[3] >= MANY


def gradient_work(layer):
    """Return the bytes that the gradient of a layer's input needs: net_gradient_work."""
    (kh, kw), ow = layer.kernel, layer.window[3]
    if not layer.depthwise:
        return 8 * (layer.cin + 3) + 4 * layer.cout
    reached = max((ow - 1) * layer.stride[1] + kw, layer.window[5] + layer.window[1])
    return 8 * kh * (kw + ow) + 16 * reached


def weight_work(layer, split):
    """Return the bytes that an update of `split` channels takes to be fast: net_weight_work."""
    taps = math.prod(layer.kernel)
    if layer.depthwise:
        return 16 * taps
    pixels = layer.window[2] * layer.window[3]
    if taps * pixels == 1:
        return 4 * split
    return 4 * split * (taps + 1) + 4 * min(_up_even(pixels), GATHERED)


def _up_even(count):
    return count + count % 2


def check_sums(layer, bias):
    """Raise GraphError where a sum of section 2 or 6 could leave int32."""
    terms = layer.cin // layer.groups * math.prod(layer.kernel)
    # x - zero lies within 255, a weight within 128.
    most = int(np.abs(bias.astype(np.int64)).max())
    if terms * 255 * 128 + most >= SUM_LIMIT:
        raise GraphError(f"{layer.name}: a sum over {terms} products leaves int32; split it")


def layer_values(graph, layer, blob, is_float):
    """Return the record's fields that say what the layer computes."""
    values = {
        "cin": layer.cin,
        "cout": layer.cout,
        "groups": layer.groups,
        "kh": layer.kernel[0],
        "kw": layer.kernel[1],
        "stride_h": layer.stride[0],
        "stride_w": layer.stride[1],
        "zero_x": 0,
        "zero_y": 0,
        "low": -128,
        "high": 127,
        "ratio": 0,
        "exponent": 0,
        "fold": 9,
        "x_mantissa": 0,
        "x_exponent": 0,
        "i_mantissa": 0,
        "i_exponent": 0,
    }
    if is_float:
        attrs = layer.node.attrs
        limit = attrs.get("limit", 6.0) if attrs.get("relu") else math.inf
        low = 0.0 if attrs.get("relu") else -math.inf
        values["requant"] = blob.add(struct.pack("<2f", low, limit))
        return values
    factors = layer_factors(layer.x, layer.weight, layer.y)
    m, shift = multipliers(factors)
    values["requant"] = blob.add(m.astype("<i4").tobytes() + shift.astype("i1").tobytes())
    values["low"], values["high"] = clamp_limits(graph, layer.node)
    values.update(zero_x=layer.x.zero_point, zero_y=layer.y.zero_point)
    return values


def training_values(layer, blob):
    """Return the record's fields that the backward pass needs: sections 5 and 6."""
    scales = np.broadcast_to(np.asarray(layer.weight.scale, np.float64), (layer.cout,))
    r, exponent = ratios(scales)
    x, inverse = mantissa(layer.x.scale), mantissa(1 / layer.x.scale)
    terms = layer.cout // layer.groups * math.prod(layer.kernel)
    return {
        "ratio": blob.add(r.astype("<u2").tobytes()),
        "exponent": exponent,
        "fold": fold(terms),
        "x_mantissa": x[0],
        "x_exponent": x[1],
        "i_mantissa": inverse[0],
        "i_exponent": inverse[1],
    }
