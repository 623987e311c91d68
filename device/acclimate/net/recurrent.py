# SPDX-License-Identifier: MIT
"""Recurrent layers (LSTM, SVDF) in pure Python: as `lstm.c` and `svdf.c`, byte for byte."""

from acclimate.net.fields import number, put_number, signed
from acclimate.net.layer import clamp, number_signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_OP_LSTM = const(37)
_OP_SVDF = const(40)
# program: end


def _between(run, table, size, bits):
    i, rest = size >> bits, size & (1 << bits) - 1
    a, b = [number(run.program, table + 2 * (i + more), 2) for more in range(2)]
    return (a << bits) + rest * (b - a)


def _sigmoid(run, table, x):
    size = abs(3 * x)
    y = 0x7FFF << 10 if size >> 9 >= 255 else _between(run, table, size, 9)
    return (y + 512 if x >= 0 else (1 << 25) - y + 511) >> 10


def _tangent(run, table, x, factor, shift):
    x = x * factor + (1 << shift >> 1) >> shift
    y = 0xFFFF << 8 if abs(x) >> 8 >= 255 else _between(run, table, abs(x), 8)
    return (y - (1 << 23) + 128 if x >= 0 else (1 << 23) - y + 127) >> 8


def sequence(run, op, v):
    """Run one of the instructions from _OP_LSTM on: over the rows of a sequence."""
    if op == _OP_LSTM:
        _lstm(run, v)
    elif op == _OP_SVDF:
        _svdf(run, v)
    else:
        from acclimate.net.attention import attention

        attention(run, op, v)


def _lstm(run, v):
    """Run all rows; the state stays in the arena."""
    p, at = run.program, run.constants + 4 * v[0]
    r = [number_signed(p, at + 4 * i) for i in range(31)]
    rows, cin, n = v[5:]
    data, base = run.source(v[1])
    table, h = run.constants + r[3], [signed(run.arena[v[3] + u]) for u in range(n)]

    def scaled(x, i, j):
        return clamp(run.requantize(x, r[i], r[j]), -32768, 32767)

    def gate(x, g, u):
        row, wi, wr = g * n + u, run.constants + r[0], run.constants + r[1]
        first = number_signed(p, run.constants + r[2] + 4 * row)
        for i in range(cin):
            first += signed(p[wi + row * cin + i]) * (x[i] - r[4])
        again = sum([signed(p[wr + row * n + i]) * (h[i] - r[5]) for i in range(n)])
        return clamp(scaled(first, 6 + g, 10 + g) + scaled(again, 14 + g, 18 + g), -32768, 32767)

    for row in range(rows):
        x, y = [signed(data[base + row * cin + i]) for i in range(cin)], []
        for u in range(n):
            gates = [gate(x, g, u) for g in range(4)]
            first, kept, out = [_sigmoid(run, table, gates[g]) for g in (0, 1, 3)]
            new = first * _tangent(run, table, gates[2], 3, 0)
            c = scaled(kept * number_signed(run.arena, v[4] + 2 * u, 2), 22, 25) + scaled(
                new, 23, 26
            )
            c = clamp(clamp(c, -32768, 32767), -r[28], r[28])
            put_number(run.arena, v[4] + 2 * u, c, 2)
            out *= _tangent(run, table, c, r[29], r[30])
            y.append(clamp(run.requantize(out, r[24], r[27]) + r[5], -128, 127))
        h = y
        for u in range(n):
            run.arena[v[2] + row * n + u] = y[u] & 255
    for u in range(n):
        run.arena[v[3] + u] = h[u] & 255


def _wrapped(x, most):
    """`x` as a number of which `most` is the largest."""
    return (x + most + 1 & 2 * most + 1) - most - 1


def _svdf(run, v):
    """Run one step; each filter's numbers stay in the arena, the oldest first."""
    p, arena, at = run.program, run.arena, run.constants + 4 * v[0]
    wf, wt, bias, zero_x, zero, zero_y, m, m_y, shift, shift_y = [
        number_signed(p, at + 4 * i) for i in range(10)
    ]
    cin, n, rank, memory, size = v[4:]
    if not memory or not 1 <= size <= 2:
        raise ValueError
    data, base = run.source(v[1])
    x, most = [signed(data[base + i]) - zero_x for i in range(cin)], (1 << 8 * size - 1) - 1
    wf, wt, state = run.constants + wf, run.constants + wt, v[3]
    for u in range(n):
        total = number_signed(p, run.constants + bias + 4 * u)
        for _ in range(rank):
            new = run.requantize(sum([signed(p[wf + i]) * x[i] for i in range(cin)]), m, shift)
            new = _wrapped(clamp(new, -most - 1, most) + zero, most)
            for i in range(memory):
                if i < memory - 1:
                    value = number_signed(arena, state + size, size)
                else:
                    value = new
                put_number(arena, state, value, size)
                total += number_signed(p, wt, size) * (value - zero)
                wt, state = wt + size, state + size
            wf += cin
        y = run.requantize(_wrapped(total, 0x7FFFFFFF), m_y, shift_y) + zero_y
        arena[v[2] + u] = clamp(y, -128, 127) & 255
