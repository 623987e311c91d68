# SPDX-License-Identifier: MIT
"""Copy the device package to a mounted CIRCUITPY drive: choose, compare room, write, verify."""

import os
import re
import shutil
from pathlib import Path

from acclimate_host.connect import package
from acclimate_host.connect.install import InstallReport
from acclimate_host.connect.room import DRIVE_ROLES, Room, small_drive_roles
from acclimate_host.errors import AcclimateError, Missing, Refused

_SMALL_CHIP = re.compile(r"\bwith (at)?samd21", re.IGNORECASE)  # 32 KB of RAM, 22 KB of heap
_SMALL_ARCH = "armv6m"  # whose files lie apart, so that only what is used takes heap


class _Drive:
    """What `Room` asks a board for."""

    root = ""

    def __init__(self, folder):
        self._folder = folder

    def free_bytes(self, _root):
        return shutil.disk_usage(self._folder).free

    def block_bytes(self, _root):
        return max(1, os.statvfs(self._folder).f_bsize) if hasattr(os, "statvfs") else 4096


def install_drive(folder, only=None):
    """Copy the package to a CIRCUITPY drive; return an InstallReport.

    CircuitPython reads its own kind of .mpy only, and no native code. With its compiler (see
    `package.circuitpython_compiler`) bytecode is copied, else the sources. A board with 32 KB of
    RAM gets what loads in its heap.

    :param only: names of modules (what they import comes along); None means the default set.
    :raises Refused: it is no such drive, has no room, or a 32 KB board cannot load what was asked
        for; nothing was changed.
    """
    drive, about = _about(folder)
    report = InstallReport(str(drive), None)
    compiler = _compiler(about, report)
    whole, small = only is None, bool(_SMALL_CHIP.search(about))
    target = drive / "lib" / "acclimate"
    present = {p.name: p.stat().st_size for p in target.iterdir()} if target.is_dir() else {}
    room = Room(_Drive(drive), present)
    if small:
        only = _that_load(only, compiler)
    files = _files(only, compiler, small, room, report)
    different = {
        name: data
        for name, data in files.items()
        if present.get(name) != len(data) or (target / name).read_bytes() != data
    }
    room.check_drive(target, different)
    target.mkdir(parents=True, exist_ok=True)
    for name, data in different.items():
        _write(target / name, data)
        report.size_bytes += len(data)
    report.copied = list(different)
    report.kept = [name for name in files if name not in different]
    _tidy(target, files, whole, report)
    return report


def _about(folder):
    drive = Path(folder)
    if not drive.is_dir():
        raise Missing(f"no folder {folder}")
    about = drive / "boot_out.txt"
    if not about.exists():
        raise Refused(f"{folder} has no boot_out.txt: is it a CIRCUITPY drive?")
    return drive, about.read_text(encoding="utf-8", errors="replace")


def _compiler(about, report):
    """Return the compiler for a drive, or None: bytecode is read by its own major version only."""
    compiler = package.circuitpython_compiler()
    if compiler is None:
        return None
    made, found = (
        re.findall(r"CircuitPython (\d+)", text)[:1]
        for text in (package.compiler_version(compiler), about)
    )
    if made and made == found:
        return compiler
    report.notes.append(f"sources were copied: {compiler} is for another CircuitPython")
    return None


def _that_load(only, compiler):
    """Return the names that a 32 KB board gets, or refuse those that do not load there."""
    roles = small_drive_roles(bytecode=compiler is not None)
    if only is None:
        return list(roles)
    heavy = [name for name in only if name in DRIVE_ROLES and name not in roles]
    if not heavy:
        return only
    text = f"{', '.join(heavy)}: does not load in the 22 KB of heap of this board"
    if compiler is None and set(heavy) <= set(small_drive_roles(bytecode=True)):
        text += " from sources; it does as bytecode: name the compiler in CIRCUITPYTHON_MPY_CROSS"
    raise Refused(f"{text}; use --only {','.join(roles)}")


def _files(only, compiler, small, room, report):
    """Return the files of the names, or of as many of the default set as fit."""
    arch = _SMALL_ARCH if small else None
    default = only is None or small and only == list(small_drive_roles(compiler is not None))
    only = list(DRIVE_ROLES) if only is None else list(only)
    if only == package.PREDICT:
        return package.build_circuitpython(only, compiler=compiler)
    files, left_out = package.build_circuitpython(only, compiler=compiler, arch=arch), []
    while default and len(only) > 1 and not room.fits_drive(files):
        left_out.insert(0, only.pop())
        wanted = package.closure(only, arch=arch)[0]
        files = {name: data for name, data in files.items() if name.partition(".")[0] in wanted}
    if left_out:
        report.notes.append(
            f"no room for all: with {', '.join(only)}; without {', '.join(left_out)}; "
            "--only NAMES chooses"
        )
    elif small and default:
        report.notes.append(f"what loads in 22 KB of heap: {', '.join(only)}, one at a time")
    return files


def _tidy(target, files, whole, report):
    """Remove what would hide the new files and, with the default set, those of before."""
    for path in sorted(target.iterdir()):
        known = {path.stem + ".py", path.stem + ".mpy"} & files.keys()
        if path.name not in files and path.suffix in (".py", ".mpy") and (known or whole):
            path.unlink()
            report.removed.append(path.name)


def _write(path, data):
    """Write a file beside the old one, compare, then put it in the old one's place."""
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.write_bytes(data)
        same = fresh.read_bytes() == data
        if same:
            os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        text = f"{path}: its {len(data)} bytes were not written ({error.strerror})"
        raise AcclimateError(f"{text}; the old file is as it was") from None
    if not same:
        fresh.unlink(missing_ok=True)
        raise AcclimateError(f"{path} differs after copying: try again; the old file is there")
