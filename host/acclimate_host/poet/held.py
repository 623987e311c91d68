# SPDX-License-Identifier: MIT
"""Runs a function that may not end in time in a process of its own, and ends that from outside.

Solvers look at their own limit now and then only (CBC not in its preprocessing).
"""

import contextlib
import multiprocessing
import os
import signal

GRACE_S = 1.0  # after its own limit, for a solver to end by itself


def can_hold():
    """Whether this system can do that."""
    return hasattr(os, "fork")


def held(function, seconds):
    """What the function returns, or None when it did not within so many seconds.

    What it raises is raised here. Its process and those that it started are ended.
    """
    context = multiprocessing.get_context("fork")
    inner, outer = context.Pipe(False)
    child = context.Process(target=_run, args=(outer, function))
    child.start()
    outer.close()
    try:
        found = inner.recv() if inner.poll(seconds) else (True, None)
    except EOFError:
        found = (False, OSError("the solver's process ended without an answer"))
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()  # it may not have begun its group
        child.join()
    if not found[0]:
        raise found[1]
    return found[1]


def _run(outer, function):
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        outer.send((True, function()))
    except Exception as error:  # raised again by the process that waits
        outer.send((False, error))
