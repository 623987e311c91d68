# SPDX-License-Identifier: MIT
"""A worker that dies costs the test in which it died, and no other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from harness import workers
def pytest_xdist_make_scheduler(config, log):
    return workers.scheduler(config, log)
"""


def _run(folder, **files):
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text("import os\n" + text)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'host'}"}
    run = subprocess.run(
        [*command, "--rootdir", folder, folder],
        capture_output=True,
        text=True,
        timeout=100,
        env=environment,
    )
    return run.stdout.splitlines()[-1]


def _many(name, count):
    return "".join(f"def test_{name}{i}(): pass\n" for i in range(count))


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_the_run_ends(tmp_path):
    files = {f"f{i}": _many("a", 3 + i % 3) for i in range(9)}
    dies = "def test_dies(): os.abort()\n" + _many("after", 1)  # few tests: begun last
    last = _run(tmp_path, dies=dies, **files)
    assert "1 failed, 37 passed" in last


@pytest.mark.slow
def test_two_deaths_and_groups_of_one_test(tmp_path):
    files = {f"f{i}": _many("a", 1) for i in range(7)}
    files |= {f"dies{i}": "def test_dies(): os.abort()\n" for i in range(2)}
    last = _run(tmp_path, **files)
    assert "2 failed, 7 passed" in last


@pytest.mark.slow
def test_a_death_after_the_other_worker_has_ended(tmp_path):
    dies = "import time\ndef test_dies(): time.sleep(3); os.abort()\n" + _many("after", 1)
    last = _run(tmp_path, a=dies, b=_many("b", 2), c=_many("c", 1), d=_many("d", 1))
    assert "1 failed, 5 passed" in last
