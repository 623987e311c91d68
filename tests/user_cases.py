# SPDX-License-Identifier: MIT
"""The tests of each user case:   python -m tests.user_cases   (fills in docs/user_cases.md)

The page says what people met and what happens here. Its last column is made of the tests: of
``@pytest.mark.case("A1")``, and of ``# case: A1`` behind the ``def`` of a device test, which
knows no pytest.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "user_cases.md"
_ROW = re.compile(r"^\| ([A-Z]\d+) \|", re.MULTILINE)
_COMMENT = re.compile(r"^def (\w+)\(.*# case: (.+)$", re.MULTILINE)


def listed():
    """Return the names of the cases of the page, in its order."""
    return _ROW.findall(PAGE.read_text(encoding="utf-8"))


def tests():
    """Return ``{case: [file::function]}`` of all tests that name a case."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for function, cases in _named_in(path.read_text(encoding="utf-8")):
            for case in cases:
                found.setdefault(case, []).append(f"{path.name}::{function}")
    return found


def _named_in(text):
    """Yield (function, cases) of a test file."""
    for node in ast.parse(text).body:
        for mark in getattr(node, "decorator_list", ()):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case":
                yield node.name, [case.value for case in mark.args]
    for function, cases in _COMMENT.findall(text):
        yield function, cases.split(", ")


def page():
    """Return the text of the page with the tests of now."""
    found, lines = tests(), []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = _ROW.match(line)
        if row:
            names = "<br>".join(f"`{name}`" for name in found.get(row[1], ()))
            line = line[: line.rindex(" | ")] + f" | {names} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
