# SPDX-License-Identifier: MIT
"""Copy the device package to a board: choose, check, copy what differs, verify, tidy up."""

import hashlib
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from acclimate import __version__
from acclimate_host.connect import merge, mpy, package
from acclimate_host.connect.room import SMALL_HEAP_BYTES, Room
from acclimate_host.errors import AcclimateError, Refused, did_you_mean

# What hashing on the board needs comes first; the manifest comes last, so that a cut leaves
# a package that knows of no native module rather than one that refuses them.
_FIRST = ("__init__.mpy", "sha256.mpy")
_LAST = "_manifest.mpy"
_SLACK_BYTES = 2048  # the folder's own blocks
_OLDEST = (1, 24)  # native code could be collected before (micropython#15908)


@dataclass
class InstallReport:
    """What an installation did."""

    target: str
    arch: str | None
    copied: list = field(default_factory=list)
    kept: list = field(default_factory=list)
    removed: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    natives: tuple = ()
    size_bytes: int = 0

    def lines(self):
        yield (
            f"{self.target}: acclimate {__version__}, {len(self.copied)} files copied "
            f"({self.size_bytes} bytes), {len(self.kept)} already there, all verified by SHA-256"
        )
        if self.natives:
            yield f"native modules for {self.arch}: {', '.join(self.natives)}"
        else:
            yield "no native modules: pure Python does the same work"
        if self.removed:
            yield "removed: " + ", ".join(self.removed)
        yield from self.notes


def install(
    board, only=None, sources=(), pure=False, yes=False, ask=None, progress=None, extras=()
):
    """Install the device package on an open board; return an InstallReport.

    :param only: names of modules (what they import comes along); None means the default set.
    :param sources: files whose imports decide instead.
    :param extras: names of what comes beside the default set, or beside `only` and what
        `sources` import; of `merge.EXTRAS`.
    :param pure: leave native modules out.
    :param yes: remove stale files without asking; else ``ask(question)`` decides.
    :raises Refused: the board reads other .mpy files, has no room, or stale files stay.
        Nothing was changed.
    """
    info = board.info()
    _check_runtime(info)
    native = not pure and info.arch is not None and board.loads_native()
    more = [module for name in extras for module in _extra(name)]
    if more and (sources or only is not None):
        only = [*(only or ()), *more]
    slim = info.heap_free_bytes < SMALL_HEAP_BYTES
    there = {"has_crc32": info.has_crc32, "has_sha256": info.has_sha256}
    files = package.build(info.arch, only, sources, pure=not native, slim=slim, **there)
    folder = board.lib + "/acclimate"
    present = board.ls(folder) if board.exists(folder) else {}
    room, left_out, partial = Room(board, present), (), bool(only or sources)
    partial = partial and package.ANSWERS + ".mpy" not in files  # which nothing else lies beside
    if only is None and not sources:
        without = package.natives_left_out(extras)
        only, left_out = room.choose(
            files, package.natives(info.arch), info.heap_free_bytes, info.arch, more, without
        )
        files = package.build(
            info.arch, only, pure=not native, without=without, slim=slim, **there
        )
    form = mpy.MpyForm(info.mpy_version, info.mpy_sub_version, info.arch)
    for name, data in files.items():
        mpy.check_fits(mpy.read_header(data, name), form, name, info.runtime, board.words)
    known = package.natives(info.arch)
    names = tuple(sorted(Path(name).stem for name in files if Path(name).stem in known))
    report = InstallReport(board.name, info.arch, natives=names)
    _note_support(report, info, native, pure)
    if native and not known:
        report.notes.append(
            f"this installation has no native modules for {info.arch}; "
            "in a clone make native builds them, and pip install . brings them"
        )
    if left_out:
        report.notes.append(
            f"no room for all: with {', '.join(only)}; without "
            f"{', '.join(left_out)}; --only NAMES chooses"
        )
    stale = _stale(present, files, partial=partial)
    _settle_stale(stale, folder, yes, ask)
    different = _different(board, folder, present, files)
    advice = _smaller(board, info, room, sources)
    room.check(folder, {name: files[name] for name in different}, advice)
    board.mkdir(folder)
    for name in stale:
        board.rm(f"{folder}/{name}")
        report.removed.append(name)
    for count, name in enumerate(_order(different), 1):
        if progress:
            progress(f"copying {name}", count - 1, len(different))
        _copy_verified(board, f"{folder}/{name}", files[name])
        report.size_bytes += len(files[name])
    report.copied = different
    report.kept = [name for name in files if name not in different]
    return report


def _smaller(board, info, room, sources):
    """Return a function that says what to do where the files do not fit: words to paste."""

    def advice():
        if sources:
            file = shlex.quote(str(sources[0]))
            larger = "nrf52840" if board.name == "samd21" else "desktop"
            return f"a larger board takes it: acclimate run {file} --board {larger}"
        files = package.build(info.arch)
        without = package.natives_left_out()
        names = room.choose(
            files, package.natives(info.arch), info.heap_free_bytes, info.arch, (), without
        )[0]
        if not room.fits(names, files, info.arch, without):
            names = package.PREDICT
            three = package.build(only=names)
            if room.needed(map(len, three.values())) > room.free_bytes:
                return "remove files from the board first"
        return f"what fits: acclimate install {board.words} --only {','.join(names)}"

    return advice


def _extra(name):
    """Return the modules of an extra.

    :raises AcclimateError: there is none of this name.
    """
    if name not in merge.EXTRAS:
        near = did_you_mean(name, merge.EXTRAS)
        raise AcclimateError(f"--with {name}: expected one of {', '.join(merge.EXTRAS)}{near}")
    return merge.EXTRAS[name]


def _check_runtime(info):
    if info.runtime == "circuitpython":
        raise Refused(
            f"the board runs CircuitPython {info.version_text}: "
            "use: acclimate install --drive CIRCUITPY_FOLDER"
        )
    if info.mpy_value == 0:
        raise Refused(f"{info.machine} loads no .mpy files: flash a standard MicroPython build")


def _note_support(report, info, native, pure):
    if native is None:
        report.notes.append("could not try native code here, so none was installed")
    elif not native and not pure:
        report.notes.append(f"this firmware ({info.machine}) loads no native code")
    elif native and info.version < _OLDEST:
        report.notes.append(
            f"MicroPython {info.version_text} may collect native code; 1.24 or newer is safe"
        )


def _stale(present, files, partial):
    """Return the names on the board that would hide, or survive, what is installed."""
    known = {Path(name).stem for name in files}
    stale = []
    for name, size in present.items():
        stem, _, suffix = name.partition(".")
        if size is None or suffix not in ("py", "mpy"):
            continue
        hides = suffix == "py" and stem in known
        other = not partial or "svm" in known and stem in package.answering_stems()
        left_over = suffix == "mpy" and other and name not in files
        if hides or left_over:
            stale.append(name)
    return stale


def _settle_stale(stale, folder, yes, ask):
    twins = [name for name in stale if name.endswith(".py")]
    if not twins or yes:
        return
    question = f"{folder} has {', '.join(twins)}, which would hide the new files: remove?"
    if ask is None or not ask(question):
        raise Refused(f"{folder}/{twins[0]} would hide the new files: use --yes to remove it")


def _different(board, folder, present, files):
    """Return the names whose content on the board is not what is wanted."""
    different = []
    for name, data in files.items():
        same = present.get(name) == len(data)
        if not same or board.sha256(f"{folder}/{name}") != hashlib.sha256(data).hexdigest():
            different.append(name)
    return different


def _order(names):
    def rank(name):
        return (name == _LAST, _FIRST.index(name) if name in _FIRST else len(_FIRST), name)

    return sorted(names, key=rank)


def _copy_verified(board, path, data):
    board.put_bytes(data, path)
    if board.sha256(path) != hashlib.sha256(data).hexdigest():
        raise AcclimateError(f"{path} differs after copying: try again, or check the cable")
