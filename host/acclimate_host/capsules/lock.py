# SPDX-License-Identifier: MIT
"""A lock that one process holds at a time; its file goes with it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a path; whoever comes second waits."""
    while True:
        with open(path, "a+b") as file:
            _lock(file)
            try:
                if not _is_at(file, path):
                    continue  # it was removed while this process waited for it
                try:
                    yield
                finally:
                    if sys.platform != "win32":  # there an open file cannot be removed
                        path.unlink(missing_ok=True)
                return
            finally:
                _unlock(file)


def _lock(file: Any) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX)


def _unlock(file: Any) -> None:
    if sys.platform == "win32":
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)


def _is_at(file: Any, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
