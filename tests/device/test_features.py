# SPDX-License-Identifier: MIT
"""Features of raw windows: values that can be checked by hand, limits, and no allocation."""

import gc
from array import array

from acclimate import _native
from acclimate import features as features_module
from acclimate.features import KINDS, WindowFeatures

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    heap_unlock = heap_lock


def features(values, **options):
    f = WindowFeatures(channels=1, samples=len(values), **options)
    return list(f.into(array("h", values), array("b", bytes(f.width))))


def test_values_by_hand():
    assert features([0, 10, 0, -10, 0, 10, 0, -10], shift=0) == [0, 5, -10, 10, 12]


def test_channels_are_interleaved():
    f = WindowFeatures(channels=2, samples=4, shift=0, kinds=("mean",))
    assert list(f.into(array("h", [1, -5] * 4), array("b", bytes(2)))) == [1, -5]
    assert f.names() == ["0.mean", "1.mean"]


def test_extreme_values_saturate_and_never_wrap():
    assert features([32767] * 8, shift=0) == [127, 0, 127, 127, 0]
    assert features([-32768] * 8, shift=8) == [-128, 0, -128, -128, 0]
    assert features([-32768, 32767] * 128, shift=7) == [-1, 127, -128, 127, 127]


def test_noise_around_the_mean_is_no_crossing():
    values = [1000, -1000] + [1, -1] * 20 + [1000, -1000]
    assert features(values, shift=0, kinds=("cross",)) == [12]


def test_kinds_choose_the_features():
    assert WindowFeatures(channels=6, samples=128).width == 6 * len(KINDS)
    assert features([4, 8, 4, 8], shift=0, kinds=("mean", "dev")) == [6, 2]
    given = (kind for kind in ("dev", "mean"))
    assert features([4, 8, 4, 8], shift=0, kinds=given) == [6, 2]


def test_native_code_and_python_give_the_same():
    seed = 5
    for channels, samples, shift, kinds in (
        (6, 64, 7, KINDS),
        (1, 4, 0, ("cross", "dev")),
        (3, 37, 8, ("min", "max", "mean")),
        (16, 5, 1, KINDS),
    ):
        window = array("h", bytes(2 * channels * samples))
        for reach in (40, 3000, 32767):
            for i in range(len(window)):
                seed = (seed * 16333 + 12345) & 0xFFFF
                window[i] = (seed - 32768) * reach // 32768
            f = WindowFeatures(channels, samples, shift, kinds)
            found = list(f.into(window, array("b", bytes(f.width))))
            f._native = None
            assert list(f.into(window, array("b", bytes(f.width)))) == found
            assert list(f.into(list(window), [0] * f.width)) == found  # any sequence


def test_native_code_is_taken_where_its_room_is_left():
    window = getattr(_native.load("codec"), "window", None)
    room = features_module._NATIVE_ROOM
    free = getattr(gc, "mem_free", None)
    if not free or features_module._SMALL:
        return
    if window and free() >= room:
        assert WindowFeatures(channels=1, samples=4)._native
    try:
        features_module._NATIVE_ROOM = free() + 1000000
        assert WindowFeatures(channels=1, samples=4)._native is None
    finally:
        features_module._NATIVE_ROOM = room


def test_an_out_without_signs_is_refused_and_stays():
    for native in (True, False):
        f = WindowFeatures(channels=1, samples=4)
        f._native = f._native if native else None
        for out in (bytearray(b"12345"), array("B", b"12345")):
            try:
                f.into(array("h", [-300, -300, -300, -300]), out)
            except ValueError as error:
                assert str(error).startswith("out: expected array('b')"), error
            else:
                raise AssertionError("no exception")
            assert bytes(out) == b"12345"


def test_wrong_lengths_and_settings_are_refused():
    f = WindowFeatures(channels=1, samples=4)
    bad = (
        lambda: f.into(array("h", [0] * 5), array("b", bytes(5))),
        lambda: f.into(array("h", [0] * 4), array("b", bytes(4))),
        lambda: WindowFeatures(channels=0),
        lambda: WindowFeatures(samples=2),
        lambda: WindowFeatures(shift=9),
        lambda: WindowFeatures(kinds=("median",)),
        lambda: WindowFeatures(kinds=()),
        lambda: WindowFeatures(channels=1.0),
        lambda: WindowFeatures(channels="1"),
        lambda: WindowFeatures(samples=None),
        lambda: WindowFeatures(samples=8.5),
        lambda: WindowFeatures(shift=7.0),
    )
    for call in bad:
        try:
            call()
            raise AssertionError("no exception")
        except ValueError as error:
            assert "expected" in str(error)


def test_samples_that_are_no_whole_numbers_are_refused_and_nothing_is_written():
    f = WindowFeatures(channels=2, samples=4)
    whole = [1, 2, 3, 4, 5, 6, 7, 8]
    for bad in (
        array("f", whole),
        whole[:7] + [8.5],
        whole[:7] + [float("nan")],
        whole[:7] + [None],
        ["1"] + whole[1:],
    ):
        out = array("b", (9 for _ in range(f.width)))
        try:
            f.into(bad, out)
        except ValueError as error:
            assert "window: expected whole numbers" in str(error)
            assert list(out) == [9] * f.width
        else:
            raise AssertionError("no exception")


def test_a_window_allocates_nothing():
    f = WindowFeatures(channels=2, samples=8)
    window, out = array("h", range(16)), array("b", bytes(f.width))
    f.into(window, out)
    heap_lock()
    try:
        f.into(window, out)
    finally:
        heap_unlock()
