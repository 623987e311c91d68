# SPDX-License-Identifier: MIT
"""The index of user cases as a page:   python -m tests.user_cases   (writes docs/user_cases.md)"""

from pathlib import Path

from acclimate_host.boards import tomllib

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "tests" / "user_cases.toml"
PAGE = ROOT / "docs" / "user_cases.md"
PARTS = {
    "A": "Native modules, versions, installing",
    "B": "Memory",
    "C": "Downloads and radio",
    "D": "Power and flash",
    "E": "Updates",
    "F": "ROMFS",
    "G": "Serial lines",
    "H": "Numbers",
    "I": "Support vector machines",
    "J": "Training networks",
    "K": "Runtimes and cards",
    "L": "The planner's solvers",
}
HEAD = """\
# User cases

What people reported elsewhere, what happens here, and the tests that show it. A report without a
link is one that we met ourselves. This page is made from `tests/user_cases.toml` by
`python -m tests.user_cases`; a test holds both together.
"""


def load():
    """Return {case: {symptom, here, reports, tests}} in the order of the file."""
    return tomllib.loads(INDEX.read_text(encoding="utf-8"))


def _link(report):
    repository, _, number = report.partition("#")
    return f"[{report}](https://github.com/{repository}/issues/{number})"


def page():
    """Return the text of the page."""
    lines, part = [HEAD], ""
    for name, case in load().items():
        if name[0] != part:
            part = name[0]
            lines.append(
                f"\n## {part}. {PARTS[part]}\n\n| | seen elsewhere | here | tests |\n"
                "| --- | --- | --- | --- |"
            )
        reports = ", ".join(_link(report) for report in case.get("reports", ()))
        seen = f"{case['symptom']} ({reports})" if reports else case["symptom"]
        tests = "<br>".join(f"`{test.partition('/')[2]}`" for test in case["tests"])
        lines.append(f"| {name} | {seen} | {case['here']} | {tests} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
