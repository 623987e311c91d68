# SPDX-License-Identifier: MIT
"""The arithmetic of a training step in Python, rule by rule, against sums written out here."""

# RUNTIMES = ("cpython",)

from acclimate.net import training as t

MOST = (1 << 31) - 1
SEED, RATE, RATE_EXPONENT, MOMENTUM, MOVE, SHARE, RAILS, MOVED, DEAD = range(0, 36, 4)
SLOTS = 36
STATE = 200


class Run:
    """A run whose state stands in the arena behind 200 bytes."""

    def __init__(self, optimizer=0, **state):
        self.arena, self.state, self.constants = bytearray(400), STATE, 0
        self.program = bytearray(400)
        self.program[6] = optimizer
        for name, value in state.items():
            self.put(globals()[name], value)

    def put(self, field, value):
        self.arena[STATE + field : STATE + field + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")

    def get(self, field):
        at = STATE + field
        return int.from_bytes(self.arena[at : at + 4], "little", signed=field != SEED)

    def exponent(self, slot, value=None):
        at = STATE + SLOTS + 2 * slot
        if value is not None:
            self.arena[at : at + 2] = (value & 0xFFFF).to_bytes(2, "little")
        return int.from_bytes(self.arena[at : at + 2], "little", signed=True)

    def zeros(self, n):
        return [0] * n

    def source(self, at):
        return self.arena, at


def int8(data):
    return [byte - 256 if byte > 127 else byte for byte in data]


def half_even(value, s):
    """value / 2**s, halves to the even neighbour."""
    unit = 1 << s
    down, rest = value // unit, 2 * (value % unit)
    if rest > unit or (rest == unit and down % 2):
        down += 1
    return down


def scaled(sums):
    """(int8 of all, the least shift that lets the largest size in)."""
    s = 0
    while half_even(max(abs(v) for v in sums), s) > 127:
        s += 1
    return [half_even(v, s) for v in sums], s


# ---- sums as int8 ------------------------------------------------------------------------------


def test_sums_enter_int8_with_the_least_exponent():
    for sums in (
        [0, 0],
        [127, -127],
        [128, 1],  # one more is twice the exponent
        [-128, 1],
        [254, 255, 256, -254],
        [255, 3],  # 127.5 goes to 128, which is too large
        [1 << 30, -(1 << 20), 5],
        [5, 6, 7, 8, 9, 10, 1000],
        [-5, -6, -7, -9, -10, -1000],
    ):
        arena = bytearray(40)
        block = t.Block(arena)
        block.store(sums, range(3, 3 + len(sums)))
        wanted, s = scaled(sums)
        assert (int8(arena[3 : 3 + len(sums)]), block.s) == (wanted, s), sums
        assert not any(arena[:3]) and not any(arena[3 + len(sums) :])


def test_what_was_stored_before_follows_a_larger_exponent_and_later_ones_too():
    arena = bytearray(40)
    block = t.Block(arena)
    block.store([100, -3, 7], (0, 2, 4))
    block.store([510, 2], (1, 3))
    assert block.s == 3  # 255 rounds to 128 at 1, 510 / 4 is 127.5
    first = [100, -3, 7]
    for _ in range(3):
        first = [half_even(v, 1) for v in first]
    assert int8(arena[:6]) == [first[0], half_even(510, 3), first[1], 0, first[2], 0]
    block.store([9, -20], (8, 9))
    assert block.s == 3 and int8(arena[8:10]) == [half_even(9, 3), half_even(-20, 3)]


def test_a_sum_of_gradients_is_that_of_their_values():
    a, b = [127, -128, 1, 0, 64], [1, 127, -1, 5, -64]
    for difference in range(-19, 20):
        run = Run()
        for i in range(5):
            run.arena[i], run.arena[10 + i] = a[i] & 255, b[i] & 255
        ea, eb = -30 + max(difference, 0), -30 + max(-difference, 0)
        run.exponent(0, ea)
        run.exponent(1, eb)
        t._sum(run, [0, 10, 20, 5, 0, 1, 2])
        low = min(ea, eb)
        if abs(difference) > 16:  # the smaller is no part of it
            larger, low = (a, ea) if difference > 0 else (b, eb)
            sums = list(larger)
        else:
            sums = [(v << ea - low) + (w << eb - low) for v, w in zip(a, b, strict=True)]
        wanted, s = scaled(sums)
        assert int8(run.arena[20:25]) == wanted, difference
        assert run.exponent(2) == low + s, difference


def test_a_gradient_passes_where_the_mask_has_a_bit():
    run = Run()
    for i in range(18):
        run.arena[i] = i + 1
        run.arena[60 + i] = 99
    run.arena[40:43] = bytes((0b10000001, 0b01000010, 0b11))
    run.exponent(1, -7)
    t._clamp(run, [0, 40, 60, 18, 1, 2])
    passed = [0, 7, 9, 14, 16, 17]
    assert list(run.arena[60:78]) == [i + 1 if i in passed else 0 for i in range(18)]
    assert run.exponent(2) == -7


def test_an_exponent_is_bounded_so_that_a_step_stays_short():
    for rate, exponent, over in ((0, -4, -1), (0, -4, 0), (0, -4, 1), (5, 3, 9), (-5, 3, -3)):
        for mantissa in (1, 16384, 0):
            run = Run(RATE=mantissa, RATE_EXPONENT=rate, RAILS=4)
            most = exponent + rate - over + 128
            found = t.bounded(run, exponent, most)
            is_cut = over > 0 and mantissa > 0
            assert found == exponent - (over if is_cut else 0), (rate, over, mantissa)
            assert run.get(RAILS) == 4 + is_cut


# ---- the loss ----------------------------------------------------------------------------------


def losses(logits, label, table_at=100):
    run = Run(RATE=1, RATE_EXPONENT=-20)
    run.program[44:48] = table_at.to_bytes(4, "little")
    for i in range(16):  # 2 ** -(16 i / 8) and 2 ** -(i / 8), in 1/32768
        for at, value in ((2 * i, 2.0 ** (-2 * i)), (32 + 2 * i, 2.0 ** (-i / 8))):
            run.program[table_at + at : table_at + at + 2] = int(32768 * value).to_bytes(
                2, "little"
            )
    for i, logit in enumerate(logits):
        run.arena[i] = logit & 255
    run.par = (0, 0, label)
    t._loss(run, [0, len(logits), 50, 3, None, 255])
    return run, int8(run.arena[50 : 50 + len(logits)])


def test_the_gradient_of_the_loss_is_share_less_truth():
    for logits in ([0, 0], [5, 5, 5], [127, -128], [3, -9, 20, 19], [-128, -128, -127]):
        for label in range(len(logits)):
            run, found = losses(logits, label)
            exact = [2.0 ** (v / 8) for v in logits]
            exact = [e / sum(exact) for e in exact]
            assert abs(run.get(SHARE) / 32768 - exact[label]) < 1e-3
            unit = 2.0 ** run.exponent(3)
            for i, share in enumerate(exact):
                truth = share - (i == label)
                assert abs(found[i] * unit - truth) <= unit / 2 + 1e-3, (logits, label)
            assert run.exponent(3) >= -15
    run, found = losses([0, 0], 0)
    assert run.get(SHARE) == 16384 and found == [-64, 64] and run.exponent(3) == -7
    run, found = losses([5, 5, 5], 2)  # shares round to the nearest
    assert run.get(SHARE) == 10923


# ---- steps -------------------------------------------------------------------------------------


def test_numbers_are_drawn_by_marsaglia_s_xorshift():
    run = Run(SEED=1)
    assert [t._draw(run) for _ in range(3)] == [270369, 67634689, 2647435461]
    assert run.get(SEED) == 2647435461
    run = Run(SEED=0xFFFFFFFF)
    x = 0xFFFFFFFF
    for _ in range(50):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x = (x ^ x << 5) & 0xFFFFFFFF
        assert t._draw(run) == x == run.get(SEED)


def test_a_step_is_rounded_by_the_drawn_number_s_highest_bits():
    for a in (0, 1, -1, 127 * 300, -128 * 300):
        for c in (1, 16384, MOST):
            for e in (1, 0, 3, -1, -2, -15, -30, -31, -32, -33, -40, -94, -95, -200, 64, 65, 99):
                run = Run(SEED=12345)
                found = t.random_step(run, a, (c, e))
                draw = run.get(SEED)
                value, d = a * c, -e
                if d > 31:
                    value, d = value >> min(d - 31, 63), 31
                if d > 0:
                    value = (value + (draw >> 32 - d)) // (1 << d)
                else:
                    value <<= min(-d, 64)
                assert found == max(-MOST, min(MOST, value)), (a, c, e)
    # on average a step is what it would be without rounding
    run, total = Run(SEED=7), 0
    for _ in range(4000):
        total += t.random_step(run, 3, (5, -6))
    assert abs(total / 4000 - 15 / 64) < 0.03


def rule_of(optimizer=0, ratio=1 << 14, of_bias=False, bits=0, **state):
    """A rule of a layer whose record is at 0: mantissa 1/2 and exponents that differ."""
    state = {"RATE": 1 << 14, "RATE_EXPONENT": -3, "MOMENTUM": 200, "MOVE": 1, **state}
    run = Run(optimizer, **state)

    class Layer:
        p = 0

    run.program[32:36] = (100).to_bytes(4, "little")  # ratios
    for c in range(3):
        run.program[100 + 2 * c : 102 + 2 * c] = (ratio + c).to_bytes(2, "little")
    for at, value in ((36, -5), (40, 1 << 13), (42, -11), (44, 3 << 12), (46, 7)):
        run.program[at : at + 2] = (value & 0xFFFF).to_bytes(2, "little")
    run.exponent(2, -9)
    return t.Rule(run, Layer(), 2, of_bias, bits), run


def test_the_factor_of_an_update_is_rate_times_scales():
    rule, _ = rule_of()
    assert rule.p == 1 << 13 and rule.e == -3 - 11 - 1 - 9 + 5
    rule, _ = rule_of(of_bias=True, bits=4)
    assert rule.p == 3 << 12 and rule.e == -3 + 7 - 1 - 9 + 5 + 4
    for rate, p in ((0, 0), (1, 0), (2, 1), (3, 1), (1 << 15, 1 << 14)):
        assert rule_of(RATE=rate)[0].p == p
    for optimizer in range(5):
        for move in (0, 1):
            rule, _ = rule_of(optimizer, MOVE=move)
            gathers = optimizer == 3
            assert rule.gathers == gathers and bool(rule.move) == (not gathers or move == 1)
            assert rule.mu == (256 if gathers else 200) and rule.optimizer == optimizer


def test_a_channel_is_dead_below_a_ratio_of_8():
    for ratio, is_dead in ((0, True), (7, True), (8, False), (9, False), (65000, False)):
        rule, run = rule_of(ratio=ratio)
        factor = rule.factor(0)
        assert (factor is None) == is_dead and run.get(DEAD) == is_dead
        rule.factor(0)
        assert run.get(DEAD) == 2 * is_dead
        if not is_dead:
            value, e = (1 << 30) // ratio * (1 << 13), rule.e
            while value >= 1 << 31:
                value, e = value // 2, e + 1
            assert factor == (value, e)
    rule, run = rule_of(ratio=7)  # of each channel its own
    assert rule.factor(0) is None and rule.factor(1) is not None and run.get(DEAD) == 1


def test_a_weight_stops_at_its_rails_and_both_are_counted():
    for old, step, to, rails, moved in (
        (5, 0, 5, 0, 0),
        (5, 1, 4, 0, 1),
        (5, -1, 6, 0, 1),
        (126, -1, 127, 0, 1),
        (126, -2, 127, 1, 1),
        (127, -1, 127, 1, 0),
        (-126, 1, -127, 0, 1),
        (-126, 2, -127, 1, 1),
        (-127, 1, -127, 1, 0),
        (100, 300, -127, 1, 1),
    ):
        rule, run = rule_of(RAILS=3, MOVED=8)
        assert rule.moved(old, step, 127) == to, (old, step)
        assert (run.get(RAILS), run.get(MOVED)) == (3 + rails, 8 + moved), (old, step)


def test_a_plain_weight_moves_by_its_step():
    rule, run = rule_of()
    for old, step in ((5, 1), (-5, 7), (-127, 3), (127, -1)):
        run.arena[9] = old & 255
        t._move(rule, 9, 100, 0, step)
        assert int8(run.arena[9:10]) == [max(-127, min(127, old - step))]


def test_a_wide_weight_keeps_its_fraction_in_a_byte():
    for old, fraction, step in (
        (0, 0, 1),
        (0, 0, 127),
        (0, 0, 128),
        (0, 0, 129),
        (0, 0, -127),
        (0, 0, -128),
        (5, -100, 300),
        (-5, 100, -300),
        (126, 100, -30),
        (127, 0, -5),
        (-127, 0, 5),
        (-127, 0, -5),
    ):
        rule, run = rule_of(4)
        run.arena[9], run.arena[103] = old & 255, fraction & 255
        t._move(rule, 9, 100, 3, step)
        whole = max(-127 * 256, min(127 * 256, 256 * old + fraction - step))
        weight, rest = int8(run.arena[9:10])[0], int8(run.arena[103:104])[0]
        assert 256 * weight + rest == whole, (old, fraction, step)
        assert -128 <= rest < 128 and weight == (whole + 128) // 256
        assert run.get(RAILS) == (abs(256 * old + fraction - step) > 127 * 256)


def momentum(optimizer, size, v, step, **state):
    """(momentum, weight) after a step from a momentum and the weight 40."""
    rule, run = rule_of(optimizer, SEED=99, **state)
    at = 100 + 2 * size
    run.arena[at : at + size] = (v & (1 << 8 * size) - 1).to_bytes(size, "little")
    run.arena[9] = 40
    t._move(rule, 9, 100, 2, step)
    kept = int.from_bytes(run.arena[at : at + size], "little", signed=True)
    return kept, run.arena[9], run


def test_momentum_decays_with_halves_to_even_and_stops_at_its_rails():
    for optimizer, size, bits in ((2, 1, 4), (1, 2, 8)):
        most = (1 << 8 * size - 1) - 1
        for v, step in ((0, 0), (3, 0), (100, 5), (-100, -5), (most, most), (-most, -most)):
            for mu in (0, 128, 200, 256):
                kept, weight, run = momentum(optimizer, size, v, step, MOMENTUM=mu)
                wanted = max(-most, min(most, half_even(v * mu, 8) + step))
                assert kept == wanted, (optimizer, v, step, mu)
                draw = run.get(SEED) >> 32 - bits
                assert weight == max(-127, min(127, 40 - (wanted + draw >> bits))) & 255
    # one above and one below the rails
    assert (
        momentum(2, 1, 126, 1, MOMENTUM=256)[0] == momentum(2, 1, 126, 2, MOMENTUM=256)[0] == 127
    )
    assert momentum(2, 1, -126, -2, MOMENTUM=256)[0] == -127
    assert momentum(1, 2, 32766, 2, MOMENTUM=256)[0] == 32767
    assert momentum(1, 2, -32766, -2, MOMENTUM=256)[0] == -32767


def test_gathered_steps_add_up_and_move_a_weight_once():
    kept, weight, run = momentum(3, 2, 300, 50, MOVE=0)
    assert (kept, weight, run.get(MOVED)) == (350, 40, 0)  # nothing is forgotten, nothing moves
    kept, weight, run = momentum(3, 2, 300, 50, MOVE=1)
    assert kept == 0 and run.get(MOVED) == 1
    assert weight == 40 - (350 + (run.get(SEED) >> 24) >> 8)


# ---- pools and windows -------------------------------------------------------------------------


def pooled(is_max, g, shape, window, k, x=None):
    """The gradient of a pool's input, as whole numbers with an exponent."""
    (h, w, channels), (oh, ow, top, left, kh, kw, sh, sw) = shape, window
    run = Run()
    for i, value in enumerate(g):
        run.arena[i] = value & 255
    for i, value in enumerate(x or ()):
        run.arena[60 + i] = value & 255
    run.exponent(0, -4)
    sizes = [h, w, oh, ow, top, left, kh, kw, sh, sw, channels]
    t._pool(run, is_max, [60, 0, 120, *sizes, 0, 1, None, None, k + 1])
    return int8(run.arena[120 : 120 + h * w * channels]), run.exponent(1)


def test_a_pool_s_gradient_goes_to_what_its_window_saw():
    # 2 x 2 of 4 x 3, of which the last column is seen by a window over the border
    shape, window, k = (4, 3, 1), (2, 2, 0, 0, 2, 2, 2, 2), 7
    g = [8, -16, 24, 32]
    found, exponent = pooled(False, g, shape, window, k)
    sums = [0] * 12
    for place, value in enumerate(g):
        y, x = place // 2 * 2, place % 2 * 2
        seen = [(r, c) for r in (y, y + 1) for c in (x, x + 1) if r < 4 and c < 3]
        for r, c in seen:
            sums[3 * r + c] += value * (((1 << k) + len(seen) // 2) // len(seen))
    wanted, s = scaled(sums)
    assert (found, exponent) == (wanted, -4 - k + s)


def test_of_equal_values_the_first_gets_a_largest_pool_s_gradient():
    shape, window = (2, 4, 1), (1, 2, 0, 0, 2, 2, 2, 2)
    x = [5, 5, -9, -128, 4, 5, -9, -10]
    found, exponent = pooled(True, [3, -7], shape, window, 0, x)
    assert found == [3, 0, -7, 0, 0, 0, 0, 0] and exponent == -4
    # windows that overlap add up; a padded one sees what is there
    found, _ = pooled(True, [3, -7, 2], (1, 3, 1), (1, 3, 0, 1, 1, 3, 1, 1), 0, [1, 9, 2])
    assert found == [0, 3 - 7 + 2, 0]
    # channels do not mix
    found, _ = pooled(
        True, [1, 10, 2, 20], (1, 4, 2), (1, 2, 0, 0, 1, 2, 1, 2), 0, [9, 1, 1, 9] * 2
    )
    assert found == [1, 0, 0, 10, 2, 0, 0, 20]


class Window:
    def __init__(self, h, w, oh, ow, kh, kw, sh, sw, top, left):
        self.h, self.w, self.oh, self.ow, self.kh, self.kw = h, w, oh, ow, kh, kw
        self.sh, self.sw, self.top, self.left = sh, sw, top, left


def test_an_input_takes_part_in_the_outputs_whose_windows_see_it():
    for sizes in (
        (5, 4, 5, 4, 3, 3, 1, 1, 1, 1),
        (5, 4, 3, 2, 3, 3, 1, 1, 0, 0),
        (6, 6, 3, 3, 3, 3, 2, 2, 1, 1),
        (6, 7, 3, 2, 2, 3, 2, 3, 0, 1),
        (7, 5, 2, 2, 3, 2, 3, 3, 1, 0),
    ):
        layer = Window(*sizes)
        seen = {}
        for y in range(layer.oh):
            for x in range(layer.ow):
                for tap in range(layer.kh * layer.kw):
                    row = y * layer.sh - layer.top + tap // layer.kw
                    column = x * layer.sw - layer.left + tap % layer.kw
                    if 0 <= row < layer.h and 0 <= column < layer.w:
                        seen.setdefault((row, column), set()).add((y * layer.ow + x, tap))
        for row in range(layer.h):
            for column in range(layer.w):
                found = list(t._outputs_of(layer, row, column))
                assert len(found) == len(set(found))
                assert set(found) == seen.get((row, column), set()), (sizes, row, column)


def test_an_unknown_instruction_is_named():
    for op in (0, 15, 24, 255):
        try:
            t.train_step(Run(), op, [0] * 20)
        except ValueError as error:
            assert "no instruction %d" % op in str(error)
        else:
            raise AssertionError(op)
