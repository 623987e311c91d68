# SPDX-License-Identifier: MIT
"""Where the repository, its built things and its data files are."""

import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from acclimate_host.errors import AcclimateError

_REPOSITORY = Path(__file__).resolve().parents[2]


def repository() -> Path | None:
    """Return the root of the repository that this package runs from, or None if installed."""
    return _REPOSITORY if (_REPOSITORY / "native_modules").is_dir() else None


def built(*parts: str) -> Path:
    """Return a path below the folder of built things, whatever the current folder is.

    It is ACCLIMATE_OUT, else out/ of the repository, else the user's own cache folder.
    """
    root = repository()
    base = os.environ.get("ACCLIMATE_OUT") or (root / "out" if root else _user_cache())
    return Path(base, *parts)


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "acclimate").absolute()


def boards_folder() -> Path:
    """Return the folder of the board descriptions."""
    root = repository()
    if root:
        return root / "boards"
    return Path(__file__).resolve().parent / "data" / "boards"


def own_boards_folder() -> Path | None:
    """Return the folder of a user's own board descriptions, which ACCLIMATE_BOARDS names."""
    folder = os.environ.get("ACCLIMATE_BOARDS")
    return Path(folder) if folder else None


def paper_code(name: str) -> Any:
    """Import bench.papers.NAME of the repository, which the wheel leaves out.

    :raises AcclimateError: where this package does not run from the repository
    """
    root = repository()
    if root is None or not (root / "bench" / "papers").is_dir():
        raise AcclimateError("that is in bench/papers of the repository; run it from a clone")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return importlib.import_module("bench.papers." + name)


def program(name: str) -> str | None:
    """Return the path of a program, looked for beside this Python first, or None."""
    beside = Path(sys.executable).with_name(name)
    if beside.exists():
        return str(beside)
    in_venv = built("venv", "bin", name)
    if in_venv.exists():
        return str(in_venv)
    return shutil.which(name)


def device_package() -> Path:
    """Return the folder of the device package's sources."""
    import acclimate

    return Path(acclimate.__file__).resolve().parent


def firmware(name: str) -> Path:
    """Return where the firmware of an emulated board is: built here, else what pip installed.

    The file is not there where neither is.
    """
    path = built("firmware", name, "firmware.elf")
    if not path.exists() and importlib.util.find_spec("acclimate_emulators"):
        installed: Path = importlib.import_module("acclimate_emulators").firmware(name)
        return installed if installed.exists() else path
    return path


def read_at_most(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a file that was named: a device such as /dev/zero has no end.

    :raises AcclimateError: it cannot be read, or has more bytes than that.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise AcclimateError(f"{path}: {error.strerror}") from None
    if len(data) > most:
        raise AcclimateError(f"{path}: more than {most:,} bytes, which nothing here has")
    return data


KEY_FILE_BYTES = 65536  # a key has a hundred or so


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(fresh, 0o644)
        os.replace(fresh, path)
    except BaseException:
        os.unlink(fresh)
        raise
