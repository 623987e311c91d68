# SPDX-License-Identifier: MIT
"""The runtimes that device tests run on, and why one of them may be missing here."""

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.connect import DesktopBoard, open_board, package, why_not
from acclimate_host.paths import built
from acclimate_host.testing import nor

EMULATED = ("nrf52840", "samd21", "esp32")
# What runs each time on these; the slow tests run all. The cores compute with modules of the
# nRF52840, but for RISC-V; the interpreter of CircuitPython has floats of 30 bits, too.
QUICK = {
    "rv32": ("test_svm_basic", "test_net_conv", "test_store", "test_store_save"),
    "stm32f767": (),
    "rp2350": (),
    "nrf52840-f30": ("test_svm_basic", "test_svm_scaler", "test_loop", "test_features"),
}
# (runtime, file) that takes the longest, and is tried elsewhere each time.
LONG = (
    ("circuitpython", "test_svm_plain"),
    ("desktop-f32", "test_soak_svm"),
    ("esp32", "test_signature"),
)
MORE_CORES = ("rv32", "stm32f767", "rp2350")


@dataclass(frozen=True)
class Runtime:
    """One way to run a device test.

    :param board: what to open; None is this CPython.
    :param native: install native modules (CPython: use the twins).
    """

    name: str
    board: str | None
    native: bool

    @property
    def family(self):
        return self.name.partition("-")[0]

    def is_slow(self, file):
        """Pure Python in an emulator takes the most time and finds the least.

        :param file: stem of the device test.
        """
        if self.board in QUICK:
            return file not in QUICK[self.board]
        if (self.name, file) in LONG:
            return True
        return self.board in EMULATED and not self.native or self.board == BUILT_IN


RUNTIMES = (
    Runtime("cpython", None, False),
    Runtime("cpython-twin", None, True),
    Runtime("desktop", "desktop", False),
    Runtime("desktop-native", "desktop", True),
    Runtime("desktop-f32", "desktop-f32", True),
    Runtime("circuitpython", "circuitpython", False),
    Runtime("nrf52840", "nrf52840", True),
    Runtime("nrf52840-pure", "nrf52840", False),
    Runtime("nrf52840-f30", "nrf52840-f30", False),
    Runtime("nrf52840-natives", "nrf52840-natives", True),
    Runtime("samd21", "samd21", True),
    Runtime("samd21-pure", "samd21", False),
    Runtime("esp32", "esp32", True),
    Runtime("esp32-pure", "esp32", False),
    Runtime("rv32", "rv32", True),
    Runtime("stm32f767", "stm32f767", True),
    Runtime("rp2350", "rp2350", True),
)
# Boards with another firmware: name -> the emulated board. Floats of 30 bits, as in CircuitPython,
# are tried by the files that compute with them.
VARIANTS = {"nrf52840-f30": "nrf52840", "nrf52840-natives": "nrf52840"}
# The firmware of a builder: the package frozen, its C modules part of the firmware.
BUILT_IN = "nrf52840-natives"
WITH_FLOATS = (
    "test_svm_basic",
    "test_svm_scaler",
    "test_svm_io",
    "test_svm_fixed",
    "test_svm_kinds_bits",
    "test_svm_small_same",
    "test_loop",
    "test_loop_drift",
    "test_loop_drift_rules",
    "test_loop_limits",
    "test_loop_sizes",
    "test_loop_truths",
    "test_acceptance",
    "test_features",
)
NAMES = tuple(runtime.name for runtime in RUNTIMES)
# The same file needs both variants only if it uses native code at all.
ONLY_WITH_NATIVE = ("cpython-twin", "desktop-native", "nrf52840-pure", "samd21-pure", "esp32-pure")
ARCHS = {
    "desktop": "x64",
    "desktop-f32": "x64",
    "nrf52840": "armv7emsp",
    "samd21": "armv6m",
    "esp32": "xtensawin",
    "rv32": "rv32imc",
    "stm32f767": "armv7emsp",
    "rp2350": "armv7emsp",
    "nrf52840-f30": "armv7emsp",
    "nrf52840-natives": "armv7emsp",
}


def unavailable(runtime, natives=()):
    """Return why the runtime cannot be used on this machine, or None."""
    if runtime.board is None:
        return _no_twin(natives) if runtime.native else None
    if runtime.board == "circuitpython":
        return no_circuitpython()
    reason = why_not(VARIANTS.get(runtime.board, runtime.board))
    if reason is None and runtime.board in VARIANTS and not firmware(runtime.board).exists():
        reason = f"{runtime.board} is not built; run: make firmware"
    if reason is None and runtime.native:
        have = package.natives(ARCHS[runtime.board])
        missing = [name for name in natives if name not in have]
        # A board may do with a variant of the module, and a variant may be for one core only.
        missing = [name for name in missing if not any(_related(name, n) for n in have)]
        if missing:
            reason = f"native module {missing[0]} is not built; run: make native"
    return reason


def _related(one, other):
    return one.startswith(other + "_") or other.startswith(one)


def no_circuitpython():
    """Return why there is no CircuitPython here, or None when there is."""
    file = os.environ.get("CIRCUITPYTHON")
    if not file:
        return "CIRCUITPYTHON names no interpreter"
    return None if os.access(file, os.X_OK) else f"CIRCUITPYTHON={file} is no program"


def open_circuitpython(**options):
    """Open a real CircuitPython interpreter as a board, with the heap of a large one."""
    file = str(Path(os.environ["CIRCUITPYTHON"]).resolve())
    return DesktopBoard("circuitpython", heap_bytes="4m", interpreter=file, **options)


def _open(name):
    if name == "circuitpython":
        return open_circuitpython()
    options = {"elf": firmware(name)} if name in VARIANTS else {}
    return open_board(VARIANTS.get(name, name), **options)


def firmware(variant):
    """Return the file of a variant's firmware."""
    return built("firmware", variant, "firmware.elf")


def _no_twin(natives):
    for name in twins(natives):
        if importlib.util.find_spec("acclimate_host.twin." + name) is None:
            return f"no twin of _{name}"
        if not built("twin", f"libacclimate_{name}.so").exists():
            return f"twin of _{name} is not built; run: make twin"
    return None


def twins(natives):
    """Return the names of the twins for native modules; one serves all variants of a module."""
    return sorted({name.split("_")[1] for name in natives})


def must_run():
    """Tell whether a missing emulated board is a failure (continuous integration)."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


class Boards:
    """The boards that are open; one of each kind, kept for the whole session.

    Only a board that a test uses runs: an emulated one that waits for input polls, and would
    take a core from other tests.
    """

    def __init__(self):
        self._open = {}

    def get(self, name):
        """Return an open board and the dictionary of what was copied to it."""
        if name not in self._open:
            self._open[name] = (_open(name), {})
        board, copied = self._open[name]
        if board.emulated:
            board.emulator.resume()
        return board, copied

    def rest(self, name):
        """Let a board sleep until it is wanted again."""
        board, _ = self._open.get(name, (None, None))
        if board is not None and board.emulated:
            board.emulator.pause()

    def drop(self, name):
        """Close a board that is in an unknown state."""
        board, _ = self._open.pop(name, (None, None))
        if board is not None:
            board.close()

    def close(self):
        for name in list(self._open):
            self.drop(name)


DEVICE_TESTS = Path(__file__).resolve().parents[1] / "device"
MODELS = Path(nor.__file__).parent  # of hardware; a device test takes them along as its own files
for _folder in (DEVICE_TESTS, MODELS):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))


def copy_model(board, name="nor"):
    """Copy a model of hardware to a board, as a module of that name beside the package."""
    data = package.compile_file(MODELS / (name + ".py"), name + ".py")
    board.mkdir(board.lib)
    board.put_bytes(data, f"{board.lib}/{name}.mpy")
