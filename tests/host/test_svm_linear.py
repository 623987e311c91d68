# SPDX-License-Identifier: MIT
"""The smallest solver: the numbers of the full one, and buffers that it refuses."""

import random
from array import array

import pytest

from acclimate.svm import parameters as p
from acclimate_host.paths import built
from harness.linear_core import LinearCore, compare, words

LIBRARY = built("twin", "libacclimate_svm_linear.so")
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="make twin has not built the core")


@pytest.mark.parametrize("seed", range(4))
def test_state_weights_and_decisions_are_those_of_the_python_solver(seed):
    core, generator = LinearCore(LIBRARY), random.Random(seed)
    for _ in range(60):
        compare(core, generator)


def problem(n=4, d=3):
    par = array("i", [0] * p.PAR_COUNT)
    p.fill_fixed(par, d, 0, p.LINEAR, 1.0, 1.0, 1e-3, 100, 1.0, 0.0, 3)
    x = array("b", range(n * d))
    rows = array("h", [k if k % 2 else ~k for k in range(n)])
    return [array("i", [7] * words(n, 2)), x, rows, par]


def shorter(array_, count):
    return array_[: len(array_) - count]


@pytest.mark.parametrize("which", range(4))
def test_a_buffer_that_is_too_small_is_refused_and_left_alone(which):
    core, buffers = LinearCore(LIBRARY), problem()
    buffers[which] = shorter(buffers[which], 1)
    if which == 2:
        buffers[which][0] = 4  # a row that is not there
    before = [bytes(b) for b in buffers]
    assert core.call(*buffers) == p.BAD_ARGUMENT
    assert [bytes(b) for b in buffers] == before


def test_widths_rows_and_weights_out_of_range_are_refused():
    core = LinearCore(LIBRARY)
    for change in (("par", 0, 0), ("par", 0, 40000), ("rows", 1, -9)):
        buffers = problem()
        buffers[3 if change[0] == "par" else 2][change[1]] = change[2]
        assert core.call(*buffers) == p.BAD_ARGUMENT
    buffers = problem()
    assert core.call(*buffers) == p.RUNNING
    assert core.call(*buffers, None, array("i", [0] * 3)) == p.BAD_ARGUMENT
    none = problem()
    none[2] = array("h")
    none[1] = array("b", [0])
    assert core.call(*none[:2], bytearray(1), none[3]) == p.BAD_ARGUMENT
