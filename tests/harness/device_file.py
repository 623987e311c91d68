# SPDX-License-Identifier: MIT
"""Run one device test file on one runtime.

A device test is a plain file ``tests/device/test_*.py`` with functions ``test_*()`` that
assert. It runs unchanged everywhere: no pytest, no fixtures. A function that returns a text
is skipped with that text as reason. Comments at the head of the file may say where and how:

    # RUNTIMES = ("cpython", "desktop")         the only runtimes (or families of them)
    # NOT_ON = {"samd21": "needs 40 KB"}        runtimes or families that are left out, and why
    # MIN_HEAP = 60000                          bytes of heap that must be free before import
"""

import ast
import hashlib
import importlib
import importlib.util
import re
import sys

import pytest

from acclimate_host.connect import package
from acclimate_host.errors import AcclimateError, BoardError
from harness.clock import HANG_S
from harness.runtimes import (
    ARCHS,
    BUILT_IN,
    DEVICE_TESTS,
    MODELS,
    ONLY_WITH_NATIVE,
    VARIANTS,
    WITH_FLOATS,
    twins,
)

_HEADER = re.compile(r"^# (RUNTIMES|NOT_ON|MIN_HEAP) = (.*)$", re.MULTILINE)
_CALL = """
import gc
gc.collect()
_skip = _test.%s()
if _skip:
    print("SKIP", _skip)
"""
_DEFAULTS = {"RUNTIMES": (), "NOT_ON": {}, "MIN_HEAP": 0}


class DeviceTestFile:
    """What the host knows of a device test without running it."""

    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.options = dict(_DEFAULTS)
        for name, value in _HEADER.findall(text):
            self.options[name] = ast.literal_eval(value)
        self.functions = [
            node.name
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        self.files = _with_neighbours(path)
        self.natives = package.closure(sources=self.files)[1]

    def left_out(self, runtime):
        """Return why the file does not run on a runtime, or None."""
        if not self.is_for(runtime):
            return "the file is for " + ", ".join(self.options["RUNTIMES"])
        for name in (runtime.name, runtime.family):
            if name in self.options["NOT_ON"]:
                return self.options["NOT_ON"][name]
        return None

    def is_for(self, runtime):
        """Tell whether the file names a runtime, or none at all."""
        only = self.options["RUNTIMES"]
        return not only or runtime.name in only or runtime.family in only

    def applies(self, runtime):
        """Tell whether running here could differ from a runtime that runs it anyway."""
        if runtime.board == BUILT_IN:
            # Modules for float32 are not among them.
            return bool(self.natives) and not self.path.stem.startswith("test_net_float")
        if runtime.board in VARIANTS:
            return self.path.stem in WITH_FLOATS
        return bool(self.natives) or runtime.name not in ONLY_WITH_NATIVE


def _with_neighbours(path):
    """Return the file and what it imports of the tests' own files and models, directly or not."""
    done, todo = [], [path]
    while todo:
        current = todo.pop()
        done.append(current)
        for node in ast.walk(ast.parse(current.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                beside = [folder / (name + ".py") for folder in (DEVICE_TESTS, MODELS)]
                todo += [path for path in beside if path.exists() and path not in done + todo]
    return tuple(done)


class HostRun:
    """The file in this CPython, with a package of its own, pure or with the twins."""

    def __init__(self, file, runtime, _boards):
        self.file = file
        self.name = file.path.stem
        self.saved = _take_package()
        try:
            self._prepare(runtime)
        except BaseException:
            self.close()  # or each test that follows has another package than it imported
            raise

    def _prepare(self, runtime):
        file = self.file
        if runtime.native:
            for name in twins(file.natives):
                importlib.import_module("acclimate_host.twin." + name)
        # By its path: a test of the host may have the same name, and is not it.
        spec = importlib.util.spec_from_file_location("device_" + self.name, file.path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def call(self, function):
        skipped = getattr(self.module, function)()
        if isinstance(skipped, str):
            pytest.skip(skipped)

    def close(self):
        _take_package()
        for neighbour in self.file.files:
            sys.modules.pop(neighbour.stem, None)
        sys.modules.update(self.saved)


def _take_package():
    """Remove the device package and the twins from sys.modules; return what was removed."""
    names = [
        name
        for name in sys.modules
        if name.partition(".")[0] == "acclimate" or name.startswith("acclimate_host.twin.")
    ]
    return {name: sys.modules.pop(name) for name in names}


class BoardRun:
    """The file on a board: copied as bytecode, each function called on its own."""

    def __init__(self, file, runtime, boards):
        self.file, self.runtime, self.boards = file, runtime, boards
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self):
        self.board, copied = self.boards.get(self.runtime.board)
        self.board.soft_reset()
        _synchronise(self.board, copied, self._files())
        self.board.soft_reset()
        need = self.file.options["MIN_HEAP"]
        free = int(self.board.exec("import gc\ngc.collect()\nprint(gc.mem_free())"))
        if free < need:
            pytest.skip(f"needs {need} bytes of heap, {self.runtime.name} has {free}")
        self.board.exec(f"import {self.file.path.stem} as _test", HANG_S)

    def _files(self):
        arch = ARCHS.get(self.runtime.board)
        if self.runtime.board == "circuitpython":
            return self._circuitpython_files()
        if self.runtime.board == BUILT_IN:
            return self._own_files()
        built = package.build(arch, sources=self.file.files, pure=not self.runtime.native)
        if not self.runtime.native:
            built.pop("_manifest.mpy", None)
        root = self.board.root.rstrip("/")
        wanted = {f"{self.board.lib}/acclimate/{name}": data for name, data in built.items()}
        for path in self.file.files:
            data = package.compile_file(path, path.name, arch)
            wanted[f"{root}/{path.stem}.mpy"] = data
        return wanted

    def _own_files(self):
        """The test's files only: the package is frozen, with sub-packages as in the sources."""
        root = self.board.root.rstrip("/")
        return {
            f"{root}/{path.stem}.mpy": package.compile_source(path.read_bytes(), path.name)
            for path in self.file.files
        }

    def _circuitpython_files(self):
        compiler = package.circuitpython_compiler()
        built = package.build_circuitpython(sources=self.file.files, compiler=compiler)
        wanted = {f"{self.board.lib}/acclimate/{name}": data for name, data in built.items()}
        for path in self.file.files:
            name, data = path.name, package.program_text(path)
            if compiler:
                name, data = path.stem + ".mpy", package.compile_source(data, name, None, compiler)
            wanted[f"{self.board.root}/{name}"] = data
        return wanted

    def call(self, function):
        if self.board is None:
            self._prepare()
        try:
            output = self.board.exec(_CALL % function, HANG_S)
        except BoardError as error:
            pytest.fail(f"{self.runtime.name}: {error.output}{error.traceback}", pytrace=False)
        except AcclimateError as error:
            self.boards.drop(self.runtime.board)
            self.board = None
            more = getattr(error, "registers", "") or getattr(error, "output", "")
            pytest.fail(f"{self.runtime.name}: {error}\n{more}", pytrace=False)
        last = (output.strip().splitlines() or [""])[-1]
        if last.startswith("SKIP "):
            pytest.skip(last[5:])
        print(output, end="")

    def close(self):
        """The board stays for the next file, asleep."""
        self.boards.rest(self.runtime.board)


def _synchronise(board, copied, wanted):
    """Make the board hold exactly the wanted files, among those copied by the harness."""
    old = [path for path in copied if path not in wanted]
    if old:
        board.exec("import os\nfor path in %r:\n os.remove(path)" % (old,))
    for path in old:
        del copied[path]
    if not copied:
        board.mkdir(board.lib + "/acclimate")
    for path, data in wanted.items():
        digest = hashlib.sha256(data).digest()
        if copied.get(path) != digest:
            board.put_bytes(data, path)
            copied[path] = digest
