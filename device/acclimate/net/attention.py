# SPDX-License-Identifier: MIT
"""Attention and its gradients in pure Python: as `attention.c`, byte for byte."""

from acclimate.net.fields import number, put_number, signed
from acclimate.net.layer import clamp, even, number_signed
from acclimate.net.training import Block

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_S_EXPONENTS = const(36)
_OP_ATTENTION = const(38)
# program: end
_MOST = const(1024)  # rows, columns, channels, heads
_TABLE = const(24)


class Attention:
    """One instruction: what both read, and a row of shares."""

    def __init__(self, run, v):
        self.run, self.v = run, v
        self.rule = run.constants + 4 * v[0]
        self.rows, self.columns, self.n, self.m, self.heads = v[4:9]
        if not 0 < min(v[4:9]) <= max(v[4:9]) <= _MOST:
            raise IndexError
        program, rule = run.program, self.rule
        self.zeros = [signed(program[rule + 20 + i]) for i in range(4)]
        self.multiplier, self.shift, self.most, self.y_multiplier, self.y_shift = [
            number_signed(program, rule + 4 * i) for i in range(5)
        ]
        self.table = [number(program, rule + _TABLE + 2 * i, 2) for i in range(64)]

    def part(self, which, row, head):
        """Return one head's numbers of a row of q (0), k (1) or v (2), less its zero."""
        data, base = self.run.source(self.v[1 + which])
        n = self.m if which == 2 else self.n
        at = base + (row * self.heads + head) * n
        return [signed(data[at + c]) - self.zeros[which] for c in range(n)]

    def exponential(self, below):
        below = min(below, self.most)
        place = clamp(self.run.requantize(below, self.multiplier, self.shift), 0, 1023)
        e = self.table[place >> 5] * self.table[32 + (place & 31)] + 16384 >> 15
        return min(e, 32768)

    def shares(self, i, head):
        q = self.part(0, i, head)
        scores = [dot(q, self.part(1, j, head)) for j in range(self.columns)]
        e = [self.exponential(max(scores) - score) for score in scores]
        total = sum(e) or 1
        shares = [((value << 15) + total // 2) // total for value in e]
        return shares, scores.index(max(scores))


def dot(a, b):
    return sum([x * y for x, y in zip(a, b)])  # noqa: B905


def attention(run, op, v):
    """Run an attention, or its gradient."""
    this = Attention(run, v)
    if op == _OP_ATTENTION:
        _forward(this)
    else:
        _gradient(this)


def _forward(this):
    run, at = this.run, this.v[9]
    for i in range(this.rows):
        for head in range(this.heads):
            shares, _ = this.shares(i, head)
            parts = [this.part(2, j, head) for j in range(this.columns)]
            for c in range(this.m):
                total = dot(shares, [part[c] for part in parts])
                y = run.requantize(total, this.y_multiplier, this.y_shift) + this.zeros[3]
                run.arena[at] = clamp(y, -128, 127) & 255
                at += 1


def _high(a, b):
    return a * b + 0x40000000 >> 31


def _weights(this, g, i, head):
    """Return what each column counts with in row i of a head: a share, or a score's gradient."""
    which, factor = this.v[12], this.v[15] << 16
    (shares, best), fold = this.shares(i, head), 0
    if which < 2:
        while 1 << fold < 2 * this.m:
            fold += 1
        slopes = [even(dot(g, this.part(2, j, head)), fold) for j in range(this.columns)]
        mean = dot(shares, [s - slopes[best] for s in slopes]) >> 2
        mean += 8192 * slopes[best]
        shares = [_high(8192 * s - mean, p << 15) for p, s in zip(shares, slopes)]  # noqa: B905
    return [_high(share, factor) for share in shares]


def _gradient(this):
    run, v, heads = this.run, this.v, this.heads
    arena, which, weights, s = run.arena, v[12], [], 0
    if which > 2:
        raise IndexError

    def g(i, head):
        at = v[11] + (i * heads + head) * this.m
        return [signed(arena[at + c]) for c in range(this.m)]

    for i in range(this.rows):
        weights.append([_weights(this, g(i, head), i, head) for head in range(heads)])
    most = max([abs(w) for row in weights for part in row for w in part])
    count, others = (this.columns, this.rows) if which else (this.rows, this.columns)
    while even(most, s) > 8388607 // others:
        s += 1
    block, n, at = Block(arena), this.m if which == 2 else this.n, v[9]
    for row in range(count):
        sums = []
        for head in range(heads):
            part = [0] * n
            for other in range(others):
                i, j = (other, row) if which else (row, other)
                w = even(weights[i][head][j], s)
                x = g(i, head) if which == 2 else this.part(1 - which, other, head)
                part = [total + w * value for total, value in zip(part, x)]  # noqa: B905
            sums += part
        block.store(sums, range(at, at + len(sums)))
        at += len(sums)
    slots = run.state + _S_EXPONENTS
    exponent = number_signed(arena, slots + 2 * v[13], 2) + v[16] - 128 + s + block.s
    put_number(arena, slots + 2 * v[14], exponent, 2)
