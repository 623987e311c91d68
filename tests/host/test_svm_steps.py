# SPDX-License-Identifier: MIT
"""No step of a training takes longer than 50 ms may, counted on emulated boards."""

import os

import pytest

from acclimate_host.connect import why_not
from acclimate_host.paths import built, repository

pytest.importorskip("sklearn")

# 50 ms at 64 MHz on the M4F, at 48 MHz and slower code memory on the M0.
LIMIT = {"nrf52840": 2_500_000, "samd21": 1_500_000}


@pytest.mark.slow
@pytest.mark.case("G7")
@pytest.mark.parametrize("name", ["m4f", "m4f_float32_rbf", "m4f_python", "m0"])
def test_longest_step_stays_below_fifty_milliseconds(name, monkeypatch):
    monkeypatch.syspath_prepend(str(repository()))
    from bench import svm_steps

    case = {one.name: one for one in svm_steps.cases()}[name]
    reason = why_not(case.board)
    if reason is None and not built("native", case.arch, "_svm.mpy").exists():
        reason = "make native has not built the core"
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    found = svm_steps.run(case)
    assert found["converged"]
    assert 0 < found["max_instructions"] <= LIMIT[case.board], found
