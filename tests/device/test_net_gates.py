# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""Products, functions and moved elements, forward and backward, on every board."""

from acclimate import _native

_native.load("net")  # the largest block first

import net_checks  # noqa: E402
import net_vectors_gates as v  # noqa: E402


def test_predictions_are_the_reference_s():
    net_checks.check_predictions(v)


def test_training_through_gates_gives_the_reference_s_bytes():
    net_checks.check_training(v)
