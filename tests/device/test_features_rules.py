# SPDX-License-Identifier: MIT
"""Features of a window against their definitions, with native code and without, to each limit."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from array import array

from raised import fails

from acclimate.features import KINDS, WindowFeatures


def cut(value):
    return max(-128, min(127, value))


def by_definition(window, channels, shift, kinds):
    """Mean and limits without `shift` bits, the deviation with one bit more, four per crossing."""
    found = []
    for c in range(channels):
        values = list(window)[c::channels]
        mean = sum(values) // len(values)
        away = sum([abs(v - mean) for v in values]) // len(values)
        # Which side of the mean, for what is farther from it than a quarter of the deviation.
        sides = [v > mean for v in values if abs(v - mean) > away // 4]
        crossings = sum([a != b for a, b in zip(sides, sides[1:])])  # noqa: B905
        whole = {
            "mean": cut(mean >> shift),
            "dev": cut(away >> max(0, shift - 1)),
            "min": cut(min(values) >> shift),
            "max": cut(max(values) >> shift),
            "cross": cut(4 * crossings),
        }
        found += [whole[kind] for kind in KINDS if kind in kinds]
    return found


def windows(channels, samples):
    seed = 7
    for reach in (3, 60, 3000, 32767):
        window = array("h", bytes(2 * channels * samples))
        for i in range(len(window)):
            seed = (seed * 16333 + 12345) & 0xFFFF
            away = reach // 9 * (i % channels)  # each channel has a mean of its own
            window[i] = max(-reach, min(reach, (seed - 32768) * reach // 32768 + away))
        yield window
    yield array("h", (5 for _ in range(channels * samples)))
    yield array("h", (i // channels * 7 for i in range(channels * samples)))


def test_each_feature_is_what_it_is_called():
    for channels, samples, shift in ((1, 4, 0), (2, 9, 1), (3, 40, 7), (16, 5, 8), (1, 200, 3)):
        for kinds in (KINDS, ("mean",), ("cross", "min"), ("dev", "max"), KINDS[1:4]):
            f = WindowFeatures(channels, samples, shift, kinds)
            assert f.width == channels * len(kinds) == len(f.names())
            for window in windows(channels, samples):
                wanted = by_definition(window, channels, shift, kinds)
                for native in (f._native, None):
                    f._native = native
                    out = array("b", bytes(f.width))
                    assert f.into(window, out) is out
                    assert list(out) == wanted, (channels, samples, shift, kinds)


def test_a_value_on_the_border_of_the_band_is_on_no_side():
    """A mean of 0 and a deviation of 11: what is 2 away is on no side, 3 is."""
    for small, crossings in ((2, 3), (3, 7)):
        values = array("h", (20, -20, 20, -20, small, -small, small, -small))
        f = WindowFeatures(1, 8, 0, ("mean", "dev", "cross"))
        for native in (f._native, None):
            f._native = native
            assert list(f.into(values, array("b", bytes(3)))) == [0, 11, 4 * crossings]


def test_names_are_in_the_order_of_a_row():
    f = WindowFeatures(2, 4, 0, ("max", "dev"))
    assert f.names() == ["0.dev", "0.max", "1.dev", "1.max"]
    assert repr(f) == "WindowFeatures(2, 4): 4 features"
    assert repr(WindowFeatures()) == "WindowFeatures(6, 128): 30 features"
    window = array("h", (1 << 7 for _ in range(6 * 128)))
    assert list(WindowFeatures().into(window, array("b", bytes(30))))[:3] == [1, 0, 1]


def test_settings_are_taken_up_to_their_limits():
    usual = {"channels": 1, "samples": 8, "shift": 0}
    for name, low, high in (("channels", 1, 16), ("samples", 4, 4096), ("shift", 0, 8)):
        for value in (low, high):
            settings = dict(usual)
            settings[name] = value
            assert getattr(WindowFeatures(**settings), name) == value
        for value in (low - 1, high + 1, float(low), str(low), None):
            settings = dict(usual)
            settings[name] = value
            fails((name, "expected %d..%d" % (low, high)), lambda s=settings: WindowFeatures(**s))
    for bad in ((), ("mean", "most"), 7, None):
        fails(("kinds: expected some of",), lambda b=bad: WindowFeatures(kinds=b))


def test_lengths_and_signs_are_looked_at_without_native_code_too():
    for native in (True, False):
        f = WindowFeatures(2, 4)
        f._native = f._native if native else None
        window, out = array("h", range(8)), array("b", (9 for _ in range(10)))
        for bad in (array("h", range(7)), array("h", range(9)), None, 8):
            fails(("window: expected 8 elements",), f.into, bad, out)
        for bad in (array("b", bytes(9)), array("b", bytes(11)), None):
            fails(("out: expected 10 elements",), f.into, window, bad)
        fails(("out: expected array('b')",), f.into, window, bytearray(10))
        assert list(out) == [9] * 10
        assert list(f.into(window, out)) == by_definition(window, 2, 7, KINDS)
