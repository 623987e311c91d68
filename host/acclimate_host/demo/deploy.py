# SPDX-License-Identifier: MIT
"""Opens the board that was asked for, with what the demo needs of `acclimate` on it."""

from dataclasses import dataclass

from acclimate_host.connect import RUNNABLE, emulator, open_board
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardError, Missing, did_you_mean
from acclimate_host.paths import built, firmware

DESKTOP_HEAP_BYTES = 512 * 1024  # objects are twice as large there as on a 32-bit board
NEEDED = ("svm", "loop", "features")
_OTHERS = ("desktop-f32", "stm32f103")  # the desktop binary again; 20 KB, which hold no loop
BOARDS = tuple(name for name in RUNNABLE if name not in _OTHERS)


def is_full(error):
    """Whether an error of a board is that its heap has no room."""
    return isinstance(error, BoardError) and "MemoryError" in error.traceback


@dataclass
class Opened:
    """An open board and what to say about it."""

    board: object
    title: str
    native: bool
    left_out: list


def stage(arch):
    """Folder with bytecode and native modules for `arch`, or None when it was not built."""
    folder = built("stage", arch) if arch else None
    return folder if folder and (folder / "acclimate").is_dir() else None


def open_for_demo(name, port, needed=NEEDED):
    """Open a real board (`port`), an emulated one (`name`) or the desktop binary.

    :param needed: modules of `acclimate` that the board gets

    :raises Missing: it cannot run here, or nothing was built for it
    """
    if port:
        return _install(open_board(port), f"the board at {port}", needed)
    if name in (None, "", "desktop"):
        return _desktop(needed)
    if name not in BOARDS:
        near = "" if name in RUNNABLE else did_you_mean(name, BOARDS)
        raise AcclimateError(f"--board: expected one of {', '.join(BOARDS)}, got {name}{near}")
    options = {"icount": emulator.EXACT_SHIFT} if name in emulator.COUNTED else {}
    if name == "samd21":
        return _frozen(name, options)
    return _install(open_board(name, **options), f"{name} (emulated)", needed)


def _desktop(needed):
    folder, title = stage("x64") or stage("py"), "the MicroPython desktop binary"
    if folder is None:
        return _install(open_board("desktop", heap_bytes=DESKTOP_HEAP_BYTES), title, needed)
    return _opened(open_board("desktop", path=[folder], heap_bytes=DESKTOP_HEAP_BYTES), title)


def _frozen(name, options):
    """The 32 KB board: bytecode and native code are in its firmware, and take no heap."""
    elf = firmware(f"{name}-learning")
    if not elf.exists():
        raise Missing(f"{name}: no firmware for the demo; in a clone: make demo BOARD={name}")
    board = open_board(name, elf=elf, **options)
    try:
        board.mkdir(board.lib)
        board.exec(_REGISTER, timeout_s=30)
        version = board.info().version_text
    except BaseException:
        board.close()
        raise
    title = f"{name} (emulated, 32 KB of RAM), micropython {version}, native SVM, all in flash"
    return Opened(board, title, True, [])


_REGISTER = """
import _svm
from acclimate import _native
_native.register('svm', _svm)
"""


def _install(board, title, needed):
    """Bring the needed modules of `acclimate` up to date on the board."""
    try:
        install(board, only=needed, yes=True)
    except BaseException:
        board.close()
        raise
    return _opened(board, title)


_NATIVE = """
try:
    from acclimate import _native
    print(_native.load('svm') is not None)
except ImportError:
    print(False)
"""


def _opened(board, title):
    info = board.info()
    native = board.exec(_NATIVE, timeout_s=60).strip() == "True"
    board.soft_reset()
    left_out = []
    if not native:
        left_out.append("native modules (none built or loaded here): the pure Python path runs")
    version = f"{info.runtime} {info.version_text}"
    path = f"native SVM for {info.arch}" if native else "SVM in pure Python"
    return Opened(board, f"{title}, {version}, {path}", native, left_out)
