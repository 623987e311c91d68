# SPDX-License-Identifier: MIT
"""Run the programs of examples/ as their users do: the computer's side, a server, a board.

Shared by tests/host/test_examples.py and bench/examples.py.
"""

import os
import re
import runpy
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from acclimate_host.connect import open_board
from acclimate_host.connect.install import install
from acclimate_host.paths import device_package, repository

EXAMPLES = repository() / "examples"
LIMIT_S = 600


def program(name, *words, folder):
    """Run a program of the computer's side in a folder, as ``python examples/NAME.py`` does.

    Return its names.
    """
    path, before = EXAMPLES / f"{name}.py", (sys.argv, sys.path, os.getcwd())
    sys.argv, sys.path = [str(path), *map(str, words)], [str(EXAMPLES), *sys.path]
    os.chdir(folder)
    try:
        return runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path = before[:2]
        os.chdir(before[2])


@contextmanager
def served(folder):
    """Serve folder/repository as ``acclimate serve`` does; give the address."""
    command = [sys.executable, "-m", "acclimate_host.cli", "serve", "repository", "--port", "0"]
    paths = os.pathsep.join(map(str, (device_package().parent, repository() / "host")))
    server = subprocess.Popen(
        [*command, "--key", "capsule.key"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    try:
        yield re.search(r"http://\S+", server.stdout.readline()).group()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(LIMIT_S)
        server.stdout.close()


def on_board(board_name, name, files=(), extras=(), value=None):
    """Run an example on a fresh board; return what it printed, and one of its values.

    :param files: paths that the program reads. :param extras: as of ``acclimate install --with``.
    :param value: name in the program, or None.
    """
    path = EXAMPLES / f"{name}.py"
    with open_board(board_name) as board:
        install(board, sources=(path,), yes=True, extras=extras)
        board.soft_reset()
        for file in files:
            board.put_bytes(file.read_bytes(), f"{board.root.rstrip('/')}/{file.name}")
        text = board.run_file(path, LIMIT_S).replace("\r\n", "\n")
        return text, (board.exec(f"print({value})") if value else None)


def fleet_days(folder, releases=(1, 2, 3)):
    """Yield what fleet_device.py prints on a desktop board after each release is published."""
    (folder / "board").mkdir()
    program("fleet_release", releases[0], folder=folder)
    with (
        served(folder) as url,
        open_board("desktop", root=folder / "board", path=[device_package().parent]) as board,
    ):
        board.put_bytes((folder / "capsule.key").read_bytes(), "capsule.key")
        board.put_bytes(url.encode(), "fleet.url")
        for release in releases:
            if release != releases[0]:
                program("fleet_release", release, folder=folder)
                _next_second()
            yield board.run_file(EXAMPLES / "fleet_device.py", LIMIT_S).strip()


def _next_second():
    """Reports are counted by a clock of seconds."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.05)
