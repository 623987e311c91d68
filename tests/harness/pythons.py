# SPDX-License-Identifier: MIT
"""The Pythons of this computer, and programs that run apart from this environment."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.clock import HANG_S

OLDEST = (3, 10)
_ASK = "import ensurepip, venv, sys; print(*sys.version_info[:2])"


@functools.lru_cache(maxsize=1)
def found():
    """Return ``{version as 3.12: path}``: every Python from 3.10 that can make an environment."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    paths = [*sorted(pyenv.glob("*/bin/python3"))]
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST[1], 20))]
    # pyenv's stand-ins are slow, and what they start is among its versions.
    paths += [path for path in map(shutil.which, names) if path and "shims" not in path]
    versions = {}
    for path in dict.fromkeys([sys.executable, *map(str, paths)]):
        answer = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=HANG_S)
        numbers = tuple(map(int, answer.stdout.split())) if answer.returncode == 0 else ()
        if numbers >= OLDEST:
            versions.setdefault(".".join(map(str, numbers)), path)
    return versions


def run(folder, *command, code=0, path=()):
    """Run a command in a folder, without this environment's variables; return its output.

    :param code: the exit code that is expected.
    :param path: folders that come before the system's own on PATH.
    """
    path = os.pathsep.join([*map(str, path), os.environ["PATH"]])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ACCL", "PYTHON"))}
    environment["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**environment, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == code, done.stdout
    return done.stdout
