# SPDX-License-Identifier: MIT
"""Products, blocks that change places, and their gradients: as `gates.c`, byte for byte."""

from acclimate.net.layer import clamp, even, number, number_signed, put_number, signed

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
    sums = [0] * v[3]
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
