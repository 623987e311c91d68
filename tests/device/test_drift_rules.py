# SPDX-License-Identifier: MIT
"""Detectors of drift against the formulas of their papers, in real numbers, and their limits."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from raised import fails
from test_drift import Chance

from acclimate.drift import Adwin, PageHinkley


def told_at(detector, values):
    for k in range(len(values)):
        if detector.add(values[k]):
            return k
    return None


def page_1954(values, threshold, delta, least):
    """(when, how many values the sum had been above its least) of Page's test, in real numbers."""
    total = above = since = 0
    for k in range(len(values)):
        total += values[k]
        above = max(0, above + values[k] - total / (k + 1) - delta)
        since = since + 1 if above else 0
        if k + 1 >= least and above > threshold:
            return k, since
    return None, 0


def stream(seed, parts):
    """Zeros and ones: (how many, ones in a thousand) one part behind the other."""
    chance, found = Chance(seed), []
    for count, per_mille in parts:
        found += [int(chance.wrong(per_mille)) for _ in range(count)]
    return found


def test_page_s_test_tells_when_his_sum_does():
    for seed in range(1, 9):
        for threshold, delta, least in ((10, 0.05, 30), (3, 0.2, 30), (25, 0.0, 1), (5, 0.1, 200)):
            values = stream(seed, ((120, 100), (250, 600)))
            wanted, since = page_1954(values, threshold, delta, least)
            detector = PageHinkley(threshold, delta, least)
            found = told_at(detector, values)
            # Means are whole thousandths here: over some hundred values one may be a step apart.
            assert found is not None and abs(found - wanted) <= 2, (seed, found, wanted)
            assert abs(detector.recent() - since) <= max(2, abs(found - wanted))


def test_features_of_any_sign_are_summed():
    for sign in (1, -1):
        values = [sign * (3.5 + k % 3) for k in range(100)] + [sign * (3.5 + k % 3) + 2 for k in
                                                               range(60)]  # fmt: skip
        wanted, since = page_1954(values, 20, 0.25, 30)
        detector = PageHinkley(20, 0.25, 30)
        assert told_at(detector, values) == wanted and detector.recent() == since


def test_recent_is_how_long_it_has_been_above():
    for ones in (11, 15, 20):
        detector = PageHinkley(threshold=ones - 1.5, delta=0, least=1)
        values = [0] * 1000 + [1] * 40
        found = told_at(detector, values)
        assert detector.recent() == found - 999 and detector.count == 0
        assert found - 1000 in (ones - 2, ones - 1, ones)
    detector = PageHinkley(threshold=9, delta=0.05, least=1)
    values = [1] * 5 + [0] * 500 + [1] * 30  # the first ones are forgotten
    assert told_at(detector, values) > 500 and detector.recent() <= 12


def test_the_mean_goes_on_when_the_count_is_halved():
    detector = PageHinkley(threshold=100, delta=2)
    for _ in range((1 << 16) + 50):
        assert not detector.add(5)
    assert (1 << 15) <= detector.count < 1 << 16
    assert abs(detector._sum // detector.count - 5000) <= 1
    assert told_at(detector, [25] * 20) == 5  # 18 each beyond 100
    detector = PageHinkley(threshold=1000, delta=1)
    for value in (1000, -1000):
        for _ in range(3000):  # a sum that would be too large long before the count is
            detector.add(value)
            assert -(1 << 29) < detector._sum < 1 << 29


def test_settings_are_taken_up_to_their_limits():
    assert repr(PageHinkley()) == "PageHinkley(10, 0.05, 30): 0 values"
    assert repr(Adwin()) == "Adwin(10, 4, 9, 8): 0 values"
    detector = PageHinkley(2.5, 0.25, 7)
    detector.add(0)
    assert repr(detector) == "PageHinkley(2.5, 0.25, 7): 1 values"
    top = 1 << 29
    for good in ((0.001, 0, 1), (top - 1, 1000, top - 1)):
        PageHinkley(*good)
    for bad in ((top, 0, 1), (1, 1000.5, 1), (1, 0, top), (0, 0, 1), (1, -0.001, 1), (1, 0, 0)):
        fails(("threshold, delta, least",), PageHinkley, *bad)
    for good in ((2, 2, 0.1, 1), (16, 16, top - 1, 1000)):
        Adwin(*good)
    for bad in ((17, 2), (2, 1), (2, 17), (2, 2, top), (2, 2, 1, 0), (2.0, 2), (2, 2.0)):
        fails(("rows, width, confidence, every",), Adwin, *bad)
    for detector, good, bad in (
        (PageHinkley(), (-1000, 1000, 0, True), (-1000.5, 1000.5)),
        (Adwin(), (0, 1, 0.5, False), (-0.001, 1.001)),
    ):
        for value in good:
            detector.add(value)
        for value in bad:
            fails(("value: expected",), detector.add, value)
        assert detector.count == 4


# ---- the window -------------------------------------------------------------------------------


def test_the_window_is_the_newest_values_of_the_stream():
    for rows, width in ((2, 2), (3, 2), (4, 5), (3, 16)):
        detector, chance, held = Adwin(rows, width, 1e6, 1 << 20), Chance(7), []
        most = width * ((1 << rows) - 1)
        for k in range(5 * most):
            value = chance.wrong(300)
            held.append(1000 * value)
            detector.add(value)
            assert k >= most or detector.count == k + 1
            assert most - (1 << rows) < detector.count <= most or k < most
            held = held[-detector.count :]
            assert detector.mean() == sum(held) // detector.count
            assert detector.recent() == detector.count


def test_what_is_left_behind_a_change_are_the_newest_values():
    for seed in range(1, 5):
        detector, held, told = Adwin(6, 3, 4.0, 1), [], 0
        for value in stream(seed, ((150, 100), (120, 700), (150, 20))):
            held.append(1000 * value)
            before = detector.count
            if detector.add(value):
                told += 1
                assert detector.count <= before
            held = held[-detector.count :]
            assert detector.mean() == sum(held) // detector.count
        assert told >= 2
    detector.reset()
    assert (detector.count, detector.mean()) == (0, 0)
    assert not any(detector.add(1) for _ in range(100)) and detector.mean() == 1000


def bifet_2007(held, sizes, confidence):
    """How far the clearest cut is above its bound, as a share: ADWIN's formula, in real numbers.

    :param sizes: values in each sum of the window, the oldest first
    """
    most, at, n = -1.0, 0, len(held)
    mean = sum(held) / n
    for size in sizes[:-1]:
        at += size
        if at < 8 or n - at < 8:
            continue
        m = at * (n - at) / n
        bound = (2 / m * mean * (1 - mean) * confidence) ** 0.5 + 2 / (3 * m) * confidence
        apart = abs(sum(held[:at]) / at - sum(held[at:]) / (n - at))
        most = max(most, apart / bound - 1)
    return most


def test_a_cut_is_told_where_its_formula_says_so():
    seen = {True: 0, False: 0}
    for seed in range(1, 25):
        for confidence in (1.0, 4.0, 9.0):
            values = stream(seed, ((20 + 5 * seed, 150), (12 + 2 * seed, 150 + 25 * seed)))
            detector = Adwin(8, 4, confidence, 1 << 20)
            for value in values:
                detector.add(value)
            sizes = []
            for row in range(7, -1, -1):
                sizes += [1 << row] * detector._used[row]
            assert sum(sizes) == detector.count == len(values)
            over = bifet_2007(values, sizes, confidence)
            if abs(over) > 0.04:
                assert detector._differs() == (over > 0), (seed, confidence, over)
                seen[over > 0] += 1
    assert min(seen.values()) > 10, seen


def test_neither_part_of_a_cut_has_fewer_than_eight_values():
    for zeros in (7, 8):
        detector = Adwin(4, 16, 0.0625, 1)  # sums of single values, and a bound next to nothing
        assert told_at(detector, [0] * zeros + [1] * 20) == 15
    detector = Adwin(4, 16, 0.0625, 1)
    assert told_at(detector, [0] * 16 + [1] * 10) == 16


def test_looks_are_so_many_values_apart():
    for every, wanted in ((1, 16), (4, 19), (10, 19), (11, 21)):
        detector = Adwin(4, 16, 0.0625, every)
        assert told_at(detector, [0] * 16 + [1] * 20) == wanted
