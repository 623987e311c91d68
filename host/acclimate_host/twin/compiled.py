# SPDX-License-Identifier: MIT
"""A C core compiled when it is first wanted: pip brings its sources, not its library."""

import functools
import hashlib
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from acclimate_host.errors import Missing
from acclimate_host.paths import built, program, repository

_FLAGS = ("-O2", "-std=c99", "-ffp-contract=off", "-shared", "-fPIC")
_COMPILERS = ("cc", "gcc", "clang")
_LIMIT_S = 300


def sources(name: str) -> tuple[list[Path], Path]:
    """Return (C files of a core, folder of the headers that all share).

    A core that no board has lies beside the Python of its room.
    """
    root, package = repository(), Path(__file__).parents[1]
    folder = root / "native_modules" if root else package / "data" / "cores"
    shared = [path for path in folder.glob(f"{name}/*.c") if not path.stem.endswith("_mod")]
    return sorted(shared or package.glob(f"*/{name}.c")), folder / "common"


@functools.cache
def path(name: str) -> Path:
    """Return where the library of these sources for this computer is, or will be."""
    files, common = sources(name)
    found = hashlib.sha256(f"{platform.system()} {platform.machine()} {_FLAGS}".encode())
    headers = [
        file for folder in {*(f.parent for f in files), common} for file in folder.glob("*.h")
    ]
    for file in sorted((*files, *headers)):
        found.update(file.name.encode() + file.read_bytes())
    return built("twin", f"libacclimate_{name}-{found.hexdigest()[:12]}.so")


@functools.cache
def why_not(name: str) -> str | None:
    """Compile a core where it is not there yet; return None, or why that cannot be done."""
    try:
        if not path(name).exists():
            _compile(name)
    except (Missing, OSError, subprocess.SubprocessError) as error:
        return str(error)
    return None


def _compile(name: str) -> None:
    files, common = sources(name)
    compiler = os.environ.get("CC") or next(filter(None, map(program, _COMPILERS)), None)
    if compiler is None:
        raise Missing("no C compiler here (Debian: apt-get install gcc libc6-dev)")
    target = path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        fresh = Path(folder, target.name)
        words = [
            *compiler.split(),
            *_FLAGS,
            f"-I{common}",
            *map(str, files),
            "-o",
            str(fresh),
            "-lm",
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise Missing(f"{compiler} does not compile the kernels: {said}")
        fresh.replace(target)
