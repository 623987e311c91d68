# SPDX-License-Identifier: MIT
"""Limit what training may draw from the battery.

>>> budget = EnergyBudget(joules=20, watts=0.011, day=lambda: 1)
>>> budget.may_train()
True
>>> budget.spend(60000000)  # a minute of computing
>>> round(budget.used, 2)
0.66

`acclimate.loop.TrainOnDemand(..., budget=budget)` asks and tells it by itself.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Callable
except ImportError:
    pass

try:
    from time import ticks_ms
except ImportError:
    from time import monotonic_ns

    def ticks_ms():
        return monotonic_ns() // 1000000


_WRAP = (1 << 30) - 1


def _between(value, low, high):
    """True for a number of the range."""
    try:
        return low < value < high
    except TypeError:  # no number
        return False


class EnergyBudget:
    """Joules that training may take in a day.

    A training begins only while what is left covers the dearest one so far; one that has begun
    goes on to its end. `used` is what today took, in joules.

    :param float joules: for each day, > 0
    :param float watts: what the board draws while it computes, > 0: see `acclimate boards NAME`
    :param day: callable that returns the number of the day; None: each boot begins a day, and
        another one after 24 hours
    """

    def __init__(
        self, joules: float, watts: float, day: "Callable[[], int] | None" = None
    ) -> None:
        if not (_between(joules, 0, 1e9) and _between(watts, 0, 1e6)):
            raise ValueError("joules, watts: expected > 0, got %r, %r" % (joules, watts))
        if day is not None and not callable(day):
            raise ValueError("day: expected a function or None, got %r" % (day,))
        self.joules = joules
        self.watts = watts
        self.used = 0.0
        self._dearest = self._this = 0.0
        self._day = day
        self._today = None
        self._awake_ms, self._tick = 0, ticks_ms()

    def __repr__(self):
        return "EnergyBudget(%g, %g): %g J used" % (self.joules, self.watts, self.used)

    def may_train(self) -> bool:
        """True while today's rest is enough for the dearest training so far."""
        today = self._number()
        if today != self._today:
            self._today = today
            self.used = 0.0
        self._this = 0.0
        return self.used + max(self._dearest, 1e-9) <= self.joules

    def spend(self, us: int) -> None:
        """Count so many microseconds of computing.

        :raises ValueError: a number that is no such time; nothing is counted then
        """
        if not _between(us, -1e-9, 1e15):
            raise ValueError("us: expected microseconds >= 0, got %r" % (us,))
        joules = us * self.watts / 1e6
        self.used += joules
        self._this += joules
        self._dearest = max(self._dearest, self._this)

    def _number(self):
        if self._day is not None:
            return self._day()
        now = ticks_ms()
        self._awake_ms += (now - self._tick) & _WRAP
        self._tick = now
        return self._awake_ms // 86400000
