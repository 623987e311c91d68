# SPDX-License-Identifier: MIT
"""Products, blocks that change places, and their gradients: as `gates.c`, byte for byte."""

from acclimate.net.fields import number, put_number, signed
from acclimate.net.layer import clamp, even, number_signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_S_EXPONENTS = const(36)
_OP_MULTIPLY = const(31)
_OP_GATHER = const(32)
_OP_PRODUCT_GRADIENT = const(33)
_OP_GATHER_GRADIENT = const(34)
_OP_NORM = const(35)
_OP_NORM_GRADIENT = const(36)
# program: end


def gate(run, op, v):
    """Run one of the instructions from _OP_MULTIPLY on."""
    if op == _OP_MULTIPLY:
        _multiply(run, v)
    elif op == _OP_GATHER:
        _gather(run, v)
    elif op == _OP_PRODUCT_GRADIENT:
        _product_gradient(run, v)
    elif op == _OP_GATHER_GRADIENT:
        _gather_gradient(run, v)
    elif op == _OP_NORM:
        _norm(run, v)
    elif op == _OP_NORM_GRADIENT:
        _norm_gradient(run, v)
    else:
        raise ValueError("program: no instruction %d" % op)


def _multiply(run, v):
    p, rule = run.program, run.constants + 4 * v[0]
    a, a_at = run.source(v[1])
    b, b_at = run.source(v[2])
    m = number_signed(p, rule + 8)
    shift, zero_a, zero_b, zero_y, low, high = [signed(p[rule + 14 + i]) for i in range(6)]
    for i in range(v[4]):
        product = (signed(a[a_at + i]) - zero_a) * (signed(b[b_at + i % v[5]]) - zero_b)
        y = run.requantize(product, m, shift) + zero_y
        run.arena[v[3] + i] = clamp(y, low, high) & 255


def _gather(run, v):
    data, base = run.source(v[1])
    table, n = run.constants + 4 * v[0], v[4]
    for block in range(v[3]):
        at, to = base + n * number(run.program, table + 2 * block, 2), v[2] + n * block
        for i in range(n):
            run.arena[to + i] = data[at + i]


def _raise(run, slots, more):
    """Give the exponent of one gradient to another, raised."""
    at = run.state + _S_EXPONENTS
    put_number(
        run.arena, at + 2 * slots[1], number_signed(run.arena, at + 2 * slots[0], 2) + more, 2
    )


def _product_gradient(run, v):
    data, base = run.source(v[4])
    g, factor, table = v[0], v[10], run.constants + 4 * v[7]
    sums = run.zeros(v[3])
    for i in range(v[2]):
        x = signed(data[base + i % v[5]])
        x = signed(run.program[table + x + 128]) if v[7] else x - (v[6] - 128)
        sums[i % v[3]] += signed(run.arena[g + i]) * x
    most = max([abs(value) for value in sums])
    first = s = 0
    while even(most, first) > 32767:
        first += 1
    most = even(most, first) * factor
    while even(most, s) > 127:
        s += 1
    for j, value in enumerate(sums):
        run.arena[v[1] + j] = even(even(value, first) * factor, s) & 255
    _raise(run, v[8:10], v[11] - 128 + first + s)


def _gather_gradient(run, v):
    starts, n = run.constants + 4 * v[0], v[4]
    places, sums, s = starts + 2 * v[3] + 2, [], 0
    for block in range(v[3]):
        first, end = [number(run.program, starts + 2 * (block + i), 2) for i in range(2)]
        at = [v[1] + n * number(run.program, places + 2 * k, 2) for k in range(first, end)]
        sums += [sum([signed(run.arena[where + i]) for where in at]) for i in range(n)]
    most = max([abs(value) for value in sums])
    while even(most, s) > 127:
        s += 1
    for i, value in enumerate(sums):
        run.arena[v[2] + i] = even(value, s) & 255
    _raise(run, v[6:8], s)


def _row(data, at, n, extra):
    """Return (elements in 1/1024 of the deviation, root, twice): section 3."""
    row = [signed(data[at + i]) for i in range(n)]
    total, twice, root, bit = sum(row), 0, 0, 32768
    rest = max(1, n * sum([x * x for x in row]) - total * total + extra)
    while rest < 1 << 30:
        rest, twice = rest << 2, twice + 1
    while bit:
        if (root + bit) * (root + bit) <= rest:
            root += bit
        bit >>= 1
    found = []
    for x in row:
        d = n * x - total
        size = ((abs(d) << 10 + twice) + root // 2) // root
        found.append(size if d >= 0 else -size)
    return found, root, twice


def _norm(run, v):
    data, base = run.source(v[0])
    for at in range(0, v[2] * v[3], v[3]):
        found, _, _ = _row(data, base + at, v[3], v[4])
        for i, x in enumerate(found):
            y = run.requantize(x, v[5], v[6] - 128) + v[7] - 128
            run.arena[v[1] + at + i] = clamp(y, -128, 127) & 255


def _high(a, b):
    return a * b + 0x40000000 >> 31


def _norm_gradient(run, v):
    data, base = run.source(v[1])
    rows, n, most, found = v[3], v[4], 0, []
    for at in range(0, rows * n, n):
        row, root, twice = _row(data, base + at, n, v[5])
        g = [signed(run.arena[v[0] + at + i]) for i in range(n)]
        total, along = sum(g), sum([a * b for a, b in zip(g, row)])  # noqa: B905
        inverse = (0x7FFFFFFF // root * v[8] >> 15) << 14
        for slope, x in zip(g, row):  # noqa: B905
            part = _high(along, abs(x) << 16)
            value = _high(((n * slope - total) * 32 - (part if x >= 0 else -part)) * 128, inverse)
            s = 0
            while even(abs(value), s) > 127:
                s += 1
            most = max(most, s + twice)
            found.append((value, twice))
    for i, (value, twice) in enumerate(found):
        run.arena[v[2] + i] = even(value, most - twice) & 255
    _raise(run, v[6:8], v[9] - 128 + most)
