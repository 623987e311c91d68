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
_kept = None  # the manifest, where the heap is large: finding a file takes long
_loaded = {}  # name -> module: a reference, or its code could be collected
_reasons = {}


def load(name):
    """Return the native module ``_<name>``, or None.

    :raises ImportError: the package and its native modules are of different releases.
    """
    global _kept
    if name not in _reasons:
        # Native code needs one block. The heap of a Cortex-M4 and its like (6, 7, 8), of an ESP32
        # and of RISC-V is large, and memory that runs out is collected anyway.
        tidy = getattr(sys.implementation, "_mpy", 0) >> 10 & 15 not in (6, 7, 8, 10, 11)
        if tidy:
            gc.collect()
        _reasons[name] = _load("_" + name, name)
        if tidy:
            _forget("_crc32")
            _kept = None
            gc.collect()
    return _loaded.get(name)


def reason(name):
    """Return why ``load(name)`` gave what it did, or None before it was called."""
    return _reasons.get(name)


def register(name, module, reason="registered"):
    """Let ``load(name)`` return module: the host's twin, or a module built into firmware."""
    _loaded[name] = module
    _reasons[name] = reason


def _load(file, name):
    import acclimate

    global _kept
    manifest = _kept = _kept or _read_manifest()
    if manifest is None:
        return "no native modules installed"
    if manifest.VERSION != acclimate.__version__:
        raise ImportError(
            "acclimate %s has native modules of %s: run acclimate install again"
            % (acclimate.__version__, manifest.VERSION)
        )
    wanted = manifest.NATIVE.get(file)
    if wanted is None:
        return _reasons.get(name) or "no native module for this board"  # a manifest registers
    for folder in _folders():
        try:
            fault = _check(folder + "/" + file + ".mpy", wanted)
        except OSError:
            continue
        return _refuse(file, fault) if fault else _import(folder, file, name)
    return file + ".mpy is not installed"


def _read_manifest():
    """Return the manifest beside the package, or in /lib where the package is frozen."""
    try:
        from acclimate import _manifest as found

        _forget("_manifest")
        return found
    except ImportError:
        pass
    from os import stat

    for folder in _folders():
        for ending in (".mpy", ".py"):
            try:
                stat(folder + "/" + "_manifest" + ending)
            except OSError:
                continue
            sys.path.insert(0, folder)
            try:
                return __import__("_manifest")
            finally:
                sys.path.pop(0)
                sys.modules.pop("_manifest", None)
    return None


def _forget(name):
    """Unload a module of the package that is needed once, to give its RAM back."""
    import acclimate

    if sys.modules.pop("acclimate" + "." + name, None) and hasattr(acclimate, name):
        delattr(acclimate, name)


def _folders():
    """Yield where to look: beside this file, then along sys.path (this file may be frozen)."""
    import acclimate

    if getattr(acclimate, "_files", None):
        yield acclimate.__path__
    elif "/" in __file__:
        yield __file__.rpartition("/")[0]
    for entry in sys.path:
        if entry != ".frozen":
            yield entry + "/" + "acclimate" if entry else "acclimate"


def _check(path, values):
    """Return what is wrong with the file, or None.

    :param values: its length and its CRC-32.
    """
    import acclimate

    files = getattr(acclimate, "_files", None)
    kept = files.get(path) if files else None  # stays open for the import
    file = kept or open(path, "rb")
    found, buffer, summed = 0, bytearray(1024 if kept else 256), crc32()
    try:
        size = file.seek(0, 2)
        if size != values[0]:
            return "%d bytes, not %d" % (size, values[0])
        file.seek(0)
        while True:
            count = file.readinto(buffer)
            if not count:
                break
            found = summed(buffer if count == len(buffer) else buffer[:count], found)
        return None if found & 0xFFFFFFFF == values[1] else "its CRC-32 differs"
    finally:
        if kept:
            file.seek(0)
        else:
            file.close()


def crc32():
    """Return the function of the firmware, or the one in Python."""
    try:
        from binascii import crc32 as found
    except ImportError:  # forgotten afterwards: a small board has no room for it
        from acclimate._crc32 import crc32 as found
    return found


def _import(path, file, name):
    sys.path.insert(0, path)
    try:
        _loaded[name] = __import__(file)
    except (ImportError, ValueError, MemoryError) as error:
        return _refuse(file, "import: %s: %s" % (type(error).__name__, error))
    finally:
        sys.path.pop(0)
    return "loaded"


def _refuse(file, reason):
    if "refused: " not in str(_reasons):
        print("acclimate: %s.mpy refused (%s); pure Python is used" % (file, reason))
    return "refused: " + reason
