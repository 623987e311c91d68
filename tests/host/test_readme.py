# SPDX-License-Identifier: MIT
"""What README.md shows is what happens."""

import re
import subprocess
import sys

import pytest

from acclimate_host.connect import open_board, why_not
from acclimate_host.paths import device_package, repository
from harness.clock import HANG_S

TEXT = (repository() / "README.md").read_text()


def example():
    """(code, the output that README.md shows)."""
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    shown = re.search(r"<!-- ten-lines-output -->\n```text\n(.*?)```", TEXT, re.DOTALL).group(1)
    return code, shown


@pytest.mark.case("J8")
@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_ten_lines_print_what_is_shown_on_micropython():
    code, shown = example()
    with open_board("desktop", path=[device_package().parent]) as board:
        assert board.exec(code) == shown


def test_ten_lines_print_what_is_shown_on_cpython(tmp_path):
    code, shown = example()
    printed = subprocess.check_output(
        [sys.executable, "-c", code], cwd=tmp_path, text=True, timeout=HANG_S
    )
    assert printed == shown


def test_readme_is_short_and_names_no_missing_file():
    assert len(TEXT.splitlines()) < 150
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (repository() / link).exists(), link


@pytest.mark.slow  # after several merges one command puts it right
def test_the_table_of_modules_is_near_what_is_compiled_now():
    command = [sys.executable, repository() / "tools" / "readme_tables.py", "--check"]
    assert subprocess.run(command).returncode == 0, "run: python tools/readme_tables.py"
