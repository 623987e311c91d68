# SPDX-License-Identifier: MIT
"""Turns the nodes of a step into instructions; one method for each operator."""

import math
from dataclasses import dataclass

from ..model.attention import gradient_factor
from ..model.clamps import clamp_name
from ..model.factors import multiplier
from ..model.graph import BITS, GraphError
from ..model.int8 import norm_extra
from ..model.losses import huber_limit
from ..model.moves import blocks_of, is_in_order, sources
from ..model.network import clamp_limits
from .blob import float_bits, mantissa
from .patches import convs_of, patch_regions
from .pools import average_shift, pool_window
from .program_format import code
from .storage import aligned

# Steps of an output that rate times gradient is at most: a step of an ordinary rate.
BOUND_STEPS = 0.25
SQUARED_BOUND_STEPS = 2
MOST_BLOCKS = 65535  # 16-bit numbers
MOST_SUMMED = 66000  # products of two bytes that int32 holds


def number(value):
    """Return an operand: 7 bits a byte, the lowest first.

    >>> number(300).hex()
    'ac02'
    """
    if value < 0:
        raise GraphError(f"operand: expected a number of 0 or more, got {value}")
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


@dataclass(frozen=True)
class Code:
    """Instructions; `forward`: bytes up to the outputs, `slots`: exponents of gradients."""

    bytes: bytes
    forward: int
    slots: int


def write_nodes(placement, constants):
    """Return the Code of a Placement's nodes."""
    emitter, forward = _Emitter(placement, constants), None
    for position, node in enumerate(placement.graph.nodes):
        if node.phase != "forward" and forward is None:
            forward = len(emitter.code)
        emitter.node(position, node)
    code = bytes(emitter.code)
    slots = len(set(emitter.slots.values()))
    return Code(code, len(code) if forward is None else forward, slots)


def code_of_nodes(placement, nodes=None):
    """Return the code of each node as if all tensors and records lay at the beginning.

    :param nodes: what stands at each position instead of the Placement's own nodes

    Operands that name a layer are its number among `placement.layers`; nothing is laid out.
    """
    emitter = _Emitter(_Nowhere(placement), _NoValues(placement))
    found = []
    for position, node in enumerate(placement.graph.nodes if nodes is None else nodes):
        emitter.code = bytearray()
        emitter.node(position, node)
        found.append(bytes(emitter.code))
    return found


class _Nowhere:
    """A Placement without a layout: work areas have their bytes, all else lies at 0."""

    def __init__(self, placement):
        self._placement = placement

    def __getattr__(self, name):
        return getattr(self._placement, name)

    def at(self, name, position):
        return 0

    def has(self, name, position):
        return True

    def work(self, position, name):
        size = self._placement.work_size(position, name)
        return (0, size) if size else None

    def optimizer_state(self, name):
        return 0


class _NoValues:
    """Constants without values."""

    def __init__(self, placement):
        self.records = {name: 4 * number for number, name in enumerate(placement.layers)}
        self.tables = dict.fromkeys(placement.graph.tensors, 0)

    def rule(self, node, a, b):
        return 0

    def multiply_rule(self, node):
        return 0

    def slopes(self, node):
        return 4, 1.0

    def numbers(self, values):
        return 4

    def lstm(self, node):
        return 4

    def svdf(self, node):
        return 4

    def attention(self, node):
        return 4

    def target_table(self, x, y):
        return 4


class _Emitter:
    """Writes instructions into `code`; `forward` has the tensors as they are before any fusion."""

    def __init__(self, placement, constants):
        self.placement, self.constants, self.graph = placement, constants, placement.graph
        self.forward = placement.network.graph
        self.code, self.slots, self.position = bytearray(), {}, 0

    def write(self, op, *operands):
        self.code.append(code(op))
        for operand in operands:
            self.code += number(operand)

    def node(self, position, node):
        self.position = position
        getattr(self, "_" + node.op, self._unknown)(node)
        if node.phase == "forward" and self.placement.is_float:
            self._clamp_float(node)

    def _unknown(self, node):
        raise GraphError(f"{node.op} has no instruction; update the compiler or leave it out")

    # ---- operands --------------------------------------------------------------------------

    def at(self, name):
        return self.placement.at(name, self.position)

    def place(self, name):
        """An operand of the forward pass: in the arena or in the caller's input."""
        if self.graph[name].kind == "input" and not self.placement.has(name, self.position):
            return 1
        return 2 * self.at(name)

    def mask(self, name):
        return self.at(name) + 1

    def slot(self, name):
        return self.slots.setdefault(name, len(set(self.slots.values())))

    def share_slot(self, name, other):
        """Let a gradient have the exponent of another one, of which it is a part."""
        self.slots[name] = self.slot(other)

    def work(self, name="work"):
        """Offset + 1 and bytes of a work area of this node, 0 and 0 for none."""
        found = self.placement.work(self.position, name)
        return (found[0] + 1, found[1]) if found else (0, 0)

    def plane(self):
        return self.placement.work(self.position, "plane")[0]

    def layer(self, name):
        return self.constants.records[name] // 4

    # ---- forward ---------------------------------------------------------------------------

    def _conv(self, node, rule=None):
        name = node.attrs["layer"]
        masks = [n for n in node.outputs[1:] if self.graph[n].kind == "mask"]
        mask = self.mask(masks[0]) if masks else 0
        first = (self.layer(name), mask, self.place(node.inputs[0]))
        window = self.placement.layers[name].window
        y = node.outputs[0]
        taken = self.placement.taken.get(y)
        if rule is None and taken is not None and taken == node.inputs[0]:
            self.write("DEPTHWISE_IN_PLACE", *first, *window, self.plane(), *self.work())
            return
        more = () if rule is None else (rule // 4, self.at(node.inputs[-1]))
        op = "CONV" if rule is None else "CONV_ADD"
        self.write(op, *first, *window, self.at(y), *self.work(), *more)

    def _dense(self, node):
        self._conv(node)

    def _conv_add(self, node):
        name = node.attrs["layer"]
        original = self.placement.layers[name].node.outputs[0]
        add = next(n for n in self.forward.nodes if n.outputs[0] == node.outputs[0])
        sides = [self.forward[original], self.forward[node.inputs[-1]]]
        self._conv(node, self.constants.rule(add, *sides))

    def _conv_depthwise(self, node):
        steps = [attrs["layer"] for attrs in node.attrs["steps"]]
        masks = iter([n for n in node.outputs[1:] if self.graph[n].kind == "mask"])
        found = [self.mask(next(masks)) if has else 0 for has in node.attrs["masks"]]
        first, second = (self.placement.layers[name] for name in steps)
        self.write(
            "CONV_DEPTHWISE",
            self.layer(steps[0]),
            found[0],
            self.place(node.inputs[0]),
            *first.window,
            self.plane(),
            node.attrs["planes"],
            self.layer(steps[1]),
            found[1],
            *second.window,
            self.at(node.outputs[0]),
            *self.work(),
        )

    def _clamp_float(self, node):
        """What is no layer does not clamp float32: one weight a channel does, in place."""
        made = [n for n in self.forward.nodes if node.outputs and n.outputs[0] == node.outputs[0]]
        name = clamp_name(made[0].attrs["layer"]) if made else None
        if name in self.placement.clamps:
            y, window = self.at(node.outputs[0]), self.placement.layers[name].window
            self.write("CONV", self.layer(name), 0, 2 * y, *window, y, 0, 0)

    def _clamp_mask(self, node):
        """One weight a channel marks what lies between the limits; its output is dropped."""
        name = node.attrs["layer"]
        first = (self.layer(name), self.mask(node.outputs[0]), self.place(node.inputs[0]))
        self.write("CONV", *first, *self.placement.layers[name].window, self.plane(), *self.work())

    def _add(self, node):
        a, b = node.inputs
        rule = self.constants.rule(node, self.forward[a], self.forward[b])
        elements = self.graph[a].elements
        self.write(
            "ADD", rule // 4, self.place(a), self.place(b), self.at(node.outputs[0]), elements
        )

    # ---- products, and what changes places ---------------------------------------------------

    def _multiply(self, node):
        a, b = node.inputs
        rule, y = self.constants.multiply_rule(node) // 4, node.outputs[0]
        counts = (self.graph[a].elements, self.graph[b].elements)
        self.write("MULTIPLY", rule, self.place(a), self.place(b), self.at(y), *counts)

    def _concat(self, node):
        y = self.graph[node.outputs[0]]
        at, row = self.at(y.name), self._row_of(node, y)
        for name in node.inputs:
            x = self.graph[name]
            n = self._row_of(node, x)
            self.write("COPY", self.place(name), at, x.elements // n, n, n, row)
            at += n * self.placement.element_bytes

    @staticmethod
    def _row_of(node, tensor):
        """Elements of a tensor that stay together in a concat."""
        return tensor.shape[0] if node.attrs["axis"] == "channels" else tensor.elements

    def _part_gradient(self, node):
        """A part of the gradient is copied out, and has its exponent."""
        g, y = self.graph[node.inputs[0]], self.graph[node.outputs[0]]
        n, row = self._row_of(node, y), self._row_of(node, g)
        start = self.at(g.name) + node.attrs["first"] * self.placement.element_bytes
        self.write("COPY", 2 * start, self.at(y.name), y.elements // n, n, row, n)
        self.share_slot(y.name, g.name)

    def _gather(self, node):
        x, y = self.graph[node.inputs[0]], self.graph[node.outputs[0]]
        if is_in_order(node.attrs["index"], x.elements):
            n = x.elements
            self.write("COPY", self.place(x.name), self.at(y.name), 1, n, n, n)
            return
        n, blocks = self._blocks(node, x)
        table = self.constants.numbers(blocks) // 4
        self.write("GATHER", table, self.place(x.name), self.at(y.name), len(blocks), n)

    def _gather_gradient(self, node):
        g, y = self.graph[node.inputs[0]], self.graph[node.outputs[0]]
        if is_in_order(node.attrs["index"], y.elements):
            n = y.elements
            self.write("COPY", 2 * self.at(g.name), self.at(y.name), 1, n, n, n)
            self.share_slot(y.name, g.name)
            return
        n, blocks = self._blocks(node, y)
        starts, places = sources(blocks, y.elements // n)
        table = self.constants.numbers([*starts, *places]) // 4
        slots = (self.slot(g.name), self.slot(y.name))
        counts = (y.elements // n, n, len(places))
        self.write("GATHER_GRADIENT", table, self.at(g.name), self.at(y.name), *counts, *slots)

    @staticmethod
    def _blocks(node, x):
        n, blocks = blocks_of(node.attrs["index"], x.elements)
        if max(len(blocks), x.elements // n) > MOST_BLOCKS:
            raise GraphError(
                f"{node.attrs['layer']}: moves {len(blocks)} parts of {n}; most is {MOST_BLOCKS}"
            )
        return n, blocks

    def _product_gradient(self, node):
        x = self.forward[node.inputs[1]]
        factor = 1.0 if self.placement.is_float else x.scale
        self._gradient_of_factor(node, x.zero_point, 0, factor)

    def _table_gradient(self, node):
        table, factor = self.constants.slopes(node)
        self._gradient_of_factor(node, 0, table // 4, factor)

    def _gradient_of_factor(self, node, zero, table, factor):
        (g, x), y = node.inputs, node.outputs[0]
        n, m, f = (self.graph[name].elements for name in (g, y, x))
        if n // m > MOST_SUMMED:
            raise GraphError(f"{node.attrs['layer']}: a sum over {n // m} products leaves int32")
        places = (self.at(g), self.at(y), n, m, self.place(x), f, zero + 128, table)
        slots = (self.slot(g), self.slot(y))
        self.write("PRODUCT_GRADIENT", *places, *slots, *self._factor(factor))

    def _lstm(self, node):
        x, (y, h, c) = self.graph[node.inputs[0]], node.outputs
        record = self.constants.lstm(node) // 4
        counts = (x.shape[1] * x.shape[2], x.shape[0], self.graph[y].shape[0])
        self.write("LSTM", record, self.place(x.name), self.at(y), self.at(h), self.at(c), *counts)

    def _svdf(self, node):
        x, (y, state) = self.graph[node.inputs[0]], node.outputs
        record, (memory, filters, _) = self.constants.svdf(node) // 4, self.graph[state].shape
        rank, size = node.attrs["rank"], BITS[self.graph[state].dtype] // 8
        places = (record, self.place(x.name), self.at(y), self.at(state))
        self.write("SVDF", *places, x.elements, filters // rank, rank, memory, size)

    def _norm(self, node):
        x, y = self.forward[node.inputs[0]], self.forward[node.outputs[0]]
        rows, n = x.shape[1] * x.shape[2], x.shape[0]
        numbers = (float_bits(node.attrs["eps"]), 0, 128, 128)
        if not self.placement.is_float:
            m, shift = multiplier(1 / (1024 * y.scale))
            extra = norm_extra(x, node.attrs["eps"])
            numbers = (extra, m, shift + 128, y.zero_point + 128)
        self.write("NORM", self.place(x.name), self.at(y.name), rows, n, *numbers)

    def _norm_gradient(self, node):
        (g, name), y = node.inputs, node.outputs[0]
        x = self.forward[name]
        rows, n = x.shape[1] * x.shape[2], x.shape[0]
        extra, factors = float_bits(node.attrs["eps"]), (0, 128)
        if not self.placement.is_float:
            extra = norm_extra(x, node.attrs["eps"])
            m, e = mantissa(1 / x.scale)
            # A sum stands for itself times 2^-26, and an inverse for itself times 2^-15.
            factors = (m, e + 15 - 26 + 128)
        slots = (self.slot(g), self.slot(y))
        places = (self.at(g), self.place(name), self.at(y))
        self.write("NORM_GRADIENT", *places, rows, n, extra, *slots, *factors)

    def _attention_operands(self, node, inputs):
        """What an attention and its gradient begin with: up to the channels and heads."""
        q, k, v = (self.forward[name] for name in inputs)
        heads = node.attrs["heads"]
        counts = (q.shape[1] * q.shape[2], k.shape[1] * k.shape[2])
        counts += (q.shape[0] // heads, v.shape[0] // heads, heads)
        rule = self.constants.attention(node) // 4
        return (rule, *(self.place(name) for name in inputs), *counts)

    def _attention(self, node):
        operands = self._attention_operands(node, node.inputs)
        self.write("ATTENTION", *operands, self.at(node.outputs[0]), self.work()[0] - 1)

    def _attention_gradient(self, node):
        (g, *inputs), y = node.inputs, node.outputs[0]
        which, numbers = node.attrs["side"], (0, 128)
        if not self.placement.is_float:
            layer = node.attrs["layer"]
            made = next(n for n in self.forward.nodes if n.attrs.get("layer") == layer)
            m, e = mantissa(gradient_factor(made, self.forward, which))
            numbers = (m, e + 15 + 128)
        operands = self._attention_operands(node, inputs)
        places = (self.at(y), self.work()[0] - 1, self.at(g), which)
        slots = (self.slot(g), self.slot(y))
        self.write("ATTENTION_GRADIENT", *operands, *places, *slots, *numbers)

    def _pooled(self, op, node, limits):
        x, y = node.inputs[0], node.outputs[0]
        window = pool_window(node, self.graph[x].shape, self.graph[y].shape)
        self.write(op, self.place(x), self.at(y), *window, limits[0] + 128, limits[1] + 128)

    def _pool(self, node):
        limits = (-128, 127) if self.placement.is_float else clamp_limits(self.forward, node)
        op = "MAX_POOL" if node.op == "max_pool" else "AVERAGE_POOL"
        self._pooled(op, node, limits)

    _average_pool = _max_pool = _pool

    def _pad(self, node):
        fill = 0 if self.placement.is_float else self.forward[node.inputs[0]].zero_point
        self._pooled("PAD", node, (fill, 127))

    def _lookup(self, node):
        x, table = node.inputs
        elements = self.graph[x].elements
        self.write(
            "LOOKUP",
            self.constants.tables[table] // 4,
            self.place(x),
            self.at(node.outputs[0]),
            elements,
        )

    def _window(self, node):
        """Rows move up, and the new ones come last."""
        x, y = node.inputs[0], node.outputs[0]
        channels, rows, width = self.graph[y].shape
        row, new = channels * width, self.graph[x].shape[1]
        start, size = self.at(y), self.placement.element_bytes
        if rows > new:
            self.write("COPY", 2 * (start + new * row * size), start, rows - new, row, row, row)
        last = start + (rows - new) * row * size
        self.write("COPY", self.place(x), last, new, row, row, row)

    def _keep(self, node):
        x, y = node.inputs[0], node.outputs[0]
        channels, height, width = self.graph[x].shape
        count = node.attrs["count"]
        self.write("KEEP", self.place(x), self.at(y), height * width, count, channels, count)

    # ---- pages -----------------------------------------------------------------------------

    def _page(self, op, node, name):
        size = aligned(self.graph[name].size_bytes)
        self.write(op, node.attrs["page"], self.at(name), size)

    def _page_out(self, node):
        self._page("PAGE_OUT", node, node.inputs[0])

    def _page_keep(self, node):
        self._page("PAGE_KEEP", node, node.inputs[0])

    def _page_in(self, node):
        self._page("PAGE_IN", node, node.outputs[0])

    # ---- patches ---------------------------------------------------------------------------

    def _patches(self, node):
        grid = node.attrs["grid"]
        for row in range(grid):
            for column in range(grid):
                self._patch(node, (row, column), grid)

    def _patch(self, node, where, grid):
        """One patch: results lie in turn at the bottom and at the top of the work area."""
        steps = node.attrs["steps"]
        layers = [
            self.placement.layers[conv["layer"]] for step in steps for conv in convs_of(step)
        ]
        regions = Regions(layers, where, grid)
        base, size = self.placement.work(self.position, "plane")
        source, bottom, position = None, True, 0
        for step in steps:
            count = len(convs_of(step))
            is_last = step is steps[-1]
            room = (
                0 if is_last else self.placement.element_bytes * regions.elements(position + count)
            )
            target = None if is_last else base if bottom else base + (size - room) // 4 * 4
            held = (
                self.placement.element_bytes * regions.elements(position) if source == base else 0
            )
            plane = base + -(-max(held, room if bottom else 0) // 4) * 4
            self._pitch(node, regions, position, count, source, target)
            ends = (self._from(node, regions, source), self._to(node, regions, target))
            self._patch_step(step, regions, position, ends, plane)
            source, bottom, position = target, not bottom, position + count

    def _pitch(self, node, regions, position, count, source, target):
        """Rows of the whole input and output lie further apart than those of a patch."""
        x, y = self.graph[node.inputs[0]], self.graph[node.outputs[0]]
        pitches = (
            x.shape[0] * x.shape[2] if source is None else 0,
            y.shape[0] * y.shape[2] if target is None else 0,
        )
        if any(pitches):
            self.write("PITCH", *pitches)

    def _from(self, node, regions, source):
        if source is not None:
            return 2 * source
        x = self.graph[node.inputs[0]]
        return self.place(x.name) + 2 * self.placement.element_bytes * regions.first(0, x.shape)

    def _to(self, node, regions, target):
        if target is not None:
            return target
        y = self.graph[node.outputs[0]]
        return self.at(y.name) + self.placement.element_bytes * regions.first(-1, y.shape)

    def _patch_step(self, step, regions, position, ends, plane):
        layers = [self.layer(conv["layer"]) for conv in convs_of(step)]
        windows = [regions.window(position + i) for i in range(len(layers))]
        if step.op == "conv":
            self.write("CONV", layers[0], 0, ends[0], *windows[0], ends[1], *self.work())
        else:
            self.write(
                "CONV_DEPTHWISE",
                layers[0],
                0,
                ends[0],
                *windows[0],
                plane,
                step.attrs["planes"],
                layers[1],
                0,
                *windows[1],
                ends[1],
                *self.work(),
            )

    # ---- loss and backward -----------------------------------------------------------------

    def _softmax_loss(self, node):
        logits, gradient = node.inputs[0], node.outputs[1]
        self.write(
            "LOSS",
            self.place(logits),
            self.graph[logits].elements,
            self.at(gradient),
            self.slot(gradient),
            self.work()[0] - 1,
            self._most(logits),
        )

    def _loss(self, node):
        """The operands that all losses begin with."""
        logits, gradient = node.inputs[0], node.outputs[1]
        place, elements = self.place(logits), self.graph[logits].elements
        return place, elements, self.at(gradient), self.slot(gradient)

    def _most(self, logits, steps=BOUND_STEPS):
        """The bound of section 4, raised by 128."""
        if self.placement.is_float:
            return int(steps / BOUND_STEPS)
        return math.floor(math.log2(steps * self.forward[logits].scale)) - 22 + 128

    def _factor(self, factor):
        """A factor as two operands: of float32 its bits."""
        if self.placement.is_float:
            return float_bits(factor), 128
        m, e = mantissa(factor)
        return m, e + 128

    def _squared_loss(self, node):
        logits, target = node.inputs
        y, attrs = self.forward[logits], node.attrs
        factor, delta = attrs["factor"] / y.elements, attrs["delta"]
        table, limit = 0, float_bits(delta)
        if not self.placement.is_float:
            factor *= y.scale / 16
            limit = huber_limit(y, delta)
            if self.graph[target].kind == "input":
                table = self.constants.target_table(self.forward[target], y) // 4
        factors = self._factor(factor)
        place, most = self.place(target), self._most(logits, SQUARED_BOUND_STEPS)
        self.write("SQUARED_LOSS", *self._loss(node), place, table, limit, *factors, most)

    def _binary_loss(self, node):
        logits, target = node.inputs
        y = self.forward[logits]
        zero, factors = y.zero_point + 128, self._factor(1 / y.elements / 32768)
        if self.placement.is_float:
            factors = self._factor(1 / y.elements)
        place, most = self.place(target), self._most(logits)
        self.write("BINARY_LOSS", *self._loss(node), place, zero, *factors, most)

    def _clamp_gradient(self, node):
        g, mask = node.inputs
        y = node.outputs[0]
        self.write(
            "CLAMP_GRADIENT",
            self.at(g),
            self.at(mask),
            self.at(y),
            self.graph[g].elements,
            self.slot(g),
            self.slot(y),
        )

    def _input_gradient(self, node):
        g, y, name = node.inputs[0], node.outputs[0], node.attrs["layer"]
        self.write(
            "INPUT_GRADIENT",
            self.layer(name),
            self.at(g),
            self.at(y),
            *self.placement.layers[name].window,
            self.slot(g),
            self.slot(y),
            *self.work(),
        )

    def _pool_gradient(self, node):
        g, y = node.inputs[0], node.outputs[0]
        window = pool_window(node, self.graph[y].shape, self.graph[g].shape)
        is_max = node.op == "max_pool_gradient"
        x = self.place(node.inputs[1]) if is_max else 2 * self.at(y)
        self.write(
            "MAX_POOL_GRADIENT" if is_max else "AVERAGE_POOL_GRADIENT",
            x,
            self.at(g),
            self.at(y),
            *window,
            self.slot(g),
            self.slot(y),
            *self.work(),
            1 + (0 if is_max or node.op == "pad_gradient" else average_shift(window)),
        )

    # Padding is a pool of one element, where that lies inside of the input.
    _average_pool_gradient = _max_pool_gradient = _pad_gradient = _pool_gradient

    def _sum_gradients(self, node):
        a, b = node.inputs
        y = node.outputs[0]
        self.write(
            "SUM_GRADIENTS",
            self.at(a),
            self.at(b),
            self.at(y),
            self.graph[y].elements,
            self.slot(a),
            self.slot(b),
            self.slot(y),
        )

    def _bias_update(self, node):
        g, bias = node.inputs[0], node.writes[0]
        pixels = self.graph[g].elements // self.graph[bias].elements
        self.write(
            "BIAS_UPDATE",
            self.layer(node.attrs["layer"]),
            self.at(g),
            pixels,
            self.slot(g),
            self.placement.optimizer_state(bias),
        )

    def _weight_update(self, node):
        x, g = node.inputs
        name = node.attrs["layer"]
        self.write(
            "WEIGHT_UPDATE",
            self.layer(name),
            self.place(x),
            self.at(g),
            *self.placement.layers[name].window,
            self.slot(g),
            self.placement.optimizer_state(node.writes[0]),
            *self.work(),
        )
        if self.placement.decay:
            _, _, size = self.placement.part(node.writes[0])
            count = size // self.placement.element_bytes
            factor = self._factor(self.placement.decay)
            self.write("WEIGHT_DECAY", self.at(node.writes[0]), count, *factor)


class Regions:
    """The regions of one patch: of the input, and of each convolution's output after it."""

    def __init__(self, layers, where, grid):
        self.layers = layers
        shape, convs = layers[0].x.shape, [layer.node.attrs for layer in layers]
        self.axes = [patch_regions(shape[1 + a], convs, where[a], grid, a) for a in (0, 1)]
        self.channels = [layers[0].x.shape[0]] + [layer.cout for layer in layers]

    def _length(self, axis, position):
        start, stop = self.axes[axis][position]
        return stop - start

    def elements(self, position):
        return self.channels[position] * self._length(0, position) * self._length(1, position)

    def first(self, position, shape):
        """Return where the region begins in a whole tensor of a shape, in elements."""
        (top, _), (left, _) = self.axes[0][position], self.axes[1][position]
        return (top * shape[2] + left) * shape[0]

    def window(self, position):
        """Return h, w, oh, ow, top, left of one convolution."""
        layer = self.layers[position]
        pads = [
            max(layer.pad[a] - self.axes[a][position + 1][0] * layer.stride[a], 0) for a in (0, 1)
        ]
        lengths = [self._length(a, position + i) for i in (0, 1) for a in (0, 1)]
        return (*lengths, *pads)
