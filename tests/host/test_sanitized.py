# SPDX-License-Identifier: MIT
"""The C core of the SVM under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import subprocess
import sys

import pytest

from acclimate_host.paths import built, repository

ROOT = repository()
LIBRARY = built("sanitized", "libacclimate_svm.so")


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_model_trains_and_predicts_without_a_report(seed):
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY.name} with sanitizers is not built; run: make sanitized")
    program = ROOT / "tests" / "harness" / "sanitized_svm.py"
    path = os.pathsep.join([str(ROOT / "device"), str(ROOT / "host")])
    done = subprocess.run(
        [ROOT / "tools" / "sanitized.sh", sys.executable, program, LIBRARY, str(seed)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and "clean" in done.stdout, done.stdout + done.stderr[-3000:]
