# SPDX-License-Identifier: MIT
"""When to write what the board has learned to flash: not at each sample.

    saver = SavePolicy(store, every_s=3600)
    ...
    saver.save(net.weights())           # as often as you like: "saved", "unchanged", "too soon"
    if saver.warning:                   # "2 more saves today" before the budget stops them
        print(saver.warning)

A save writes a whole capsule, so it erases as many pages as the capsule has. With
``Store(day_pages=N, day=...)`` the number of erases per day is limited over resets too.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_WARN_BELOW = const(3)  # saves that are left today


class SavePolicy:
    """The save policy of one Store.

    ``saves`` and ``skipped`` count; ``warning`` is "" or says how little the budget leaves.

    :param every_s: seconds that must lie between two saves, 0 to 10**8.
    :param clock: returns seconds that only rise; ``time.time`` without it.
    """

    def __init__(
        self, store: "Any", every_s: float = 3600, clock: "Callable[[], float] | None" = None
    ) -> None:
        if not 0 <= every_s <= 100000000:
            raise ValueError("every_s: expected 0 to 10**8 seconds, got %s" % every_s)
        if clock is None:
            from time import time as clock
        self.store = store
        self.every_s = every_s
        self.saves = 0
        self.skipped = 0
        self.warning = ""
        self._clock = clock
        self._latest = None
        self._look()

    def save(self, weights: "ReadableBuffer") -> str:
        """Save the weights if it is time; return what was done, and why.

        "saved"; "unchanged": the flash holds them already, nothing was written; "too soon";
        "budget": the day's erases are used up. After the last three the old weights stay.
        """
        if self.wait_s() > 0:
            return self._skip("too soon")
        left = self.saves_left()
        if left is not None and left < 1:
            return self._skip("budget")
        if not self.store.save(weights):
            return self._skip("unchanged")
        self._latest = self._clock()
        self.saves += 1
        self._look()
        return "saved"

    def wait_s(self) -> float:
        """Return the seconds until the next save may be; 0: now."""
        if self._latest is None:
            return 0
        passed = self._clock() - self._latest
        if passed < 0:  # the clock was set back
            self._latest = self._clock()
            return self.every_s
        return max(0, self.every_s - passed)

    def saves_left(self) -> int | None:
        """Return how many saves the erase budget leaves today; None without a budget or model."""
        pages = self.store.budget_left()
        if pages is None or self.store.active is None:
            return None
        return pages // max(1, self.store.slots.pages_of(self.store.head.total))

    def _skip(self, why):
        self.skipped += 1
        self._look()
        return why

    def _look(self):
        left = self.saves_left()
        few = left is not None and left < _WARN_BELOW
        self.warning = "%d more saves today" % left if few else ""

    def __repr__(self):
        left = self.saves_left()
        return "SavePolicy(every %s s): %d saves, %d skipped, %s left today, %d erases" % (
            self.every_s,
            self.saves,
            self.skipped,
            "any" if left is None else left,
            self.store.journal.erases,
        )
