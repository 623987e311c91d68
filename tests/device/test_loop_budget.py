# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the loop, the budget and their test fill 32 KB"}
"""The closed loop: joules a day, microseconds a call, and what a training took."""

from loop_models import make, refused, rows

from acclimate import energy
from acclimate import loop as loop_module
from acclimate.energy import EnergyBudget


def test_only_times_are_spent():
    budget = EnergyBudget(joules=1, watts=1, day=lambda: 1)
    for us in (-5, float("nan"), float("inf"), -1e-9):
        refused(("us", "expected"), budget.spend, us)
        assert budget.used == 0 and budget.may_train()
    budget.spend(0)
    budget.spend(0.5)
    assert budget.used > 0


class Clock:
    """Ticks that rise by `step` at each look."""

    def __init__(self, step):
        self.now, self.step = 0, step

    def __call__(self):
        self.now = (self.now + self.step) & ((1 << 30) - 1)
        return self.now


def drifted(loop, count=8):
    """Let the loop meet rows that its model gets wrong."""
    for k in range(count):
        loop.sense(rows(90 + k % 4))
        loop.observe(0)
        loop.sense(rows(120))
        loop.observe(1)
    return loop


def with_clock(test, step=1000):
    """Run a test with a clock of its own, in microseconds."""
    kept = loop_module.ticks_us
    loop_module.ticks_us = Clock(step)
    try:
        test()
    finally:
        loop_module.ticks_us = kept


def test_what_a_training_took_is_told():
    def check():
        loop = drifted(make())
        trainer = loop.trainer
        assert trainer.spent_ms == 0
        assert loop.run_idle() in ("kept", "discarded")
        pieces = 2 + trainer.steps + trainer.tested + 1  # start, the end of training, the verdict
        assert trainer.longest_us == 1000 and trainer.spent_ms == pieces

    with_clock(check)


def test_idle_keeps_to_the_microseconds_that_it_is_given():
    def check():
        loop = drifted(make())
        assert loop.idle() is None and loop.trainer.spent_ms == 1  # one piece
        loop.idle(limit_us=8000)
        assert 2 <= loop.trainer.spent_ms <= 5  # each look at the clock takes 1 ms here
        calls = 0
        while loop.idle(limit_us=8000) is None and loop.trainer.busy():
            calls += 1
        assert calls < loop.trainer.spent_ms - 4 and not loop.trainer.busy()

    with_clock(check)


def test_a_day_s_joules_end_the_training_until_the_next_day():
    def check():
        day = [5]
        budget = EnergyBudget(1.0, 100.0, day=lambda: day[0])
        loop = drifted(make(budget=budget))
        assert loop.run_idle() in ("kept", "discarded")
        took = loop.trainer.spent_ms * 0.1  # J: 100 W for so many ms
        assert abs(budget.used - took) < 1e-3 * took and took > 0.5
        drifted(loop)
        assert loop.run_idle() is None and not loop.trainer.busy()  # the rest is not enough
        day[0] = 6
        assert loop.trainer.wanted()
        assert loop.run_idle() in ("kept", "discarded", None)

    with_clock(check)


def test_a_budget_without_a_calendar_begins_a_day_every_24_hours():
    kept = energy.ticks_ms
    energy.ticks_ms = clock = Clock(0)
    try:
        clock.now = (1 << 30) - 1000
        budget = EnergyBudget(1.0, 1.0)
        assert budget.may_train()
        budget.spend(900000)
        assert not budget.may_train()
        clock.now = 86400000 - 1001 - 1000  # the ticks have started again from 0
        assert not budget.may_train()
        clock.now += 2002
        assert budget.may_train() and budget.used == 0
    finally:
        energy.ticks_ms = kept


def test_what_counts_is_the_dearest_training_not_their_sum():
    budget = EnergyBudget(joules=10, watts=1, day=lambda: 1)
    for _ in range(3):
        assert budget.may_train()
        for _ in range(2):
            budget.spend(1000000)  # 2 J in two pieces
    assert budget.may_train() and budget.used == 6  # 4 J are left
    budget.spend(2500000)
    assert not budget.may_train()  # 1.5 J are left, the dearest took 2.5


def test_budgets_that_say_nothing_are_refused():
    for joules, watts in ((0, 1), (-1, 1), (1, 0), (float("nan"), 1), (1, float("inf"))):
        refused(("joules, watts",), EnergyBudget, joules, watts)
