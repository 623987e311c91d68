# SPDX-License-Identifier: MIT
"""The lock of a repository: who holds it, what waits, and that its file goes with it."""

import os
import sys
import threading
from types import SimpleNamespace

import pytest

from acclimate_host.capsules import lock
from acclimate_host.capsules.lock import locked
from harness.clock import HANG_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asks the system with fcntl")


def is_held(path):
    """Ask the system whether somebody holds the lock of the file that lies there now."""
    import fcntl

    with open(path, "a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_it_is_held_until_the_end_and_its_file_goes(tmp_path):
    path = tmp_path / ".lock"
    for _ in range(2):
        with locked(path):
            assert is_held(path)
        assert not path.exists()


def test_it_goes_with_an_error_and_the_next_one_takes_it(tmp_path):
    path = tmp_path / ".lock"
    with pytest.raises(KeyError), locked(path):
        raise KeyError
    assert not path.exists()
    with locked(path):
        assert is_held(path)


def test_a_file_that_somebody_left_is_no_lock(tmp_path):
    """As after a process that was killed: the system gave up what it held."""
    path = tmp_path / ".lock"
    path.write_bytes(b"of a killed one")
    with locked(path):
        assert is_held(path)
    assert not path.exists()


def test_a_file_that_is_removed_meanwhile_is_no_error(tmp_path):
    path = tmp_path / ".lock"
    with locked(path):
        path.unlink()
    assert not path.exists()


@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_went_before_it_was_locked_is_not_the_lock(tmp_path, monkeypatch, again):
    """Whoever held it removes it; another one may have made a new file already."""
    path, took, given_up = tmp_path / ".lock", [], []
    lock_file, unlock_file = lock._lock, lock._unlock

    def late(file):
        if not took:
            path.unlink()
            if again:
                path.write_bytes(b"")
        took.append(os.fstat(file.fileno()).st_ino)
        lock_file(file)

    def note(file):
        given_up.append(os.fstat(file.fileno()).st_nlink)
        unlock_file(file)

    monkeypatch.setattr(lock, "_lock", late)
    monkeypatch.setattr(lock, "_unlock", note)
    with locked(path):
        assert is_held(path) and len(took) == 2 and given_up == [0]
        assert os.stat(path).st_ino == took[1]
    assert len(given_up) == 2 and not path.exists()


def test_who_comes_second_waits(tmp_path):
    path, order, asked = tmp_path / ".lock", [], threading.Event()

    def second():
        asked.set()
        with locked(path):
            order.append("second")

    with locked(path):
        thread = threading.Thread(target=second)
        thread.start()
        assert asked.wait(HANG_S)
        thread.join(0.05)
        order.append("first")
    thread.join(HANG_S)
    assert order == ["first", "second"] and not path.exists()


def test_where_open_files_cannot_be_removed_it_stays(tmp_path, monkeypatch):
    """The ways of Windows: a byte of the file is locked, from its beginning."""
    path, calls = tmp_path / ".lock", []

    class Msvcrt:
        LK_LOCK, LK_UNLCK = "lock", "unlock"

        @staticmethod
        def locking(handle, how, count):
            calls.append((how, os.lseek(handle, 0, os.SEEK_CUR), count))

    monkeypatch.setattr(lock, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(lock, "msvcrt", Msvcrt, raising=False)
    with locked(path):
        assert calls == [("lock", 0, 1)]
        with open(path, "ab") as file:
            file.write(b"x")
    assert calls[1:] == [("unlock", 0, 1)] and path.exists()
