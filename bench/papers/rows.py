# SPDX-License-Identifier: MIT
"""The claims of a paper as rows, and what is said of each: ``bench/papers/PAPER.toml``.

A text may hold ``{RESULT:FIELD|FORMAT}``, or arithmetic over such names: it is filled in from the
committed results. ``when`` is a condition over the same names; the verdict stands while it holds.
"""

import ast
import operator
import re
from dataclasses import dataclass

from acclimate_host.cli import COMMANDS
from acclimate_host.figures import read_toml
from acclimate_host.paths import repository
from bench.papers import results

PAPERS = ("poet", "minerva", "training_under_256kb", "edge2train", "thesis")
VERDICTS = ("reproduced", "beaten", "not reached", "cannot", "missing")
_NAME = re.compile(r"\b([a-z][a-z0-9_]*):([A-Za-z0-9_][A-Za-z0-9_.]*)")
_SLOT = re.compile(r"\{([^{}]+)\}")
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
}


@dataclass(frozen=True)
class Row:
    """One claim: where it stands, what it says, what here does it, and what came of it."""

    section: str
    at: str
    claim: str
    here: str
    command: str
    ours: str
    verdict: str
    differs: str = ""
    when: str = ""

    def text(self):
        """All texts that may name results."""
        return " ".join((self.ours, self.differs, "{" + self.when + "}" if self.when else ""))


@dataclass(frozen=True)
class Paper:
    """A paper: its head, sections (number, title, about), rows, and errors found in it."""

    name: str
    head: dict
    sections: tuple
    rows: tuple
    errors: tuple

    @property
    def page(self):
        return repository() / "docs" / "papers" / (self.name.replace("_", "-") + ".md")


def load(name):
    """Return the Paper of a name in PAPERS."""
    data = read_toml(results.FOLDER / (name + ".toml"), ValueError)
    found = []
    for section in data["section"]:
        given = {key: section[key] for key in ("here", "command") if key in section}
        found += [
            Row(section=section["number"], **{**given, **row}) for row in section.get("row", ())
        ]
    errors = tuple((e["at"], e["what"], e["repair"]) for e in data.get("error", ()))
    sections = tuple((s["number"], s["title"], s.get("about", "")) for s in data["section"])
    return Paper(name, data["paper"], sections, tuple(found), errors)


def names_in(text):
    """Return {(result, field)} that the slots of a text name."""
    return {pair for slot in _SLOT.findall(text) for pair in _NAME.findall(slot.split("|")[0])}


def filled(text, find):
    """Return a text with its slots filled.

    :param find: (result, field) -> value; raises KeyError for what was never kept
    """

    def fill(match):
        expression, _, form = match[1].partition("|")
        return format(value(expression, find), form)

    return _SLOT.sub(fill, text)


def value(expression, find):
    """Return the value of arithmetic, comparisons and `and` over names of results."""
    found = []

    def stand_in(match):
        found.append(find(match[1], match[2]))
        return f"v{len(found) - 1}_"

    tree = ast.parse(_NAME.sub(stand_in, expression.strip()), mode="eval").body
    return _value(tree, {f"v{i}_": v for i, v in enumerate(found)})


def _value(node, known):
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return all(_value(part, known) for part in node.values)
    if isinstance(node, ast.Compare):
        parts = [_value(part, known) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, parts, parts[1:], strict=False)
        return all(_OPERATORS[type(op)](a, b) for op, a, b in pairs)
    raise ValueError(f"not arithmetic: {ast.dump(node)}")


def command_fault(command):
    """Return why a command cannot be run, or "" where all that it names is there."""
    words = command.split()
    while words and re.match(r"[A-Z_]+=", words[0]):  # what a shell sets for this command
        words.pop(0)
    if words[:2] == ["make", "bench"]:
        return _module_fault("bench." + words[2].removeprefix("NAME="))
    if words[:2] == ["make", "test"]:
        return _test_fault(command.split("PYTEST_ARGS=")[1].strip('"').split()[0])
    if words[:1] == ["make"]:
        target = words[1] + ":"
        makefile = (repository() / "Makefile").read_text()
        return "" if f"\n{target}" in makefile else f"no target {words[1]}"
    if words[:3] == ["python", "-m", "pytest"]:
        return _test_fault(words[3])
    if words[:2] == ["python", "-m"]:
        return _module_fault(words[2])
    if words[:1] == ["python"]:
        return "" if (repository() / words[1]).exists() else f"no file {words[1]}"
    if words[:1] == ["acclimate"]:
        return "" if words[1] in COMMANDS else f"no command {words[1]}"
    return f"expected make, python or acclimate, got {' '.join(words[:1])}"


def _module_fault(module):
    path = repository() / module.replace(".", "/")
    there = path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    return "" if there else f"no module {module}"


def _test_fault(name):
    file, _, function = name.partition("::")
    path = repository() / file
    if not path.exists():
        return f"no file {file}"
    return "" if f"def {function}" in path.read_text() else f"no test {function} in {file}"


def here_fault(here):
    """Return which of the files "a/b.py, c/d.c" is not there, or ""."""
    gone = [name for name in here.split(", ") if not (repository() / name).exists()]
    return f"no {', '.join(gone)}" if gone else ""
