# SPDX-License-Identifier: MIT
"""What the small machine refuses by name instead of going on for ever."""

from raised import fails

from acclimate.svm.small import SVM


def test_settings_that_are_no_finite_numbers_above_zero():
    for name in ("C", "tol", "max_iter"):
        for value in (0, -1, float("inf"), float("nan"), "1", None):
            fails((name, "> 0"), lambda n, v: SVM(**{n: v}), name, value)
