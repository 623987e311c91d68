# SPDX-License-Identifier: MIT
"""One board interface over the desktop binary and every emulated board."""

import hashlib
import os
import socket
import threading

import pytest

from acclimate_host.connect import EmulatedBoard, Emulator, SerialBoard, open_board, why_not
from acclimate_host.connect.link import Link
from acclimate_host.errors import (
    AcclimateError,
    BoardError,
    BoardFault,
    BoardGone,
    BoardTimeout,
    ConnectError,
)
from harness import fake_line
from harness.clock import HANG_S, Clock

needs_nrf52840 = pytest.mark.skipif(
    why_not("nrf52840") is not None and not os.environ.get("CI"), reason=str(why_not("nrf52840"))
)


TIMED = ("link", "port", "desktop")


def timed(monkeypatch, **options):
    """A clock for the deadlines of the connections."""
    return Clock(**options).into(monkeypatch, *("acclimate_host.connect." + m for m in TIMED))


def path_on(board, name):
    return board.root.rstrip("/") + "/" + name


def test_output_comes_back_and_state_stays(runtime):
    assert runtime.exec("x = 20 + 1\nprint('first')") == "first\n"
    assert runtime.exec("print(2 * x)") == "42\n"


def test_an_exception_brings_the_traceback_and_what_was_printed(runtime):
    with pytest.raises(BoardError) as caught:
        runtime.exec("print('before')\nraise ValueError('seven')")
    assert caught.value.output == "before\n"
    assert "ValueError: seven" in caught.value.traceback
    assert str(caught.value) == "on the board: ValueError: seven"
    assert runtime.exec("print(1)") == "1\n"


@pytest.mark.case("G6")
def test_output_is_given_as_it_comes(runtime):
    parts = []
    runtime.exec("for i in range(3):\n print(i)", consumer=parts.append)
    assert b"".join(parts).split() == [b"0", b"1", b"2"]


def test_files_survive_the_way_there_and_back(runtime, tmp_path):
    data = bytes(range(256)) * 3 + b"\n\r\x04\x03\x01 end"
    (tmp_path / "a").write_bytes(data)
    folder = path_on(runtime, "deep/er")
    runtime.mkdir(folder)
    runtime.put(tmp_path / "a", folder + "/a.bin")
    assert runtime.ls(folder) == {"a.bin": len(data)}
    assert runtime.sha256(folder + "/a.bin") == hashlib.sha256(data).hexdigest()
    runtime.get(folder + "/a.bin", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == data
    runtime.rm(folder + "/a.bin")
    assert runtime.ls(folder) == {}
    runtime.rm(folder)


def test_the_board_says_what_it_is(runtime):
    arch, bits = {
        "desktop": ("x64", 64),
        "nrf52840": ("armv7emsp", 32),
        "samd21": ("armv6m", 32),
        "esp32": ("xtensawin", 32),
    }[runtime.name]
    info = runtime.info()
    assert (info.runtime, info.arch, info.float_bits) == ("micropython", arch, bits)
    assert info.mpy_version == 6
    assert info.has_sha256 == (runtime.name != "samd21")
    assert info.heap_free_bytes > 16000


def test_native_code_is_tried_and_leaves_nothing_behind(runtime):
    before = runtime.ls(runtime.root)
    assert runtime.loads_native() is True
    assert runtime.ls(runtime.root) == before


def test_a_soft_reset_empties_the_heap_and_keeps_files(runtime):
    runtime.exec("y = 5")
    runtime.put_bytes(b"kept", path_on(runtime, "kept"))
    runtime.soft_reset()
    with pytest.raises(BoardError, match="NameError"):
        runtime.exec("print(y)")
    assert runtime.get_bytes(path_on(runtime, "kept")) == b"kept"


@pytest.mark.case("G4")
def test_endless_code_ends_at_the_deadline(runtime, monkeypatch):
    clock = timed(monkeypatch)
    skip = {True: HANG_S, False: 0}
    code = "print('begun')\nwhile True: pass"
    with pytest.raises(BoardTimeout, match=f"did not finish in {HANG_S} s") as caught:
        runtime.exec(code, HANG_S, lambda output: clock.skip(skip[b"\n" in output]))
    assert caught.value.output == "begun\n"
    runtime.reset()
    assert runtime.exec("print(3)") == "3\n"


@pytest.mark.case("G1")
def test_every_failing_stage_of_the_raw_repl_is_named(monkeypatch):
    clock = timed(monkeypatch, runs=False)
    cases = (
        (fake_line.silent, "interrupt", "stage 1 of 3"),
        (fake_line.talks_without_raw_repl, "raw repl", "stage 2 of 3"),
    )
    for answer, stage, text in cases:
        line = fake_line.FakeLine(answer, clock)
        with pytest.raises(ConnectError, match=text) as caught:
            Link.over(line).enter_raw_repl(timeout_overall=0.2)
        assert caught.value.stage == stage


@pytest.mark.case("G1")
def test_a_board_left_in_the_raw_repl_is_taken_over(monkeypatch):
    clock = timed(monkeypatch, runs=False)
    link = Link.over(fake_line.FakeLine(fake_line.left_in_the_raw_repl, clock))
    link.enter_raw_repl(timeout_overall=5)
    assert link.run("print(6*7)") == "42\n"


@pytest.mark.case("G1")
def test_a_real_board_left_in_the_raw_repl_is_taken_over(runtime):
    if runtime.name == "desktop":
        pytest.skip("its REPL has no raw mode")
    runtime.exec("left = 1")
    runtime.link.enter_raw_repl(timeout_overall=HANG_S)
    assert runtime.exec("print(left)") == "1\n"


@pytest.mark.case("G1", "G6")
def test_a_raw_repl_that_runs_nothing_is_stage_three(monkeypatch):
    clock = timed(monkeypatch, runs=False)
    line = fake_line.FakeLine(fake_line.raw_repl_that_runs_nothing, clock)
    with pytest.raises(ConnectError, match="stage 3 of 3") as caught:
        Link.over(line).enter_raw_repl(timeout_overall=1)
    assert caught.value.stage == "answer"


@pytest.mark.case("G4")
def test_a_reply_that_stops_in_the_middle_ends_at_the_deadline(monkeypatch):
    clock = timed(monkeypatch, runs=False)
    link = Link.over(fake_line.FakeLine(fake_line.stops_in_the_middle, clock))
    link.enter_raw_repl(timeout_overall=2)
    started = clock.monotonic()
    with pytest.raises(BoardTimeout) as caught:
        link.run("print('hang')", timeout_s=5)
    assert 5 <= clock.monotonic() - started < 7  # a second of it waits for Ctrl-C
    assert caught.value.output == "half"
    with pytest.raises(ConnectError, match="reset it"):
        link.run("print(1)")


@needs_nrf52840
def test_a_fault_is_an_error_at_once_and_brings_the_registers():
    with open_board("nrf52840") as board:
        # One that is told only at the deadline would be a BoardTimeout.
        with pytest.raises(BoardFault, match="HardFault") as caught:
            board.exec("import machine\nprint(machine.mem32[0xf0000000])", timeout_s=HANG_S)
        assert "R15" in caught.value.registers
        board.reset()
        assert board.exec("print(1)") == "1\n"


@needs_nrf52840
def test_flash_survives_losing_power_and_the_emulator(tmp_path):
    flash = tmp_path / "flash.bin"
    with open_board("nrf52840", flash=flash) as board:
        board.put_bytes(b"written", "/a")
        board.kill()
        board.reset()
        assert board.get_bytes("/a") == b"written"
    with open_board("nrf52840", flash=flash) as board:
        assert board.get_bytes("/a") == b"written"
    assert flash.exists()


@needs_nrf52840
def test_a_power_cut_is_told_apart_from_a_fault():
    with open_board("nrf52840") as board:
        with pytest.raises(BoardGone):
            board.exec("import qboard\nqboard.cut(5)\nopen('/a', 'w').close()")
        board.reset()
        assert board.exec("print(1)") == "1\n"


@needs_nrf52840
def test_instruction_counts_repeat_exactly():
    code = (
        "import qboard\n"
        "def f(n):\n for i in range(n): pass\n"
        "f(9)\na = qboard.ticks()\nf(1000)\nprint(qboard.ticks() - a, qboard.HZ)"
    )
    counts = []
    for _ in range(2):
        with open_board("nrf52840", icount=10) as board:
            counts.append(board.instructions(*map(int, board.exec(code).split())))
    assert counts[0] == counts[1] > 10000


@pytest.mark.case("G9")
@needs_nrf52840
def test_a_board_behind_a_socket_is_the_same(tmp_path):
    emulator = Emulator("nrf52840")
    pty = os.open(emulator.start(), os.O_RDWR | os.O_NOCTTY)
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_bridge, args=(server, pty), daemon=True).start()
    try:
        port = "socket://127.0.0.1:%d" % server.getsockname()[1]
        with open_board(port) as board:
            assert isinstance(board, SerialBoard) and not isinstance(board, EmulatedBoard)
            assert board.exec("print(6 * 7)") == "42\n"
            board.put_bytes(bytes(300), "/z")
            assert board.get_bytes("/z") == bytes(300)
    finally:
        emulator.close()
        server.close()


def _bridge(server, pty):
    try:
        connection, _ = server.accept()
        there = (lambda: connection.recv(256), pty)
        threading.Thread(target=_pump, args=there, daemon=True).start()
        while True:
            connection.sendall(os.read(pty, 256))
    except OSError:
        pass


def _pump(receive, pty):
    try:
        while data := receive():
            os.write(pty, data)
    except OSError:
        pass


@pytest.mark.case("G3")
@needs_nrf52840
def test_a_port_that_comes_back_under_another_name_is_found_by_serial_number(monkeypatch):
    first, second = Emulator("nrf52840"), Emulator("nrf52840")

    class Port:
        serial_number = "E2"

    try:
        Port.device = first.start()
        monkeypatch.setattr(
            "acclimate_host.connect.serial_board.list_ports.comports", lambda: [Port]
        )
        with open_board(Port.device) as board:
            board.exec("print(1)")
            Port.device = second.start()
            board.reset()
            assert board.device == Port.device
            assert board.exec("print(2)") == "2\n"
    finally:
        first.close()
        second.close()


def test_an_unknown_board_names_those_that_run():
    with pytest.raises(AcclimateError, match="nrf52840.*--port"):
        open_board("teapot")
    with pytest.raises(ConnectError, match="cannot open"):
        open_board("/dev/there-is-no-such-port")
