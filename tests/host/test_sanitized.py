# SPDX-License-Identifier: MIT
"""The C cores under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import subprocess
import sys

import pytest

from acclimate_host.paths import built, repository
from harness.clock import HANG_S

ROOT = repository()


def run(core, *arguments):
    library = built("sanitized", f"libacclimate_{core}.so")
    if not library.exists():
        pytest.skip(f"{library.name} with sanitizers is not built; run: make sanitized")
    program = ROOT / "tests" / "harness" / f"sanitized_{core}.py"
    path = os.pathsep.join([str(ROOT / "device"), str(ROOT / "host")])
    done = subprocess.run(
        [ROOT / "tools" / "sanitized.sh", sys.executable, program, library, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0 and "clean" in done.stdout, done.stdout + done.stderr[-3000:]


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_model_trains_and_predicts_without_a_report(seed):
    run("svm", str(seed))


@pytest.mark.parametrize("seed", range(3))
def test_core_of_updates_gives_what_python_gives_without_a_report(seed):
    run("codec", str(seed))


@pytest.mark.parametrize("seed", range(2))
def test_smallest_solver_trains_without_a_report(seed):
    run("svm_linear", str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_networks_train_and_damaged_programs_fail_without_a_report(seed):
    run("net", str(seed), "8")


def test_signatures_are_verified_without_a_report():
    run("ed25519", "0")


def test_encrypted_pages_are_opened_without_a_report():
    run("xchacha", "0")


def test_front_end_takes_damaged_tables_without_a_report():
    run("frontend", "0")
