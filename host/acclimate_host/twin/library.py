# SPDX-License-Identifier: MIT
"""What the twins share: their libraries in out/twin, and buffers as C takes them."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from acclimate_host.paths import built
from acclimate_host.twin import compiled

_Twin = TypeVar("_Twin")


def load(kind: Callable[[Path], _Twin], name: str, path: str | Path | None = None) -> _Twin | None:
    """Return ``kind(library of NAME, or the one at path)``, or None where it is not built."""
    if path is None:
        path = built("twin", f"libacclimate_{name}.so")
        if not path.exists():
            path = compiled.path(name)
    return kind(Path(path)) if Path(path).exists() else None


def register(name: str, twin: Any) -> None:
    """Let the device package of this process use a twin; None changes nothing."""
    from acclimate import _native

    if twin is not None:
        _native.register(name, twin)


def pointer(buffer: Any, align: int = 1) -> tuple[int, int, Any]:
    """Return (address, bytes, what keeps it alive) of a buffer; a read-only one is copied.

    :raises ValueError: where it does not begin at a multiple of `align`
    """
    view = memoryview(buffer)
    whole: Any
    if view.readonly:
        whole = ctypes.create_string_buffer(view.tobytes(), max(1, view.nbytes))
    elif not view.nbytes:
        return 0, 0, None
    else:
        whole = (ctypes.c_char * view.nbytes).from_buffer(view)
    address = ctypes.addressof(whole)
    if address % align:
        raise ValueError(f"buffer begins at {address:#x}; it must be a multiple of {align}")
    return address, view.nbytes, whole
