# SPDX-License-Identifier: MIT
"""Every user case has tests, every test that is named is there, and the page says the same."""

import ast
from pathlib import Path

import pytest

from acclimate_host.boards import tomllib
from harness.device_file import DeviceTestFile

TESTS = Path(__file__).resolve().parents[1]
INDEX = tomllib.loads((TESTS / "user_cases.toml").read_text(encoding="utf-8"))
# The numbers that are in use; those between them were given up.
KNOWN = {
    "A": (1, 2, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18),
    "B": (1, 2, 3, 4, 6, 7, 8, 9, 10),
    "C": (1, 3, 4, 5, 6, 7, 8, 10, 11),
    "D": (1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16),
    "E": (1, 2, 3, 4, 6, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20),
    "F": (1, 3, 4),
    "G": (1, 3, 4, 6, 7, 8, 9),
    "H": (2, 3, 4, 5, 7, 8),
    "I": (2, 3, 5, 6, 8, 10, 11, 12, 13, 14),
    "J": (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    "K": (1, 2, 4, 5, 6, 7, 8, 9, 10),
    "L": (1, 3, 4, 5, 6, 7, 8),
}


def test_every_known_case_is_in_the_index_and_no_other():
    assert list(INDEX) == [f"{part}{n}" for part, numbers in KNOWN.items() for n in numbers]


@pytest.mark.parametrize("name", INDEX)
def test_a_case_is_described_and_its_tests_are_there(name):
    case = INDEX[name]
    assert set(case) <= {"symptom", "here", "reports", "tests"} and case["tests"]
    for text in (case["symptom"], case["here"]):
        assert 10 <= len(text) <= 100 and not text.endswith("."), text
    for report in case.get("reports", ()):
        repository, _, number = report.partition("#")
        assert repository.count("/") == 1 and number.isdigit(), report
    for test in case["tests"]:
        file, _, function = test.partition("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        found = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        assert function in [n.name for n in found], test


def test_device_tests_of_the_index_run_on_some_runtime():
    for case in INDEX.values():
        for test in case["tests"]:
            file, _, function = test.partition("::")
            if file.startswith("device/"):
                assert function in DeviceTestFile(TESTS / file).functions, test


def test_the_page_is_made_of_the_index():
    from tests import user_cases

    assert user_cases.PAGE.read_text(encoding="utf-8") == user_cases.page(), (
        "run: python -m tests.user_cases"
    )
