# SPDX-License-Identifier: MIT
"""What the tests stand on: groups for workers, boards at rest, clocks, and checks of errors."""

import sys
from pathlib import Path

import pytest

from acclimate_host.connect import why_not
from harness import runtimes, workers
from harness.clock import Clock, cpu_seconds, let_work, wait_until
from harness.device_file import DeviceTestFile, HostRun
from harness.errors import because, naming


def test_one_worker_has_all_of_an_emulated_board_and_all_of_a_file():
    on_board = [
        f"tests/device/{file}::{runtime}::test_a[{runtime}]"
        for file in ("test_x.py", "test_y.py")
        for runtime in ("nrf52840", "nrf52840-pure")
    ]
    assert {workers.scope(nodeid) for nodeid in on_board} == {"nrf52840"}
    assert workers.scope("tests/device/test_x.py::cpython::test_a[cpython]") == (
        "tests/device/test_x.py"
    )
    assert workers.scope("tests/host/test_z.py::test_b[nrf52840]") == "tests/host/test_z.py"


def _state(board):
    return Path(f"/proc/{board.emulator.process.pid}/stat").read_text().rpartition(")")[2][1]


def test_a_board_that_no_test_uses_does_not_run():
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    boards = runtimes.Boards()
    try:
        board, _ = boards.get("samd21")
        boards.rest("samd21")
        wait_until(lambda: _state(board) == "T")
        assert boards.get("samd21")[0] is board
        assert board.exec("print(6 * 7)") == "42\n" and _state(board) != "T"
    finally:
        boards.close()


def test_slow_is_what_runs_python_or_a_second_firmware_in_an_emulator():
    pure = {
        "nrf52840-pure",
        "samd21-pure",
        "rp2350",
        "stm32f767",
        "esp32-pure",
        "nrf52840-natives",
    }
    for file, slow in (("test_svm_basic", pure), ("test_delta", pure | set(runtimes.QUICK))):
        assert {r.name for r in runtimes.RUNTIMES if r.is_slow(file)} == slow


def test_a_device_test_that_cannot_be_imported_leaves_the_package_as_it_was(tmp_path):
    from acclimate import _native

    file = tmp_path / "test_broken.py"
    file.write_text("from acclimate.net import Net, of_another_release\n")
    twin = next(runtime for runtime in runtimes.RUNTIMES if runtime.name == "cpython-twin")
    with pytest.raises(ImportError, match="of_another_release"):
        HostRun(DeviceTestFile(file), twin, None)
    assert sys.modules["acclimate._native"] is _native


@pytest.mark.parametrize("have, missed", [(["_svm"], 0), (["_svm_linear"], 0), (["_net"], 1)])
def test_variants_of_a_native_module_stand_for_each_other(have, missed, monkeypatch):
    monkeypatch.setattr(runtimes, "why_not", lambda name: None)
    monkeypatch.setattr(runtimes.package, "natives", lambda arch: dict.fromkeys(have))
    esp32 = next(runtime for runtime in runtimes.RUNTIMES if runtime.name == "esp32")
    wanted = ["_svm_q16"] if have == ["_svm"] else ["_svm"]
    reason = runtimes.unavailable(esp32, wanted)
    assert (reason is not None) == missed and (not missed or "_svm" in reason)


def test_a_clock_that_only_the_test_moves():
    clock = Clock(runs=False)
    assert clock.monotonic() == clock.monotonic() == 0
    clock.skip(2.5)
    assert clock.monotonic() == 2.5


def test_work_is_counted_in_processor_time():
    import os

    before = cpu_seconds(os.getpid())
    while cpu_seconds(os.getpid()) == before:
        pass
    let_work(os.getpid(), 0)


class Worded(Exception):
    reason = "version"


def test_an_error_is_compared_by_reason_number_and_name():
    assert because("version")(Worded()) and not because("base")(Worded())
    said = ValueError("expected 24 bytes for 'a.b', got -5")
    assert naming(24, "a.b")(said) and naming("-5")(said)
    for parts in ((2,), (4,), (5, 24), ("b",), ("a.b", 24), (24, 240)):
        assert not naming(*parts)(said), parts
    assert not naming(24)(ValueError("24\nand a second line"))
