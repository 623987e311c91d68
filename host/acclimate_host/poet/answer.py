# SPDX-License-Identifier: MIT
"""What a solve returns, and what it says while it runs."""

import math
from dataclasses import dataclass

from .problem import PlanError


class Infeasible(PlanError):
    """No plan keeps the limits; smallest_ram is the smallest RAM that does, or None."""

    def __init__(self, text, smallest_ram=None, proven=True):
        super().__init__(text)
        self.smallest_ram = smallest_ram
        self.proven = proven


@dataclass(frozen=True)
class Answer:
    """A plan that passed the evaluator, and how good it is proven to be.

    lower_bound: no plan in the given order costs less (J; no plan in any order, where the order
    was free). proven: the gap to it is closed. class_bound: no plan of a class costs less;
    class_proven: the gap to that is closed. space: the plans among which this one is proven to be
    the best, or else those that lower_bound speaks of. verdict: the evaluator's. ended: by its
    "proof", its "time_limit", its "cpu_limit", "interrupted", or with the "search" done.
    """

    plan: tuple
    energy: float
    lower_bound: float
    proven: bool
    verdict: object
    seconds: float
    solver: str
    space: str
    order: tuple = ()
    class_bound: float | None = None
    class_proven: bool = False
    ended: str = ""
    cpu_seconds: float = 0.0

    @property
    def optimality(self):
        """One line for people: optimal, best of a class, or how far off at most."""
        return optimality(self.energy, self)

    @property
    def gap(self):
        """(energy - lower_bound) / energy, never negative."""
        return max(0.0, (self.energy - self.lower_bound) / self.energy) if self.energy else 0.0

    def claim(self):
        """The claim of the file format."""
        return {
            "energy": self.energy,
            "peak_ram": self.verdict.peak_ram,
            "time": self.verdict.serial_time,
            "lower_bound": self.lower_bound,
            "proven": self.proven,
            "class_proven": self.class_proven,
            "space": self.space,
        }


def optimality(energy, outcome):
    """What a plan of that energy is proven to be, in one line.

    outcome: with lower_bound, proven, class_proven and space as an Answer has them. "Optimal"
    speaks of all plans in the given order (or in any, where the order was free).
    """
    if outcome.proven:
        return "proven optimal"
    bound = outcome.lower_bound
    most = 100 * (energy / bound - 1) if bound else math.inf
    above = f"at most {most:.2g} % above any plan" if most < 1e6 else "no bound for any plan"
    if outcome.class_proven:
        return f"best of its class; {above} (class: {outcome.space})"
    return above


@dataclass(frozen=True)
class Progress:
    """State of a running solve; eta_s is a rough guess of the seconds left, or None."""

    phase: str
    seconds: float
    energy: float | None
    lower_bound: float | None
    eta_s: float | None = None

    @property
    def gap(self):
        """Relative gap, or None while either side is missing."""
        if self.energy is None or self.lower_bound is None:
            return None
        return max(0.0, (self.energy - self.lower_bound) / self.energy) if self.energy else 0.0
