# SPDX-License-Identifier: MIT
"""Every line of two tutorials is run, in its order, and says what the page says."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acclimate_host.connect import why_not
from harness.clock import HANG_S

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "capsules_tutorial.md"
FLEET = DOCS / "tutorials" / "update_a_fleet.md"
_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Return (language, text) of a page's blocks."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


class Reader:
    """Someone who types what the page says, in a folder and with a port that are free."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.folder, self.servers = folder, []
        commands = folder / "bin"
        commands.mkdir()
        for name, what in (("acclimate", "-m acclimate_host.cli "), ("python", "")):
            path = commands / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {what}"$@"\n')
            path.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}

    def put(self, text):
        text = self._here(text)
        name = re.match(r"# (\S+)\n", text).group(1)
        (self.folder / name).write_text(text)

    def type(self, line):
        """Run a line of the shell; return what it prints."""
        line = self._here(line)
        options = {"shell": True, "cwd": self.folder, "env": self.environment, "text": True}
        if line.endswith("&"):
            line = "exec " + line.rstrip("& ")
            server = subprocess.Popen(line, stdout=subprocess.PIPE, **options)
            self.servers.append(server)
            assert server.stdout.readline().startswith("serving")
            return ""
        done = subprocess.run(line, capture_output=True, timeout=HANG_S, **options)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _here(self, text):
        text = re.sub(r"/tmp/acclimate(-fleet)?", str(self.folder), text)
        return text.replace("8000", str(self.port))

    def close(self):
        for server in self.servers:
            server.send_signal(signal.SIGINT)
            server.wait(HANG_S)


@pytest.fixture
def reader(tmp_path):
    for module in ("sklearn", "uvicorn"):
        pytest.importorskip(module)
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    made = Reader(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_the_tutorial_from_a_key_to_a_board_that_updates_itself(reader):
    printed = []
    for language, text in blocks(PAGE):
        if language == "text":
            continue
        if language == "python":
            reader.put(text)
            continue
        for line in text.splitlines():
            if line.startswith("acclimate run"):
                _next_second(printed)
            printed.append(reader.type(line))
    runs = [text for text in printed if "class" in text]
    assert [text.splitlines()[0].strip() for text in runs] == [
        "version 1 confirmed",
        "version 2 confirmed",
        "version 2 rolled back",
    ]
    assert all("class 1" in text for text in runs)
    assert "rolled back" in printed[-1] and "17" in printed[-1]
    again = reader.type("acclimate run watch.py --board desktop")
    assert "version 2 rolled back current" in again


@pytest.mark.slow  # some 15 processes, one after the other
def test_the_fleet_takes_a_good_release_and_halts_a_bad_one(reader):
    printed = ""
    for language, text in blocks(FLEET):
        if language == "python":
            reader.put(text)
        elif language == "text":  # without the line that has a time
            assert all(line in printed for line in text.splitlines()), printed
        else:
            typed = [line for line in text.splitlines() if not line.startswith("pip ")]
            printed = "".join([reader.type(line) for line in typed])
    assert "12 of 12 devices use what they are offered" in printed
    assert printed.count("rolled back") == 3


def _next_second(printed):
    """The program counts its reports by a clock of seconds."""
    if printed:
        now = int(time.time())
        while int(time.time()) == now:
            time.sleep(0.05)
