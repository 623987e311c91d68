# SPDX-License-Identifier: MIT
"""The package must import and train on CircuitPython, which loads no native code.

Two checks: a static one (every unguarded import exists on CircuitPython and names only what its
stubs export) and a running one, on the interpreter that CIRCUITPYTHON names.
"""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from acclimate_host.connect import package
from acclimate_host.connect.drive import install_drive
from harness.runtimes import no_circuitpython, open_circuitpython

ROOT = Path(__file__).resolve().parents[2]
DEVICE = ROOT / "device" / "acclimate"

# Modules that CircuitPython documents as its subset of the standard library; the stubs package
# describes the rest.
STANDARD = {
    "array",
    "asyncio",
    "binascii",
    "builtins",
    "collections",
    "errno",
    "gc",
    "io",
    "json",
    "math",
    "os",
    "random",
    "re",
    "select",
    "struct",
    "sys",
    "time",
}

USE = """
from acclimate.svm import SVM
X = [[0, 0], [0, 1], [1, 0], [1, 1]]
m = SVM(kernel="rbf", C=100, gamma=1.0)
m.fit(X, [0, 1, 1, 0])
print([m.predict(r) for r in X])
m.save(PATH)
print([SVM.load(PATH).predict(r) for r in X])
"""


def guarded(tree):
    """Import nodes inside `try: ... except ImportError` or any function (called on demand)."""
    safe = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(
            h.type is None or "Import" in ast.dump(h.type) or "Exception" in ast.dump(h.type)
            for h in node.handlers
        ):
            safe.update(id(n) for part in node.body for n in ast.walk(part))
    return safe


def stub_names(module):
    """Names exported by the stub of a module, or None when there is no stub."""
    spec = importlib.util.find_spec("circuitpython_setboard")
    if spec is None or spec.origin is None:
        pytest.skip("circuitpython-stubs is not installed (pip install acclimate[test])")
    stub = Path(spec.origin).parents[1] / (module.split(".")[0] + "-stubs") / "__init__.pyi"
    if not stub.exists():
        return None
    # The stubs use syntax of the newest Python, so they are not parsed but searched.
    return set(re.findall(r"^(?:def |class )?(\w+)", stub.read_text(), re.MULTILINE))


# Drivers of one firmware, imported only where open_flash has found its module.
DRIVERS = {
    "esp32.py": {"esp32"},
    "nrf.py": {"nrf"},
    "romfs.py": {"uctypes"},
    "samd.py": {"machine", "uctypes"},
}


def unknown_imports(path):
    """Unguarded imports of a device file that CircuitPython does not have."""
    tree = ast.parse(path.read_text())
    safe = guarded(tree)
    bad = []
    for node in ast.walk(tree):
        if id(node) in safe or not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Import):
            wanted = [(a.name, ()) for a in node.names]
        else:
            wanted = [(node.module or "", [a.name for a in node.names])]
        for module, names in wanted:
            top = module.split(".")[0]
            if getattr(node, "level", 0) or top == "acclimate" or top in STANDARD:
                continue
            if top in DRIVERS.get(path.name, ()):
                continue
            have = stub_names(module)
            if have is None:
                bad.append("%s:%d %s" % (path.name, node.lineno, module))
            else:
                bad.extend(
                    "%s:%d %s.%s" % (path.name, node.lineno, module, n)
                    for n in names
                    if n not in have
                )
    return bad


@pytest.mark.case("K2")
@pytest.mark.parametrize(
    "path", sorted(DEVICE.rglob("*.py")), ids=lambda p: str(p.relative_to(DEVICE))
)
def test_every_unguarded_import_exists_on_circuitpython(path):
    assert unknown_imports(path) == []


def test_static_check_finds_a_micropython_only_module(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("import machine\nfrom micropython import no_such_name\n")
    assert len(unknown_imports(bad)) == 2


@pytest.mark.case("A15")
@pytest.mark.parametrize("kind", ["sources", "bytecode"])
def test_a_drive_trains_saves_and_loads(kind, tmp_path, monkeypatch):
    if no_circuitpython():
        pytest.skip(no_circuitpython())
    if kind == "sources":
        monkeypatch.setattr(package, "circuitpython_compiler", lambda: None)
    elif package.circuitpython_compiler() is None:
        pytest.skip("no mpy-cross of CircuitPython")
    (tmp_path / "boot_out.txt").write_text("Adafruit CircuitPython 10.0.0")
    install_drive(tmp_path, ["svm"])
    with open_circuitpython(root=tmp_path) as board:
        answers = board.exec(USE.replace("PATH", repr(str(tmp_path / "m.svm"))))
    assert answers.splitlines() == ["[0, 1, 1, 0]", "[0, 1, 1, 0]"]
