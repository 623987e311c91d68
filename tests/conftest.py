# SPDX-License-Identifier: MIT
"""Collect the device tests once for every runtime, and offer boards to the host tests.

With several workers (``-n 2``, pytest-xdist) all that runs on one emulated board stays together in
one of them, and so do the tests of one file, which share their fixtures.
"""

import gc
import os
from pathlib import Path

import pytest

from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import AcclimateError, BoardError
from harness import runtimes, workers
from harness.device_file import BoardRun, DeviceTestFile, HostRun

# Before anything imports NumPy: threads of a matrix product wait for each other where workers, or
# others, have the cores; the small products of these tests then take twice to four times as long.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

_boards = runtimes.Boards()
_not_run = {}  # (runtime, reason) -> files, for the summary


def pytest_addoption(parser):
    parser.addoption(
        "--runtime",
        action="append",
        metavar="NAME",
        choices=runtimes.NAMES,
        help="run device tests on this runtime only; may be repeated",
    )


def pytest_pycollect_makemodule(module_path, parent):
    gc.freeze()  # modules load the device package, which collects garbage: not what is there yet
    if module_path.parent == runtimes.DEVICE_TESTS:
        return DeviceFile.from_parent(parent, path=module_path)
    return None


class DeviceFile(pytest.File):
    """A device test file; its items are grouped by runtime."""

    def collect(self):
        self.description = DeviceTestFile(self.path)
        chosen = self.config.getoption("--runtime")
        for runtime in runtimes.RUNTIMES:
            if chosen and runtime.name not in chosen:
                continue
            if not self.description.applies(runtime):
                continue
            if not chosen and not self.description.is_for(runtime):
                continue  # a skipped item each would only take time
            group = RuntimeGroup.from_parent(self, name=runtime.name)
            group.runtime = runtime
            yield group


class RuntimeGroup(pytest.Collector):
    """The functions of one file on one runtime; they share one start of the board."""

    runtime = None

    def collect(self):
        self.run = None
        self.not_here = None
        for name in self.parent.description.functions:
            item = DeviceItem.from_parent(self, name=f"{name}[{self.runtime.name}]")
            item.function_name = name
            if self.runtime.is_slow(self.path.stem):
                item.add_marker("slow")
            yield item

    def start(self):
        """Return the run, made at the first call; skip or fail as the rules say."""
        if self.not_here:
            self.not_here()
        if self.run is None:
            try:
                self.run = self._start()
            except BaseException as error:
                self.not_here = _again(error)
                raise
        return self.run

    def _start(self):
        file, runtime = self.parent.description, self.runtime
        reason = file.left_out(runtime)
        if reason is None:
            reason = runtimes.unavailable(runtime, file.natives)
            if reason and runtimes.must_run() and workers.is_emulated(runtime):
                pytest.fail(f"{runtime.name} must run in CI: {reason}", pytrace=False)
        if reason:
            pytest.skip(reason)
        try:
            return (BoardRun if runtime.board else HostRun)(file, runtime, _boards)
        except BoardError as error:
            pytest.fail(f"{runtime.name}: {error.output}{error.traceback}", pytrace=False)
        except AcclimateError:
            _boards.drop(runtime.board)
            raise

    def teardown(self):
        if self.run is not None:
            self.run.close()
            self.run = None


def _again(error):
    def raise_again():
        raise error

    return raise_again


class DeviceItem(pytest.Item):
    """One function on one runtime."""

    function_name = None

    def runtest(self):
        self.parent.start().call(self.function_name)

    def reportinfo(self):
        return self.path, None, f"{self.path.stem}::{self.name}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return workers.scheduler(config, log)


_file = [None]


def pytest_runtest_setup(item):
    """The device package collects garbage often: it need not look at what is there before a file.

    That is what the tests were collected from, and what files before loaded, as solvers are.
    """
    if item.path != _file[0]:
        _file[0] = item.path
        gc.collect()
        gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if isinstance(item, DeviceItem) and report.skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped")
        # An attribute of the report travels from the worker to the one that prints.
        report.not_run = (item.parent.runtime.name, reason.removeprefix("Skipped: "))


def pytest_runtest_logreport(report):
    if hasattr(report, "not_run"):
        _not_run.setdefault(tuple(report.not_run), {})[Path(report.location[0]).name] = True


def pytest_terminal_summary(terminalreporter):
    if not _not_run:
        return
    terminalreporter.section("device tests that did not run")
    for (runtime, reason), files in sorted(_not_run.items()):
        terminalreporter.line(f"{runtime}: {reason} ({', '.join(sorted(files))})")


def pytest_unconfigure():
    _boards.close()


@pytest.fixture(params=["desktop", *runtimes.EMULATED])
def runtime(request):
    """An open board of its own for a host test, once for each kind that runs here."""
    reason = why_not(request.param)
    if reason and runtimes.must_run():
        pytest.fail(f"{request.param} must run in CI: {reason}")
    if reason:
        pytest.skip(f"{request.param}: {reason}")
    with open_board(request.param) as board:
        yield board
