# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "tables, state and window of a front end take what the heap has"}
"""The front end: native code and Python give the same levels; what does not fit is refused."""

from array import array

from frontend_vectors import MOTION, SOUND

from acclimate import _bands_plain
from acclimate.features import Frontend


def windows(count, reach):
    """Three windows of numbers by chance, and one of the same number."""
    seed, window = 7, array("h", bytes(2 * count))
    for _ in range(3):
        for i in range(count):
            seed = (seed * 16333 + 12345) & 0xFFFF
            window[i] = (seed - 32768) * reach // 32768
        yield window
    for i in range(count):
        window[i] = -32768
    yield window


def refused(call, word):
    try:
        call()
    except ValueError as error:
        return word in str(error)
    return False


def test_native_code_and_python_give_the_same():
    for tables in (SOUND, MOTION):
        one, two = Frontend(tables), Frontend(tables)
        two._run = _bands_plain.run
        for reach in (0, 30, 32768):
            for window in windows(one.samples, reach):
                for kind, size in (("H", 2), ("b", 1)):
                    a, b = (array(kind, bytes(size * one.width)) for _ in "ab")
                    assert list(one.into(window, a)) == list(two.into(window, b)), reach


def test_levels_follow_the_band_that_sounds():
    front = Frontend(MOTION)
    out = array("H", bytes(2 * front.width))
    # The first axis swings every four samples (12.5 Hz), the second not at all but for gravity.
    wave = (0, 9000, 0, -9000)
    window = array("h", [v for i in range(16) for v in (wave[i % 4], 8192)])
    front.into(window, out)
    assert max(out[:4]) == out[1] or max(out[:4]) == out[2]
    assert list(out[4:]) == [0, 0, 0, 0]
    assert front.into(window, bytearray(front.width))[4] == 128  # int8: -128


def test_what_was_heard_is_forgotten_by_reset():
    front, window = Frontend(SOUND), list(windows(30, 32768))[0]
    first = list(front.into(window, array("H", bytes(10))))
    again = list(front.into(window, array("H", bytes(10))))
    front.reset()
    assert again != first and list(front.into(window, array("H", bytes(10)))) == first


def test_what_does_not_fit_is_refused_by_its_name():
    front = Frontend(SOUND)
    window, out = array("h", bytes(60)), array("H", bytes(10))
    assert refused(lambda: front.into(array("h", bytes(58)), out), "samples: ")
    assert refused(lambda: front.into(window, array("H", bytes(12))), "out: ")
    assert refused(lambda: Frontend(b"AF"), "tables: ")
    for run in (front._run, _bands_plain.run):
        front._run = run
        front.tables = SOUND[:-2]
        assert refused(lambda: front.into(window, out), "tables: ")


def test_no_damaged_number_of_the_tables_leads_outside():
    """An order or a band that leaves the spectrum is refused before anything is read there."""
    for at in (32 + 60, 32 + 60 + 16 + 48 + 32):  # the first of the order, of the bands
        damaged = bytearray(SOUND)
        damaged[at] = damaged[at + 1] = 0xFF
        front, window, out = Frontend(damaged), array("h", bytes(60)), array("H", bytes(10))
        for run in (front._run, _bands_plain.run):
            assert run(damaged, front._state, window, out) == -1, at
