# SPDX-License-Identifier: MIT
"""What editors and checkers know of the device package, read as they read it."""

import ast
import subprocess
import sys

import pytest

from acclimate_host.connect import merge
from acclimate_host.figures import tomllib
from acclimate_host.paths import repository
from tools import faces

ROOMS = tomllib.loads((repository() / "tests" / "public_names.toml").read_text(encoding="utf-8"))
PROGRAM = """
from array import array

from acclimate.flash import FileFlash
from acclimate.loop import Feedback
from acclimate.net import Net
from acclimate.store import Store, Wanted
from acclimate.svm import SVM

model = SVM(kernel="rbf", gamma=0.5)
model.fit([[20, 0], [60, 9]], [0, 1])
store = Store(FileFlash("capsule.bin", 65536), Wanted(model=7))
labels = model.predict_many(array("b", [20, 0, 60, 9]), bytearray(2))
"""


def functions(room, name):
    """Yield (name, function) of what is public below one public name."""
    module, name = merge.origin(f"acclimate.{room}", name)
    for node in ast.parse(merge.modules()[module].read_text(encoding="utf-8")).body:
        if getattr(node, "name", None) != name:
            continue
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                if inner.name == "__init__" or inner.name[0] != "_":
                    yield f"{module}.{name}.{inner.name}", inner


def untyped(function):
    """Return the names of a function's parameters, and "return", that have no annotation."""
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    found = [p.arg for p in given if p.annotation is None and p.arg != "self"]
    return found + ([] if function.returns else ["return"])


@pytest.mark.parametrize("room", ROOMS)
def test_each_parameter_and_result_of_a_public_function_has_a_type(room):
    found = [item for name in ROOMS[room] for item in functions(room, name)]
    assert {name: untyped(f) for name, f in found if untyped(f)} == {}


def test_an_annotation_that_is_missing_is_seen():
    function = ast.parse("def f(self, a: int, b, *c, d: int, **e): pass").body[0]
    assert untyped(function) == ["b", "c", "e", "return"]


def test_the_faces_that_checkers_read_are_those_of_the_rooms():
    assert faces.main(["--check"]) == 0, "run: python tools/faces.py"


def checked(tmp_path, text):
    """Return the lines of mypy's errors about a program that uses the package."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=repository(), timeout=600, check=False
    )
    errors = [line for line in done.stdout.splitlines() if str(path) in line]
    return [line.partition(": ")[2] for line in errors if ": note: " not in line]


def test_a_program_that_is_right_passes_a_strict_check_and_what_is_wrong_is_told(tmp_path):
    assert checked(tmp_path, "") == []
    wrong = [
        "SVM(kernal='rbf')",
        "model.evaluate([[1, 2]])",
        "Wanted(model='7')",
        "Feedback(2).truth('yes')",
        "Net()",
        "store.save()",
        "store.confirmed()",
    ]
    told = checked(tmp_path, "\n".join(wrong))
    assert len(told) == len(wrong), told
