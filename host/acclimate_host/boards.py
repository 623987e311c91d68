# SPDX-License-Identifier: MIT
"""Board descriptions: one TOML file per board, checked against a schema.

They are in boards/ of the repository, and in the folder that ACCLIMATE_BOARDS names: a user's own.

Every figure stands with its source, and what is not known is left out::

    clock_hz = { value = 64_000_000, source = "..." }

>>> board = load("nrf52840")
>>> board.arch, board.value("flash.erase_block_bytes")
('armv7emsp', 4096)
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate_host.errors import AcclimateError, did_you_mean
from acclimate_host.figures import Figure, raise_all, read_figures, read_toml
from acclimate_host.paths import boards_folder, own_boards_folder

KINDS = ("board", "emulated", "desktop")
# Native modules are built for these.
ARCHS = ("x64", "armv6m", "armv7emsp", "xtensawin", "rv32imc")
# Firmware of these loads modules of another one (connect/mpy.py).
OTHER_ARCHS = ("armv7em", "armv7emdp")
RUNTIMES = ("micropython", "circuitpython")
NATIVE = ("yes", "no", "custom build")
# Name -> (smallest, largest) allowed value; a dot separates table and key.
FIGURES = {
    "clock_hz": (1e5, 1e10),
    "ram_bytes": (1024, 1 << 40),
    "flash_bytes": (1024, 1 << 40),
    "heap_free_bytes": (1024, 1 << 40),
    "flash.start": (0, 1 << 32),
    "flash.bytes": (1024, 1 << 40),
    "flash.erase_block_bytes": (64, 1 << 20),
    "flash.program_unit_bytes": (1, 4096),
    "flash.endurance_cycles": (100, 1e8),
    "power.voltage_v": (0.5, 60),
    "power.active_current_a": (1e-6, 10),
    "power.erase_current_a": (1e-6, 10),
}
_TEXTS = ("name", "title", "kind", "core", "arch", "note", "ran")
_NEEDED = ("name", "title", "kind", "core", "arch")


class DescriptionError(AcclimateError):
    """A board description is wrong; the text names the file, the key and what is allowed."""


@dataclass(frozen=True)
class RuntimeSupport:
    """One kind of firmware for the board.

    :param native: ``yes``, ``no`` (stock firmware refuses native modules) or
        ``custom build``.
    :param has_sha256: whether its ``hashlib`` has SHA-256.
    """

    name: str
    native: str
    has_sha256: bool
    source: str
    note: str = ""


@dataclass(frozen=True)
class BoardDescription:
    """One board. ``figures`` holds what is known, by the names in ``FIGURES``.

    :param ran: what was run where: on this board, or on one that stands for it.
    """

    name: str
    title: str
    kind: str
    core: str
    arch: str
    fpu: bool
    figures: dict[str, Figure]
    runtimes: tuple[RuntimeSupport, ...]
    note: str = ""
    ran: str = ""

    def value(self, name: str) -> Any:
        """Return a figure's value, or None where it is not known.

        :raises KeyError: there is no figure of that name in the schema.
        """
        if name not in FIGURES:
            raise KeyError(f"no figure {name!r}; there are: {', '.join(FIGURES)}")
        figure = self.figures.get(name)
        return figure.value if figure else None

    def unknown(self) -> list[str]:
        """Return the names of the figures that are not known."""
        return [name for name in FIGURES if name not in self.figures]

    def native(self, runtime: str = "micropython") -> str | None:
        """Return ``yes``, ``no`` or ``custom build``; None without that runtime."""
        for support in self.runtimes:
            if support.name == runtime:
                return support.native
        return None

    def energy_j(self, seconds: float) -> float | None:
        """Return the energy of so much work, or None where current or voltage is not known."""
        voltage, current = self.value("power.voltage_v"), self.value("power.active_current_a")
        return None if None in (voltage, current) else float(voltage * current * seconds)


def parse(data: dict[str, Any], file: str = "board") -> BoardDescription:
    """Return the BoardDescription of a TOML document (a dictionary).

    :raises DescriptionError: naming the file and each key that is wrong.
    """
    data = dict(data)
    mistakes: list[str] = []

    def tried(check: Any, *args: Any) -> Any:
        try:
            return check(*args)
        except DescriptionError as error:
            mistakes.append(str(error))
            return None

    texts = {key: tried(_text, data.pop(key), key, file) for key in _TEXTS if key in data}
    mistakes += [f"{key} is missing" for key in _NEEDED if key not in texts]
    for key, allowed in (("kind", KINDS), ("arch", ARCHS + OTHER_ARCHS)):
        if texts.get(key) is not None:
            tried(_one_of, texts[key], allowed, key, file)
    fpu = data.pop("fpu", None)
    if not isinstance(fpu, bool):
        mistakes.append(f"fpu must be true or false, not {fpu!r}")
    supports = tried(_runtimes, data.pop("runtime", None), file)
    figures = tried(read_figures, data, FIGURES, file, DescriptionError)
    if figures is not None:
        tried(_check_flash, figures, file)
    raise_all(mistakes, file, DescriptionError)
    return BoardDescription(fpu=fpu, figures=figures, runtimes=supports, **texts)


def _text(value: Any, key: str, file: str) -> str:
    if not isinstance(value, str) or not value:
        raise DescriptionError(f"{file}: {key} must be a text, not {value!r}")
    return value


def _one_of(value: Any, allowed: tuple[str, ...], key: str, file: str) -> None:
    if value not in allowed:
        raise DescriptionError(f"{file}: {key} is {value!r}, not one of {', '.join(allowed)}")


def _runtimes(tables: Any, file: str) -> tuple[RuntimeSupport, ...]:
    if not isinstance(tables, list) or not tables:
        raise DescriptionError(f"{file}: at least one [[runtime]] is needed")
    return tuple(_runtime(table, file) for table in tables)


def _runtime(table: Any, file: str) -> RuntimeSupport:
    if not isinstance(table, dict):
        raise DescriptionError(f"{file}: [[runtime]] must be a table")
    needed = {"name", "native", "has_sha256", "source"}
    wrong = sorted((needed - set(table)) | (set(table) - needed - {"note"}))
    if wrong:
        raise DescriptionError(f"{file}: runtime.{wrong[0]} is missing or not known")
    _one_of(table["name"], RUNTIMES, "runtime.name", file)
    _one_of(table["native"], NATIVE, "runtime.native", file)
    if not isinstance(table["has_sha256"], bool):
        raise DescriptionError(f"{file}: runtime.has_sha256 must be true or false")
    return RuntimeSupport(**table)


def _check_flash(figures: dict[str, Figure], file: str) -> None:
    block = figures.get("flash.erase_block_bytes")
    for key in ("flash.start", "flash.bytes"):
        if block and key in figures and figures[key].value % block.value:
            raise DescriptionError(
                f"{file}: {key} is {figures[key].value}, no multiple of the erase block, "
                f"{block.value} bytes"
            )


def load_file(path: str | Path) -> BoardDescription:
    """Return the BoardDescription of one file.

    :raises DescriptionError: there is no such file, or it is no description.
    """
    path = Path(path)
    if not path.is_file():
        raise DescriptionError(f"no file {path}")
    data = read_toml(path, DescriptionError)
    if "pageout" in data:
        raise DescriptionError(
            f"{path.name}: this is a cost table, not a board's description; "
            f"use it with acclimate plan --board {path}"
        )
    description = parse(data, path.name)
    if description.name != path.stem:
        raise DescriptionError(f"{path.name}: name is {description.name!r}, not {path.stem!r}")
    return description


def is_description(path: str | Path) -> bool:
    """Tell whether a TOML file describes a board, and is no cost table."""
    return "runtime" in read_toml(Path(path), DescriptionError)


def _files() -> dict[str, Path]:
    """Return {name: file} of all descriptions; a user's own takes the place of one shipped."""
    own = own_boards_folder()
    folders = [boards_folder()] + ([own] if own else [])
    return {path.stem: path for folder in folders for path in folder.glob("*.toml")}


def names() -> list[str]:
    """Return the names of all described boards."""
    return sorted(_files())


def load(name: str) -> BoardDescription:
    """Return the BoardDescription of a board by its name, or of a file (``my_board.toml``).

    :raises DescriptionError: there is no such board, or its file is wrong.
    """
    if name.endswith(".toml"):
        return load_file(name)
    files = _files()
    if name not in files:
        near = did_you_mean(name, files)
        raise DescriptionError(
            f"no board {name!r}; there are: {', '.join(sorted(files))}, "
            f"or name a file, as {name}.toml{near}"
        )
    return load_file(files[name])


def load_all() -> tuple[list[BoardDescription], list[DescriptionError]]:
    """Return (descriptions, errors): one bad file does not hide the others."""
    found: list[BoardDescription] = []
    errors: list[DescriptionError] = []
    own = own_boards_folder()
    if own and not own.is_dir():
        errors.append(DescriptionError(f"ACCLIMATE_BOARDS: no folder {own}"))
    for name in names():
        try:
            found.append(load(name))
        except DescriptionError as error:
            errors.append(error)
    return found, errors
