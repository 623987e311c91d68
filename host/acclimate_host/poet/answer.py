# SPDX-License-Identifier: MIT
"""What a solve returns, and what it says while it runs."""

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

    lower_bound: no plan of the same plan space costs less (J). proven: the gap is closed.
    space: what the bound speaks of, in words. verdict: the evaluator's.
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
        }


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
