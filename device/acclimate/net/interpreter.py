# SPDX-License-Identifier: MIT
"""Runs a network program in pure Python: `run` as in the native module, byte for byte.

For small networks, and where no native module loads. docs/numerics.md says every rounding.
"""

from acclimate.net.fields import NetError, number, operand, signed
from acclimate.net.layer import Layer, clamp, number_signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_CONSTANTS = const(12)
_P_STATE = const(36)
_P_BYTES = const(76)
_L_ZERO_Y = const(13)
_L_LOW = const(14)
_L_HIGH = const(15)
_OP_CONV = const(1)
_OP_CONV_ADD = const(2)
_OP_CONV_DEPTHWISE = const(3)
_OP_DEPTHWISE_IN_PLACE = const(4)
_OP_PITCH = const(5)
_OP_ADD = const(6)
_OP_AVERAGE_POOL = const(7)
_OP_PAD = const(9)
_OP_LOOKUP = const(10)
_OP_COPY = const(11)
_OP_KEEP = const(12)
_OP_LOSS = const(16)
_OP_PAGE_OUT = const(24)
_OP_PAGE_IN = const(25)
_OP_PAGE_KEEP = const(27)
_OP_FREE = const(26)
_OP_RARE = const(28)
_DONE = const(0)
_MORE = const(1)
_PAGE = const(2)
_BAD_CODE = const(-1)
_BAD_PLACE = const(-2)
_COUNTS = bytes.fromhex(
    "000c0e160c02050f0f0f04060600000006060d1307050d13030302030a090406050c08080a080b1109"
)
# program: end


def requantize(x, m, shift):
    """Section 1."""
    if shift > 0:
        x <<= shift & 31
        x = (x + 0x80000000 & 0xFFFFFFFF) - 0x80000000
        shift = 0
    x = (x * m + 0x40000000) >> 31
    if shift:
        shift = -shift & 31
        mask = (1 << shift) - 1
        x = (x >> shift) + ((x & mask) > (mask >> 1) + (x < 0))
    return x


class Run:
    """One call of `run`: the program, its operands, and what instructions share."""

    requantize = staticmethod(requantize)

    def __init__(self, program, arena, x, par):
        if len(x) and (type(x[0]) is not int or min(x) < 0):  # numpy's numbers, an array("b")
            x = bytes([int(value) & 255 for value in x])
        self.program, self.arena, self.x, self.par = program, arena, x, par
        self.constants = number(program, _P_CONSTANTS)
        self.state = number(program, _P_STATE)
        self.pitch = None

    def operands(self, at, count):
        found = []
        for _ in range(count):
            value, at = operand(self.program, at)
            found.append(value)
        return found, at

    def zeros(self, n):
        """A list for `n` values that lie in the arena as well."""
        self.arena[n - 1]  # a damaged number is found before it becomes a list
        return [0] * n

    def source(self, place):
        return (self.x if place & 1 else self.arena), place >> 1

    # ---- forward ---------------------------------------------------------------------------

    def sum(self, layer, c, row, column, data, base, step, pitch):
        """Section 2: the sum of one output; `base` is where the input's pixel 0 lies."""
        total = layer.bias(self, c)
        channel = 0 if layer.depthwise else c // layer.rows * layer.depth
        top, left = row * layer.sh - layer.top, column * layer.sw - layer.left
        for tap in range(layer.kh * layer.kw):
            y, x = top + tap // layer.kw, left + tap % layer.kw
            if 0 <= y < layer.h and 0 <= x < layer.w:
                at = base + y * pitch + x * step + channel
                for i in range(layer.depth):
                    q = signed(data[at + i])
                    total += (q - layer.zero) * layer.weight(c, tap, i)
        return total

    def stored(self, layer, c, total, mask, bit):
        program, p = self.program, layer.requant
        m = number_signed(program, p + 4 * c)
        shift = signed(program[p + 4 * layer.cout + c])
        q = requantize(total, m, shift) + signed(program[layer.p + _L_ZERO_Y])
        y = clamp(q, signed(program[layer.p + _L_LOW]), signed(program[layer.p + _L_HIGH]))
        if mask and q == y:
            self.arena[mask - 1 + (bit >> 3)] |= 1 << (bit & 7)
        return y

    def clear(self, mask, layer):
        if mask and self.par[3]:
            for i in range(layer.oh * layer.ow * layer.cout + 7 >> 3):
                self.arena[mask - 1 + i] = 0
            return mask
        return 0

    def channel(self, layer, c, source, mask, keep):
        """All outputs of channel c; `keep(pixel, value)` takes them."""
        data, base, step, pitch = source
        pixel = 0
        for row in range(layer.oh):
            for column in range(layer.ow):
                total = self.sum(layer, c, row, column, data, base, step, pitch)
                keep(pixel, self.stored(layer, c, total, mask, pixel * layer.cout + c))
                pixel += 1

    def input_of(self, layer, place):
        data, base = self.source(place)
        pitch = self.pitch[0] if self.pitch and self.pitch[0] else layer.w * layer.cin
        return data, base, layer.cin, pitch

    def writer(self, layer, y, c):
        """A function that puts a pixel of channel c into the tensor at y."""
        arena, cout, ow = self.arena, layer.cout, layer.ow
        pitch = self.pitch[1] if self.pitch and self.pitch[1] else ow * cout

        def keep(pixel, value):
            arena[y + pixel // ow * pitch + pixel % ow * cout + c] = value & 255

        return keep

    def conv(self, v, adds):
        layer = Layer(self, v[0], v[3:9])
        mask, source = self.clear(v[1], layer), self.input_of(layer, v[2])
        for c in range(layer.cout):
            keep = self.writer(layer, v[9], c)
            if adds:
                keep = self.adder(layer, v, c, keep)
            data, base, step, pitch = source
            at = base + c if layer.depthwise else base
            self.channel(layer, c, (data, at, step, pitch), mask, keep)

    def adder(self, layer, v, c, keep):
        rule, other, arena, cout = self.constants + 4 * v[12], v[13], self.arena, layer.cout

        def added(pixel, value):
            # The other operand lies as y does.
            keep(pixel, self.add_one(rule, value, signed(arena[other + pixel * cout + c])))

        return added

    def plane(self, layer, c, source, mask):
        """A channel as a bytearray."""
        plane = bytearray(layer.oh * layer.ow)

        def keep(pixel, value):
            plane[pixel] = value & 255

        self.channel(layer, c, source, mask, keep)
        return plane

    def conv_depthwise(self, v):
        first, second = Layer(self, v[0], v[3:9]), Layer(self, v[11], v[13:19])
        masks = self.clear(v[1], first), self.clear(v[12], second)
        source = self.input_of(first, v[2])
        for c in range(first.cout):
            plane = self.plane(first, c, source, masks[0])
            keep = self.writer(second, v[19], c)
            self.channel(second, c, (plane, 0, 1, first.ow), masks[1], keep)

    def in_place(self, v):
        layer, arena = Layer(self, v[0], v[3:9]), self.arena
        mask, at = self.clear(v[1], layer), v[2] >> 1
        for c in range(layer.cout):
            source = arena, at + c, layer.cin, layer.w * layer.cin
            plane = self.plane(layer, c, source, mask)
            for pixel in range(len(plane)):
                arena[at + pixel * layer.cout + c] = plane[pixel]

    def add_one(self, rule, a, b):
        """Section 3."""
        p = self.program
        zeros = [signed(p[rule + 12 + i]) for i in range(8)]
        a = requantize((a - zeros[3]) << 20, number_signed(p, rule), zeros[0])
        b = requantize((b - zeros[4]) << 20, number_signed(p, rule + 4), zeros[1])
        y = requantize(a + b, number_signed(p, rule + 8), zeros[2]) + zeros[5]
        return clamp(y, zeros[6], zeros[7])

    def add(self, v):
        rule, arena = self.constants + 4 * v[0], self.arena
        a, a_at = self.source(v[1])
        b, b_at = self.source(v[2])
        for i in range(v[4]):
            y = self.add_one(rule, signed(a[a_at + i]), signed(b[b_at + i]))
            arena[v[3] + i] = y & 255

    def pool(self, op, v):
        data, base = self.source(v[0])
        h, w, oh, ow, top, left, kh, kw, sh, sw, channels, low, high = v[2:15]
        low, high, at = low - 128, high - 128, v[1]
        for place in range(oh * ow * channels):
            c, column, row = place % channels, place // channels % ow, place // channels // ow
            seen = []
            for y in range(row * sh - top, row * sh - top + kh):
                for x in range(column * sw - left, column * sw - left + kw):
                    if 0 <= y < h and 0 <= x < w:
                        seen.append(signed(data[base + (y * w + x) * channels + c]))
            if op == _OP_PAD:
                value = seen[0] if seen else low
            elif op == _OP_AVERAGE_POOL:
                total, n = sum(seen), len(seen)
                size = (abs(total) + n // 2) // n if n else 0
                value = clamp(size if total > 0 else -size, low, high)
            else:
                value = clamp(max(seen) if seen else -128, low, high)
            self.arena[at + place] = value & 255

    def copy(self, v):
        data, base = self.source(v[0])
        for row in range(v[2]):
            for i in range(v[3]):
                self.arena[v[1] + row * v[5] + i] = data[base + row * v[4] + i]

    def lookup(self, v):
        data, base = self.source(v[1])
        table = self.constants + 4 * v[0]
        for i in range(v[3]):
            self.arena[v[2] + i] = self.program[table + (data[base + i] ^ 128)]

    def step(self, op, v):
        """Run one instruction; return whether the caller must act first."""
        if op in (_OP_CONV, _OP_CONV_ADD):
            self.conv(v, op == _OP_CONV_ADD)
        elif op == _OP_CONV_DEPTHWISE:
            self.conv_depthwise(v)
        elif op == _OP_DEPTHWISE_IN_PLACE:
            self.in_place(v)
        elif op == _OP_ADD:
            self.add(v)
        elif _OP_AVERAGE_POOL <= op <= _OP_PAD:
            self.pool(op, v)
        elif op == _OP_LOOKUP:
            self.lookup(v)
        elif op in (_OP_COPY, _OP_KEEP):
            if op == _OP_COPY or self.par[3]:
                self.copy(v)
        elif op in (_OP_PAGE_OUT, _OP_PAGE_IN, _OP_PAGE_KEEP):
            if op == _OP_PAGE_KEEP and not self.par[3]:
                return False
            self.par[5] = op
            for i in range(3):
                self.par[6 + i] = v[i]
            return True
        elif op >= _OP_RARE:
            from acclimate.net.rare import rare

            rare(self, op, v)
        elif op != _OP_FREE:
            from acclimate.net.training import train_step

            train_step(self, op, v)
        return False


def run(program, arena, x, par):
    """As `_net.run`: run a part of a program over the arena; return the status."""
    try:
        return _run(program, arena, x, par)
    except NetError:
        raise
    except (ArithmeticError, IndexError, ValueError):  # what C finds before it reads
        return _BAD_PLACE


def _run(program, arena, x, par):
    if program[5] or number(program, _P_CONSTANTS) > len(program):
        return _BAD_CODE
    this, left = Run(program, arena, x, par), par[4]
    until = _P_BYTES + par[1]
    at = _P_BYTES + par[0]
    while at < until:
        if left <= 0:
            return _MORE
        left -= 1
        op = program[at]
        if op >= len(_COUNTS):
            return _BAD_CODE
        v, at = this.operands(at + 1, _COUNTS[op])
        if op == _OP_PITCH:
            this.pitch = v
            op = program[at]
            v, at = this.operands(at + 1, _COUNTS[op])
        paged = this.step(op, v)
        this.pitch = None
        par[0] = at - _P_BYTES
        if paged:
            return _PAGE
    return _DONE
