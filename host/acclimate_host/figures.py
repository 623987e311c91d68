# SPDX-License-Identifier: MIT
"""Figures that come with their source, as board descriptions and cost tables hold them::

clock_hz = { value = 64_000_000, source = "..." }
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acclimate_host.errors import AcclimateError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Figure", "raise_all", "read_figures", "read_toml", "tomllib"]


@dataclass(frozen=True)
class Figure:
    """A number and where it comes from."""

    value: float
    source: str


def read_toml(path: Path, error: type[AcclimateError]) -> dict[str, Any]:
    """Return what a TOML file holds; raises `error`, which names the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise error(f"{path.name}: {fault}") from fault


def read_figures(
    data: dict[str, Any],
    limits: dict[str, tuple[float, float]],
    file: str,
    error: type[AcclimateError],
) -> dict[str, Figure]:
    """Return {name: Figure} of a table; a dot separates the name of an inner table from its key.

    :param limits: name -> (smallest, largest) allowed value
    :raises AcclimateError: of class `error`, naming the file, each wrong key and what is allowed
    """
    found: dict[str, Figure] = {}
    mistakes = []
    for key, entry in data.items():
        parts = {key: entry}
        if isinstance(entry, dict) and not {"value", "source"} & set(entry):
            parts = {f"{key}.{name}": part for name, part in entry.items()}
        for name, part in parts.items():
            try:
                found[name] = _figure(part, name, limits, file, error)
            except error as mistake:
                mistakes.append(str(mistake))
    raise_all(mistakes, file, error)
    return found


def raise_all(mistakes: list[str], file: str, error: type[AcclimateError]) -> None:
    """Raise one error that names all mistakes of a file, in one line; nothing where none is.

    >>> raise_all(["x.toml: fpu is missing", "x.toml: arch is 'z'"], "x.toml", AcclimateError)
    Traceback (most recent call last):
        ...
    acclimate_host.errors.AcclimateError: x.toml: fpu is missing; arch is 'z'
    """
    if mistakes:
        raise error(f"{file}: " + "; ".join(m.removeprefix(f"{file}: ") for m in mistakes))


def _figure(
    entry: Any,
    key: str,
    limits: dict[str, tuple[float, float]],
    file: str,
    error: type[AcclimateError],
) -> Figure:
    if key not in limits:
        raise error(f"{file}: {key} is not known; known: {', '.join(limits)}")
    if not isinstance(entry, dict) or set(entry) != {"value", "source"}:
        raise error(f'{file}: {key} must be {{ value = NUMBER, source = "TEXT" }}')
    number, source = entry["value"], entry["source"]
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise error(f"{file}: {key} has the value {number!r}, not a number")
    low, high = limits[key]
    if not low <= number <= high:
        raise error(f"{file}: {key} is {number}, outside {low:g} to {high:g}")
    if not isinstance(source, str) or not source:
        raise error(f"{file}: {key}.source must be a text, not {source!r}")
    return Figure(number, source)
