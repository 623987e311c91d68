# SPDX-License-Identifier: MIT
"""The methods that the POET paper compares itself with, each in a file, and its own formulation.

A method is a function (graph, budget, clock) -> plan; it raises ``Stuck`` where it has none.
``acclimate_host.poet.methods`` runs them by name and judges their plans.
"""

from bench.papers.poet.capuchin import capuchin
from bench.papers.poet.chen import greedy, keep_all, sqrt_n
from bench.papers.poet.dtr import dtr
from bench.papers.poet.pofo import pofo
from bench.papers.poet.revolve import revolve
from bench.papers.poet.tape import Stuck

METHODS = {
    "keep_all": keep_all,
    "chen_sqrt": sqrt_n,
    "chen_greedy": greedy,
    "revolve": revolve,
    "dtr": dtr,
    "capuchin": capuchin,
    "pofo": pofo,
}

__all__ = ["METHODS", "Stuck"]
