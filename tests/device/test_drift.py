# SPDX-License-Identifier: MIT
"""Detectors of drift: what they tell, what they do not, and that they allocate nothing."""

from acclimate.drift import Adwin, PageHinkley

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    heap_unlock = heap_lock


class Chance:
    """The same random answers on every runtime."""

    def __init__(self, seed):
        self.state = seed

    def wrong(self, per_mille):
        self.state = (self.state * 16333 + 12345) & 0xFFFF
        return (self.state >> 4) * 1000 >> 12 < per_mille


def told_after(detector, chance, per_mille, most):
    for k in range(most):
        if detector.add(chance.wrong(per_mille)):
            return k
    return None


def test_a_rise_of_wrong_answers_is_told_soon_and_only_then():
    for make in (PageHinkley, Adwin):
        for seed in range(1, 6):
            detector, chance = make(), Chance(seed)
            assert told_after(detector, chance, 100, 1000) is None, (make, seed)
            assert told_after(detector, chance, 500, 150) is not None, (make, seed)


def test_adwin_also_tells_a_fall_and_its_window_holds_the_new_values_only():
    detector, chance = Adwin(), Chance(3)
    assert told_after(detector, chance, 500, 400) is None
    assert told_after(detector, chance, 50, 150) is not None
    for _ in range(200):
        detector.add(chance.wrong(50))
    assert detector.mean() < 120


def test_the_window_of_adwin_counts_what_it_holds():
    detector = Adwin(rows=3, width=2)
    for k in range(40):
        detector.add(1)
        assert detector.mean() == 1000 and detector.count <= k + 1
    assert 8 <= detector.count <= 20
    for _ in range(300):
        detector.add(0)
    assert detector.mean() == 0


def test_page_hinkley_sees_a_feature_move():
    detector = PageHinkley(threshold=100, delta=2)
    assert not any(detector.add(40 + k % 5) for k in range(300))
    assert any(detector.add(60 + k % 5) for k in range(20))


def test_page_hinkley_begins_anew_after_it_told():
    detector = PageHinkley()
    for k in range(200):
        detector.add(k % 10 == 0)
    assert any(detector.add(1) for _ in range(20))
    assert detector.count == 0 and 9 <= detector.recent() <= 20
    assert not any(detector.add(k % 2) for k in range(400))


def test_long_streams_stay_in_small_numbers():
    detector = PageHinkley(threshold=1000)
    detector.count, detector._sum = (1 << 16) - 2, 1 << 28
    for _ in range(5):
        detector.add(1000)
    assert detector.count < 1 << 16 and detector._sum < 1 << 29


def test_nothing_is_told_before_the_least_number_of_values():
    for least in (1, 20, 100):
        detector = PageHinkley(threshold=2, least=least)
        told = [k for k in range(150) if detector.add(0 if k < 3 else 1)]
        assert (told[0] if told else 999) == {1: 6, 20: 19, 100: 99}[least], (least, told)


def test_large_features_are_told_after_any_number_of_values():
    detector = PageHinkley(threshold=100, delta=2, least=600)
    assert not any(detector.add(900) for k in range(700))  # its count stays below 600
    assert any(detector.add(1000) for k in range(20))


def test_a_value_that_is_refused_changes_nothing():
    detector = PageHinkley()
    for value in (float("nan"), float("inf"), 1001, -1e30, 1 << 40):
        try:
            detector.add(value)
        except ValueError as error:
            assert "value: expected -1000..1000, got" in str(error)
        else:
            raise AssertionError("no error for %r" % (value,))
        assert (detector.count, detector._sum) == (0, 0)


def test_a_value_allocates_nothing():
    for detector in (PageHinkley(), Adwin()):
        for k in range(50):
            detector.add(k % 3 == 0)
        heap_lock()
        try:
            for k in range(50):
                detector.add(k % 3 == 0)
        finally:
            heap_unlock()


def test_settings_and_values_out_of_range_are_refused():
    for call in (
        lambda: PageHinkley(threshold=0),
        lambda: PageHinkley(delta=-1),
        lambda: PageHinkley(least=0),
        lambda: PageHinkley(threshold=float("inf")),
        lambda: PageHinkley(delta=float("inf")),
        lambda: PageHinkley(least=float("inf")),
        lambda: Adwin(confidence=float("inf")),
        lambda: Adwin().add(1.0004),
        lambda: Adwin().add(float("nan")),
        lambda: Adwin(rows=1),
        lambda: Adwin(rows=2.5),
        lambda: Adwin(width=4.0),
        lambda: Adwin(width=17),
        lambda: Adwin(confidence=0),
        lambda: Adwin(every=0),
        lambda: Adwin().add(2),
        lambda: Adwin().add("1"),
        lambda: Adwin().add(None),
        lambda: Adwin(every="8"),
        lambda: PageHinkley().add("1"),
        lambda: PageHinkley().add((1, 2)),
        lambda: PageHinkley().add(None),
        lambda: PageHinkley("10"),
        lambda: PageHinkley(least=None),
    ):
        try:
            call()
        except ValueError as error:
            assert "expected" in str(error)
        else:
            raise AssertionError("no error")
