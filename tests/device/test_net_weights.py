# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files and _net_all fill 32 KB; test_net_fast_boards.py"}
# TIMEOUT_S = 120
"""Trained input channels of every kind of layer, with momentum."""

import net_checks
import net_vectors_weights as v


def test_training_weights_gives_the_reference_s_bytes():
    net_checks.check_training(v)


def test_a_generator_may_stop_anywhere():
    net_checks.check_generator(v)
