# SPDX-License-Identifier: MIT
"""Rarer instructions of `interpreter`: as the native module `_net_rare`, byte for byte."""

from acclimate.net.fields import NetError, number, put_number, signed
from acclimate.net.layer import clamp, even, number_signed
from acclimate.net.training import bounded, random_step

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_TABLE = const(44)
_S_SHARE = const(20)
_S_EXPONENTS = const(36)
_OP_SQUARED_LOSS = const(28)
_S_RATE_MANTISSA = const(4)
_S_RATE_EXPONENT = const(8)
_S_MOVE = const(16)
_S_MOVED = const(28)
_P_OPTIMIZER = const(6)
_OPT_ACCUMULATE = const(3)
_OP_BINARY_LOSS = const(29)
_OP_WEIGHT_DECAY = const(30)
_OP_LSTM = const(37)
# program: end
_MOST = 0x7FFFFFFF


def rare(run, op, v):
    """Run one of the instructions from _OP_RARE on."""
    if op == _OP_SQUARED_LOSS:
        _squared_loss(run, v)
    elif op == _OP_BINARY_LOSS:
        _binary_loss(run, v)
    elif op == _OP_WEIGHT_DECAY:
        _weight_decay(run, v)
    elif op >= _OP_LSTM:
        _sequence()(run, op, v)
    else:
        from acclimate.net.gates import gate

        gate(run, op, v)


def _sequence():
    try:
        from acclimate.net.recurrent import sequence
    except ImportError:
        raise NetError("program: a sequence's layer; acclimate install --with rare") from None
    return sequence


def _store(run, v, distances, factor, exponent):
    """Put factor * distance of each output into the gradient: one block."""
    most, s = max([abs(d) for d in distances]) * factor, 0
    while even(most, s) > 127:
        s += 1
    for i, d in enumerate(distances):
        run.arena[v[2] + i] = even(d * factor, s) & 255
    exponent = bounded(run, exponent - 128 + s, v[-1])
    put_number(run.arena, run.state + _S_EXPONENTS + 2 * v[3], exponent, 2)


def _squared_loss(run, v):
    data, at = run.source(v[0])
    targets, start = run.source(v[4])
    table, limit, total, distances = run.constants + 4 * v[5], v[6], 0, []
    for i in range(v[1]):
        if v[5]:
            target = number_signed(run.program, table + 2 * (targets[start + i] ^ 128), 2)
        else:
            target = number_signed(run.arena, start + 2 * i, 2)
        d = 16 * signed(data[at + i]) - target
        over = max(0, abs(d) - limit)
        total = min(_MOST, total + d * d - over * over)
        distances.append(clamp(d, -limit, limit))
    put_number(run.arena, run.state + _S_SHARE, total)
    _store(run, v, distances, v[7], v[8])


def _binary_loss(run, v):
    data, at = run.source(v[0])
    targets, start = run.source(v[4])
    table = run.constants + number(run.program, _P_TABLE)
    product, halved, distances = 32768, 0, []
    for i in range(v[1]):
        above = signed(data[at + i]) - (v[5] - 128)
        size = abs(above)
        high = number(run.program, table + 2 * (size >> 4), 2)
        low = number(run.program, table + 32 + 2 * (size & 15), 2)
        whole = 32768 + ((high * low + 16384) >> 15)
        p = ((1 << 30) + whole // 2) // whole
        p = 32768 - p if above < 0 else p
        d = p - 32768 if targets[start + i] else p
        distances.append(d)
        product = max(1, product * max(1, 32768 - abs(d)) >> 15)
        while product < 32768:
            product, halved = product * 2, min(32767, halved + 1)
    put_number(run.arena, run.state + _S_SHARE, halved << 16 | product)
    _store(run, v, distances, v[6], v[7])


def _weight_decay(run, v):
    rate = number_signed(run.arena, run.state + _S_RATE_MANTISSA)
    gathers = run.program[_P_OPTIMIZER] == _OPT_ACCUMULATE
    if not rate or (gathers and not number(run.arena, run.state + _S_MOVE)):
        return
    exponent = number_signed(run.arena, run.state + _S_RATE_EXPONENT) + v[3] - 128 + 14
    factor, moved = (rate * v[2]) >> 14, number(run.arena, run.state + _S_MOVED)
    for at in range(v[0], v[0] + v[1]):
        w = signed(run.arena[at])
        step = clamp(random_step(run, w, (factor, exponent)), -abs(w), abs(w))
        moved += step != 0
        run.arena[at] = w - step & 255
    put_number(run.arena, run.state + _S_MOVED, moved)
