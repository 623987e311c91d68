# SPDX-License-Identifier: MIT
"""Find and check the file of a native module; a small heap forgets this after each."""

import sys

_kept = None  # the manifest, where the heap is large: finding a file takes long


def find(file, values):  # names of arguments that every firmware has: others stay in the heap
    """Return a native module, or why there is none.

    :param values: {name: reason} of the modules that are known.
    """
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
    if wanted is None:  # a manifest that is frozen may have registered it
        return values.get(file[1:], "no native module for this board")
    for folder in _folders():
        try:
            fault = _check(folder + "/" + file + ".mpy", wanted)
        except OSError:
            continue
        found = fault or _import(folder, file)
        if not isinstance(found, str):
            return found
        if "refused: " not in str(values):
            print("acclimate: %s.mpy refused (%s); pure Python is used" % (file, found))
        return "refused: " + found
    return file + ".mpy is not installed"


def _read_manifest():
    """Return the manifest beside the package, or in /lib where the package is frozen."""
    try:
        from acclimate import _manifest as found

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
    except ImportError:  # in this file where the heap is small, and forgotten with it
        from acclimate._crc32 import crc32 as found
    return found


def _import(path, file):
    """Import a native module; return it, or what is wrong with it."""
    sys.path.insert(0, path)
    try:
        return __import__(file)
    except (ImportError, ValueError, MemoryError) as error:
        return "import: %s: %s" % (type(error).__name__, error)
    finally:
        sys.path.pop(0)
