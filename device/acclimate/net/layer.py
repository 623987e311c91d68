# SPDX-License-Identifier: MIT
"""A layer of a network program, and the arithmetic that its instructions share."""

from acclimate.net.fields import number, signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_L_CIN = const(0)
_L_COUT = const(2)
_L_GROUPS = const(4)
_L_SPLIT = const(6)
_L_KH = const(8)
_L_ZERO_X = const(12)
_L_W = const(16)
_L_WT = const(20)
_L_BIAS = const(24)
_L_REQUANT = const(28)
# program: end


def number_signed(data, at, size=4):
    """As `number`, in two's complement."""
    value = number(data, at, size)
    return value - (1 << 8 * size) if data[at + size - 1] > 127 else value


def clamp(x, low, high):
    return low if x < low else high if x > high else x


def even(x, s):
    """x / 2**s to the nearest, halves to even."""
    if s == 0:
        return x
    down, rest, half = x >> s, x & (1 << s) - 1, 1 << (s - 1)
    return down + (rest > half or (rest == half and down & 1 == 1))


class Layer:
    """One layer's record and window; `at(c, tap)` gives the weights of an output channel."""

    def __init__(self, run, record, window):
        p = self.p = run.constants + 4 * record
        self.program, self.arena = run.program, run.arena
        program = self.program
        self.cin, self.cout = number(program, p + _L_CIN, 2), number(program, p + _L_COUT, 2)
        self.groups = number(program, p + _L_GROUPS, 2)
        self.split = number(program, p + _L_SPLIT, 2)
        self.kh, self.kw, self.sh, self.sw = [program[p + _L_KH + i] for i in range(4)]
        self.h, self.w, self.oh, self.ow, self.top, self.left = window
        self.zero = signed(program[p + _L_ZERO_X])
        self.depthwise = self.groups == self.cin == self.cout and self.groups > 1
        self.depth = self.cin // self.groups
        self.rows = self.cout // self.groups
        self.w_at = run.constants + number(program, p + _L_W)
        self.wt_at = number(program, p + _L_WT)
        self.bias_at = number(program, p + _L_BIAS)
        self.requant = run.constants + number(program, p + _L_REQUANT)

    def bias(self, run, c):
        at = (self.bias_at >> 1) + 4 * c
        if self.bias_at & 1:
            return number_signed(run.arena, at)
        return number_signed(run.program, run.constants + at)

    def place(self, c, tap, i):
        """Return (buffer, offset) of the weight of output c, tap and input channel i."""
        taps = self.kh * self.kw
        if self.depthwise:
            if c < self.split:
                return self.arena, self.wt_at + c * taps + tap
            return self.program, self.w_at + (c - self.split) * taps + tap
        if i < self.split:
            return self.arena, self.wt_at + self._in_rows(c, tap * self.split + i, self.split)
        rest = self.depth - self.split
        at = self._in_rows(c, tap * rest + i - self.split, rest)
        return self.program, self.w_at + at

    def _in_rows(self, c, k, depth):
        """Where weight k of row c lies in paired rows (native_modules/net/net_order.h)."""
        row_bytes = depth * self.kh * self.kw + 3 & ~3
        start, c = c // self.rows * self.rows * row_bytes, c % self.rows
        second = c & 1
        step = 8 if c | 1 < self.rows else 4
        return start + (c - second) * row_bytes + 4 * second + (k >> 2) * step + (k & 3)

    def weight(self, c, tap, i):
        data, at = self.place(c, tap, i)
        return signed(data[at])
