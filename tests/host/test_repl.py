# SPDX-License-Identifier: MIT
"""``acclimate repl`` in a terminal of its own."""

import os
import pty
import select
import sys

import pytest

from acclimate_host import cli
from acclimate_host.connect import why_not
from harness.clock import HANG_S


def read_until(handle, text):
    """What came, up to the text or to the end of the other side."""
    data = b""
    while text not in data:
        assert select.select([handle], [], [], HANG_S)[0], data
        try:
            data += os.read(handle, 1024)
        except OSError:
            break
    return data


@pytest.mark.skipif(
    why_not("nrf52840") is not None and not os.environ.get("CI"), reason=str(why_not("nrf52840"))
)
def test_keys_go_to_the_board_and_a_key_ends_it():
    child, handle = pty.fork()
    if child == 0:
        code = "import sys; sys.path[:0] = ['device', 'host']; from acclimate_host import cli; "
        code += "sys.exit(cli.main(['repl', '--board', 'nrf52840', '--no-install']))"
        os.execv(sys.executable, [sys.executable, "-c", code])
    try:
        assert b">>>" in read_until(handle, b">>> ")
        os.write(handle, b"print(6 * 7)\r")
        assert b"\r\n42\r\n" in read_until(handle, b"\r\n42\r\n")
        os.write(handle, b"\x1d")
        read_until(handle, b"never")
    finally:
        _, status = os.waitpid(child, 0)
        os.close(handle)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(why_not("desktop") is not None, reason=str(why_not("desktop")))
def test_the_desktop_binary_has_its_prompt_with_the_package(tmp_path):
    child, handle = pty.fork()
    if child == 0:
        folders = [os.path.abspath(name) for name in ("device", "host")]
        os.chdir(tmp_path)
        code = f"import sys; sys.path[:0] = {folders}; from acclimate_host import cli; "
        code += "sys.exit(cli.main(['repl', '--board', 'desktop']))"
        os.execv(sys.executable, [sys.executable, "-c", code])
    try:
        read_until(handle, b">>> ")
        os.write(handle, b"from acclimate.svm import SVM\r")
        read_until(handle, b">>> ")
        os.write(handle, b"print(SVM.bytes_needed(6, 2, 2))\r")
        assert b"\n180\r" in read_until(handle, b"\n>>> ")
        os.write(handle, b"import time; print(6 * 7); time.sleep(600)\r")
        read_until(handle, b"\n42\r")
        os.write(handle, b"\x03")
        assert b"KeyboardInterrupt" in read_until(handle, b"\n>>> ")
        os.write(handle, b"\x04")
        read_until(handle, b"never")
    finally:
        _, status = os.waitpid(child, 0)
        os.close(handle)
    assert os.waitstatus_to_exitcode(status) == 0


def test_without_a_terminal_it_says_what_to_use(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", open(os.devnull))
    assert cli.main(["repl", "--board", "nrf52840"]) == 2
    assert "acclimate run FILE" in capsys.readouterr().err
