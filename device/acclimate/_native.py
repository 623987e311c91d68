# SPDX-License-Identifier: MIT
"""Load native modules, but never one that is damaged.

MicroPython hangs on a truncated .mpy and runs one with a flipped bit, so a file's length
and CRC-32 are compared with the manifest before it is imported. ``load`` returns None where
there is none, or none that fits: pure Python then does the same work.

    native = _native.load("svm")        # acclimate/_svm.mpy, or None
    print(_native.reason("svm"))        # why None; "loaded" otherwise
"""

import gc
import sys

# Names, also of arguments, and short texts stay in the heap for good, when this file is long
# forgotten. So here they are few, and such as the firmware has anyway.
_loaded = {}  # name -> module: a reference, or its code could be collected
_reasons = {}


def load(name):
    """Return the native module ``_<name>``, or None.

    :raises ImportError: the package and its native modules are of different releases.
    """
    if name not in _reasons:
        # Native code needs one block. The heap of a Cortex-M4 and its like (6, 7, 8), of an ESP32
        # and of RISC-V is large, and memory that runs out is collected anyway.
        tidy = getattr(sys.implementation, "_mpy", 0) >> 10 & 15 not in (6, 7, 8, 10, 11)
        if tidy:
            gc.collect()
        from acclimate import _loader

        found = _loader.find("_" + name, _reasons)
        _forget("_manifest")
        if not isinstance(found, str):
            _loaded[name], found = found, "loaded"
        _reasons[name] = found
        if tidy:  # what looked for it takes 2 KB
            _loader = None
            _forget("_loader")
            gc.collect()
    return _loaded.get(name)


def reason(name):
    """Return why ``load(name)`` gave what it did, or None before it was called."""
    return _reasons.get(name)


def register(name, module, reason="registered"):
    """Let ``load(name)`` return module: the host's twin, or a module built into firmware."""
    _loaded[name] = module
    _reasons[name] = reason


def _forget(name):
    """Unload a module of the package that is needed once, to give its RAM back."""
    import acclimate

    if sys.modules.pop("acclimate" + "." + name, None) and hasattr(acclimate, name):
        delattr(acclimate, name)
