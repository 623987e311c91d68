# SPDX-License-Identifier: MIT
"""Whatever detectors, reservoirs, windows and budgets are given instead of an argument, the error
says which it was."""

from array import array

from no_arguments import INFINITE, LARGE, MINUS, NONE, REAL, WHOLE, named, setting
from refusal import raised


def test_detectors():
    from acclimate.drift import Adwin, PageHinkley

    for name in ("threshold", "delta", "least"):
        setting(PageHinkley, name, (WHOLE, REAL))
    setting(Adwin, "rows", (WHOLE,))
    setting(Adwin, "width", (WHOLE,))
    setting(Adwin, "confidence", (WHOLE, REAL))
    setting(Adwin, "every", (WHOLE, LARGE, REAL, INFINITE))
    named("value", PageHinkley().add, (WHOLE, MINUS, REAL))
    named("value", Adwin().add)


def test_windows():
    from acclimate.features import WindowFeatures

    for name in ("channels", "samples", "shift"):
        setting(WindowFeatures, name, (WHOLE,))
    setting(WindowFeatures, "kinds")
    windows = WindowFeatures(2, 4, 0)
    window, out = array("h", range(8)), array("b", bytes(10))
    named("window", lambda value: windows.into(value, out))
    named("out", lambda value: windows.into(window, value))


def test_reservoirs():
    from acclimate.reservoir import Draws, Reservoir

    setting(Reservoir, "capacity", (WHOLE,), width=3)
    setting(Reservoir, "width", (WHOLE,), capacity=3)
    setting(Reservoir, "recent", (WHOLE,), width=3, capacity=3)
    named("seed", Draws, (WHOLE, MINUS, LARGE))
    named("count", Draws().below, (WHOLE,))
    setting(Reservoir.bytes_needed, "capacity", (WHOLE,), width=3)
    setting(Reservoir.bytes_needed, "width", (WHOLE,), capacity=3)
    kept = Reservoir(4, 3)
    kept.offer([1, 2, 3], 1, 2)
    named("row", lambda value: kept.offer(value, 1, 2))
    named("prediction", lambda value: kept.offer([1, 2, 3], value, 2), (WHOLE,))
    named("confidence", lambda value: kept.offer([1, 2, 3], 1, value), (WHOLE,))
    named("predict", lambda value: kept.refresh(value, bytearray(3)))
    for call in (lambda v: kept.row(0, v), kept.draw, lambda v: kept.refresh(lambda _: 1, v)):
        for out in (None, 5, [], "ab", "abc", b"abc", (1, 2, 3)):
            text = raised(ValueError, call, out)
            assert "out" in text or "row" in text, (out, text)


def test_budgets():
    from acclimate.energy import EnergyBudget

    setting(EnergyBudget, "joules", (WHOLE, REAL), watts=1)
    setting(EnergyBudget, "watts", (WHOLE, REAL), joules=1)
    setting(EnergyBudget, "day", (NONE,), joules=1, watts=1)
    named("us", EnergyBudget(3, 1).spend, (WHOLE, LARGE, REAL))
