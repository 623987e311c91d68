# SPDX-License-Identifier: MIT
"""Loss, backward pass and updates of `interpreter`: sections 4 to 7 of docs/numerics.md."""

from acclimate.net.fields import number, put_number, signed
from acclimate.net.layer import Layer, clamp, even, number_signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_OPTIMIZER = const(6)
_P_TABLE = const(44)
_L_RATIO = const(32)
_L_EXPONENT = const(36)
_L_FOLD = const(38)
_L_X_MANTISSA = const(40)
_L_X_EXPONENT = const(42)
_L_I_MANTISSA = const(44)
_L_I_EXPONENT = const(46)
_S_SEED = const(0)
_S_RATE_MANTISSA = const(4)
_S_RATE_EXPONENT = const(8)
_S_MOMENTUM = const(12)
_S_MOVE = const(16)
_S_SHARE = const(20)
_S_RAILS = const(24)
_S_MOVED = const(28)
_S_DEAD = const(32)
_S_EXPONENTS = const(36)
_OP_LOSS = const(16)
_OP_CLAMP_GRADIENT = const(17)
_OP_INPUT_GRADIENT = const(18)
_OP_AVERAGE_POOL_GRADIENT = const(19)
_OP_MAX_POOL_GRADIENT = const(23)
_OP_SUM_GRADIENTS = const(20)
_OP_BIAS_UPDATE = const(21)
_OP_WEIGHT_UPDATE = const(22)
_OPT_PLAIN = const(0)
_OPT_MOMENTUM8 = const(2)
_OPT_ACCUMULATE = const(3)
_OPT_WIDE = const(4)
# program: end
_MOST = 0x7FFFFFFF


class Block:
    """Section 5: stores sums as int8 with one exponent."""

    def __init__(self, arena):
        self.arena, self.s, self.done = arena, 0, []

    def store(self, sums, places):
        """Store sums at offsets of the arena, which `done` remembers as ranges."""
        most = max([abs(value) for value in sums])
        while even(most, self.s) > 127:
            self.s += 1
            for earlier in self.done:
                for at in earlier:
                    self.arena[at] = even(signed(self.arena[at]), 1) & 255
        for value, at in zip(sums, places):  # noqa: B905
            self.arena[at] = even(value, self.s) & 255
        self.done.append(places)


def train_step(run, op, v):
    """Run one instruction behind the outputs."""
    if op == _OP_LOSS:
        _loss(run, v)
    elif op == _OP_CLAMP_GRADIENT:
        _clamp(run, v)
    elif op == _OP_INPUT_GRADIENT:
        _input(run, v)
    elif op in (_OP_AVERAGE_POOL_GRADIENT, _OP_MAX_POOL_GRADIENT):
        _pool(run, op == _OP_MAX_POOL_GRADIENT, v)
    elif op == _OP_SUM_GRADIENTS:
        _sum(run, v)
    elif op == _OP_BIAS_UPDATE:
        _biases(run, v)
    elif op == _OP_WEIGHT_UPDATE:
        _weights(run, v)
    else:
        raise ValueError("program: no instruction %d" % op)


def _exponent(run, slot):
    return number_signed(run.arena, run.state + _S_EXPONENTS + 2 * slot, 2)


def _set_exponent(run, slot, value):
    put_number(run.arena, run.state + _S_EXPONENTS + 2 * slot, value, 2)


def _one_block(run, sums, at, slot, exponent):
    block = Block(run.arena)
    block.store(sums, range(at, at + len(sums)))
    _set_exponent(run, slot, exponent + block.s)


def _loss(run, v):
    data, at = run.source(v[0])
    table = run.constants + number(run.program, _P_TABLE)
    x = [signed(data[at + i]) for i in range(v[1])]
    e = []
    for value in x:
        below = max(x) - value
        high = number(run.program, table + 2 * (below >> 4), 2)
        low = number(run.program, table + 32 + 2 * (below & 15), 2)
        e.append((high * low + 16384) >> 15)
    total, label = sum(e) or 1, run.par[2]
    shares = [((value << 15) + total // 2) // total for value in e]
    put_number(run.arena, run.state + _S_SHARE, shares[label])
    shares[label] -= 32768
    _one_block(run, shares, v[2], v[3], -15)
    _set_exponent(run, v[3], bounded(run, _exponent(run, v[3]), v[5]))


def bounded(run, exponent, most):
    """Section 4: the exponent of the outputs' gradient that keeps a step short."""
    over = exponent + _state(run, _S_RATE_EXPONENT) - (most - 128)
    if over <= 0 or not _state(run, _S_RATE_MANTISSA):
        return exponent
    _count(run, _S_RAILS, 1)
    return exponent - over


def _clamp(run, v):
    arena = run.arena
    for i in range(v[3]):
        passes = arena[v[1] + (i >> 3)] >> (i & 7) & 1
        arena[v[2] + i] = arena[v[0] + i] if passes else 0
    _set_exponent(run, v[5], _exponent(run, v[4]))


def _sum(run, v):
    arena, ea, eb = run.arena, _exponent(run, v[4]), _exponent(run, v[5])
    fa = 1 << ea - eb if 0 <= ea - eb <= 16 else int(abs(ea - eb) <= 16 or ea > eb)
    fb = 1 << eb - ea if 0 <= eb - ea <= 16 else int(abs(ea - eb) <= 16 or eb > ea)
    e = min(ea, eb) if abs(ea - eb) <= 16 else max(ea, eb)
    sums = [signed(arena[v[0] + i]) * fa + signed(arena[v[1] + i]) * fb for i in range(v[3])]
    _one_block(run, sums, v[2], v[6], e)


def _outputs_of(layer, row, column):
    """Yield (pixel of the output, tap) for all outputs that an input pixel takes part in."""
    for tap in range(layer.kh * layer.kw):
        y, x = row + layer.top - tap // layer.kw, column + layer.left - tap % layer.kw
        if y >= 0 and x >= 0 and y % layer.sh == 0 and x % layer.sw == 0:
            y, x = y // layer.sh, x // layer.sw
            if y < layer.oh and x < layer.ow:
                yield y * layer.ow + x, tap


def _input(run, v):
    layer = Layer(run, v[0], v[3:9])
    arena, g, gx = run.arena, v[1], v[2]
    fold = number(run.program, layer.p + _L_FOLD, 2)
    block, pixels = Block(arena), layer.h * layer.w

    def folded(pixel, c):
        value = signed(arena[g + pixel * layer.cout + c]) * _ratio(run, layer, c)
        return (value + (1 << (fold - 1))) >> fold

    if layer.depthwise:
        for first in range(0, layer.cin, 4):
            lanes = range(first, min(first + 4, layer.cin))
            sums = [
                sum(
                    [
                        folded(out, c) * layer.weight(c, tap, 0)
                        for out, tap in _outputs_of(layer, i // layer.w, i % layer.w)
                    ]
                )
                for i in range(pixels)
                for c in lanes
            ]
            places = [gx + i * layer.cin + c for i in range(pixels) for c in lanes]
            row = layer.w * len(lanes)
            for at in range(0, len(sums), row):  # gx may be g: not before all are known
                block.store(sums[at : at + row], places[at : at + row])
    else:
        for i in range(pixels):
            sums = [0] * layer.cin
            for out, tap in _outputs_of(layer, i // layer.w, i % layer.w):
                for c in range(layer.cout):
                    h, base = folded(out, c), c // layer.rows * layer.depth
                    for k in range(layer.depth):
                        sums[base + k] += h * layer.weight(c, tap, k)
            block.store(sums, range(gx + i * layer.cin, gx + (i + 1) * layer.cin))
    exponent = number_signed(run.program, layer.p + _L_EXPONENT, 2)
    _set_exponent(run, v[10], _exponent(run, v[9]) + exponent - 15 + fold + block.s)


def _pool(run, is_max, v):
    data, x = run.source(v[0])
    arena, (h, w, oh, ow, top, left, kh, kw, sh, sw, channels) = run.arena, v[3:14]
    block, k = Block(arena), v[18] - 1
    for c in range(channels):
        sums, g = run.zeros(h * w), v[1] + c
        for place in range(oh * ow):
            value, row, column = signed(arena[g]), place // ow * sh - top, place % ow * sw - left
            g += channels
            seen = [
                y * w + z
                for y in range(max(row, 0), min(row + kh, h))
                for z in range(max(column, 0), min(column + kw, w))
            ]
            if is_max and seen:
                # The first of the largest, as max does.
                seen = [max(seen, key=lambda at: signed(data[x + at * channels + c]))]  # noqa: B023
            share = ((1 << k) + len(seen) // 2) // len(seen) if seen else 0
            for at in seen:
                sums[at] += value * share
        block.store(sums, range(v[2] + c, v[2] + c + h * w * channels, channels))
    _set_exponent(run, v[15], _exponent(run, v[14]) - k + block.s)


# ---- updates ---------------------------------------------------------------------------------


def _ratio(run, layer, c):
    at = run.constants + number(run.program, layer.p + _L_RATIO)
    return number(run.program, at + 2 * c, 2)


def _state(run, field):
    return number_signed(run.arena, run.state + field)


def _count(run, field, more):
    at = run.state + field
    put_number(run.arena, at, number(run.arena, at) + more)


def _draw(run):
    at = run.state + _S_SEED
    x = number(run.arena, at)
    x ^= x << 13 & 0xFFFFFFFF
    x ^= x >> 17
    x ^= x << 5 & 0xFFFFFFFF
    put_number(run.arena, at, x)
    return x


def random_step(run, a, factor):
    """a * C * 2**E rounded at random."""
    t, d, u = a * factor[0], -factor[1], _draw(run)
    if d > 31:
        t >>= min(d - 31, 63)
        d = 31
    t = t + (u >> (32 - d)) >> d if d > 0 else t << min(-d, 64)
    return clamp(t, -_MOST, _MOST)


class Rule:
    """P and E of section 6 for one update, with steps in 1 / 2**bits."""

    def __init__(self, run, layer, slot, of_bias, bits):
        program, p = run.program, layer.p
        self.run, self.layer = run, layer
        m, e = (_L_I_MANTISSA, _L_I_EXPONENT) if of_bias else (_L_X_MANTISSA, _L_X_EXPONENT)
        self.p = _state(run, _S_RATE_MANTISSA) * number(program, p + m, 2) >> 14
        self.e = (
            _state(run, _S_RATE_EXPONENT)
            + number_signed(program, p + e, 2)
            - 1
            + _exponent(run, slot)
            - number_signed(program, p + _L_EXPONENT, 2)
            + bits
        )
        self.optimizer = program[_P_OPTIMIZER]
        gathers = self.optimizer == _OPT_ACCUMULATE
        self.mu = 256 if gathers else _state(run, _S_MOMENTUM)
        self.move = not gathers or _state(run, _S_MOVE)
        self.gathers = gathers

    def factor(self, c):
        """Return (C, E) of a channel, or None where it is dead."""
        r = _ratio(self.run, self.layer, c)
        if r < 8:
            _count(self.run, _S_DEAD, 1)
            return None
        value, e = (1 << 30) // r * self.p, self.e
        while value > _MOST:
            value >>= 1
            e += 1
        return value, e

    def moved(self, old, step, most):
        if step == 0:
            return old
        to = old - step
        if abs(to) > most:
            _count(self.run, _S_RAILS, 1)
            to = most if to > 0 else -most
        if to != old:
            _count(self.run, _S_MOVED, 1)
        return to


def _biases(run, v):
    layer, arena = Layer(run, v[0], (1, 1, 1, 1, 0, 0)), run.arena
    rule = Rule(run, layer, v[3], True, 0)
    for c in range(layer.cout if rule.p else 0):
        factor = rule.factor(c)
        if factor is None:
            continue
        total = sum([signed(arena[v[1] + p * layer.cout + c]) for p in range(v[2])])
        step = random_step(run, total, factor)
        if v[4]:
            at = v[4] - 1 + 4 * c
            old = even(number_signed(arena, at) * rule.mu, 8)
            step = clamp(old + step, -_MOST, _MOST)
            put_number(arena, at, 0 if rule.gathers and rule.move else step)
            if not rule.move:
                continue
        at = (layer.bias_at >> 1) + 4 * c
        put_number(arena, at, rule.moved(number_signed(arena, at), step, 1 << 30))


def _weights(run, v):
    layer = Layer(run, v[0], v[3:9])
    optimizer = run.program[_P_OPTIMIZER]
    bits = 0 if optimizer == _OPT_PLAIN else 4 if optimizer == _OPT_MOMENTUM8 else 8
    rule, at = Rule(run, layer, v[9], False, bits), 0
    channels = 1 if layer.depthwise else layer.split
    count = layer.split if layer.depthwise else layer.cout
    taps = layer.kh * layer.kw
    for c in range(count if rule.p else 0):
        factor = rule.factor(c)
        if factor is None:
            at += taps * channels
            continue
        for tap in range(taps):
            sums = [_weight_sum(run, layer, v, c, tap, i) for i in range(channels)]
            for i in range(channels):
                _, where = layer.place(c, tap, i)
                _move(rule, where, v[10] - 1, at, random_step(run, sums[i], factor))
                at += 1


def _weight_sum(run, layer, v, c, tap, i):
    """Section 6: A of one weight, over all pixels."""
    data, base = run.source(v[1])
    step = layer.split if layer.depthwise else layer.split * layer.groups
    base += c if layer.depthwise else c // layer.rows * layer.split + i
    g, total = v[2] + c, 0
    for row in range(layer.oh):
        y = row * layer.sh - layer.top + tap // layer.kw
        for column in range(layer.ow):
            x = column * layer.sw - layer.left + tap % layer.kw
            if 0 <= y < layer.h and 0 <= x < layer.w:
                q = signed(data[base + (y * layer.w + x) * step]) - layer.zero
                total += signed(run.arena[g]) * q
            g += layer.cout
    return total


def _move(rule, where, state, i, step):
    """Move the weight at `where`, number i of its layer, by a step."""
    run, arena = rule.run, rule.run.arena
    old = signed(arena[where])
    if rule.optimizer == _OPT_WIDE:
        whole = rule.moved(256 * old + signed(arena[state + i]), step, 127 * 256)
        w = whole + 128 >> 8
        arena[where], arena[state + i] = w & 255, whole - 256 * w & 255
        return
    if rule.optimizer != _OPT_PLAIN:
        size, bits, most = (1, 4, 127) if rule.optimizer == _OPT_MOMENTUM8 else (2, 8, 32767)
        at = state + size * i
        v = clamp(even(number_signed(arena, at, size) * rule.mu, 8) + step, -most, most)
        put_number(arena, at, 0 if rule.gathers and rule.move else v, size)
        if not rule.move:
            return
        step = v + (_draw(run) >> (32 - bits)) >> bits
    arena[where] = rule.moved(old, step, 127) & 255
