# SPDX-License-Identifier: MIT
"""What editors read of a native module (`_*.pyi`) is what its C registers, and its twin has."""

import ast
import inspect
import re

import pytest

from acclimate_host.paths import device_package, repository
from acclimate_host.twin import codec, ed25519, frontend, net, svm, xchacha

SOURCES = {path: path.read_text() for path in (repository() / "native_modules").glob("*/*.[ch]")}
NAMED = re.compile(r"^MODULE\(_(\w+),", re.M)
MODULES = {
    NAMED.search(text)[1].removesuffix("_all"): path
    for path, text in SOURCES.items()
    if NAMED.search(text)
}
ARITY = re.compile(r"FUN_OBJ_(?:(\d)|VAR_BETWEEN)\((\w+)_obj, (?:(\d), (\d), )?\w+\)")
TWINS = {
    "codec": codec.Twin,
    "ed25519": ed25519.Twin,
    "frontend": frontend.Twin,
    "net": net.Twin,
    "svm": svm.Twin,
    "xchacha": xchacha.Twin,
}


def registered(path):
    """Return {name: (fewest, most arguments)} of a wrapper, None for a number."""
    around = [text for at, text in SOURCES.items() if at.parent == path.parent]
    arity = {
        found[2]: (int(found[1] or found[3]), int(found[1] or found[4]))
        for text in around
        for found in ARITY.finditer(text)
    }
    text = SOURCES[path]
    names = {name: None for name in re.findall(r"NUMBER\(MP_QSTR_(\w+),", text)}
    return names | {
        name: arity[function]
        for name, function in re.findall(r"OBJECT\(MP_QSTR_(\w+), (\w+)_obj\)", text)
    }


def described(name):
    """Return the same of a stub; a name with several forms takes the fewest and the most."""
    found = {}
    for node in ast.parse((device_package() / f"_{name}.pyi").read_text()).body:
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
        if isinstance(node, ast.FunctionDef):
            few, most = found.get(node.name, (9, 0))
            count = len(node.args.posonlyargs)
            assert not node.args.args and not node.args.kwonlyargs, node.name  # C takes no names
            found[node.name] = (min(few, count - len(node.args.defaults)), max(most, count))
    return found


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_stub_has_the_names_and_arguments_of_its_module(name):
    assert described(name) == registered(MODULES[name])


def test_there_is_a_stub_for_each_native_module():
    stubs = {path.stem.removeprefix("_") for path in device_package().glob("_*.pyi")}
    assert stubs == set(MODULES) and len(stubs) >= 9


@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_twin_takes_what_its_module_takes(name):
    for function, arity in described(name).items():
        twin = getattr(TWINS[name], function, None)
        if twin is None or arity is None:
            continue  # an object with state of its own: the twin has none
        parameters = list(inspect.signature(twin).parameters.values())[1:]
        least = sum(parameter.default is inspect.Parameter.empty for parameter in parameters)
        assert (least, len(parameters)) == arity, function


def test_a_twin_has_what_is_no_object():
    lacking = {
        name: [function for function in described(name) if not hasattr(twin, function)]
        for name, twin in TWINS.items()
    }
    objects = {"svm": ["store", "widen", "model", "predict_many"]}
    assert lacking == {name: [] for name in TWINS} | objects
