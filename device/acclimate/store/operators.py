# SPDX-License-Identifier: MIT
"""Operators of the model in use: a ``.mpy`` in its capsule, bytecode or native, as a module.

    kernels = load_operators(store)           # None where the capsule has none
    y = kernels.filter(x)

    load_operators(store, native="net")       # or: kernels that acclimate.net uses from now on

The capsule is hashed once more and the file's header compared with this runtime before
anything is imported. The module is imported under a name made of its hash, once as long as the
operators stay the same, so a swap brings the new ones without a reset or a reload. Where
Python objects can be mounted (MicroPython) the file is read in place, through no file system;
elsewhere (CircuitPython) it is written once as ``op_HASH.mpy`` into a folder.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

import gc
import sys

from acclimate import _native
from acclimate.store.capsule import OPERATORS, CapsuleError

try:
    from io import IOBase
except ImportError:
    IOBase = object

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_MOUNT = "/_operators"
_ARMV6M = const(4)  # Thumb: each runs the code of those before it
_ARMV7EMDP = const(8)
_BUFFER_BYTES = const(64)
_latest = {}  # id of a flash -> (name, module) of its operators


class OperatorsError(ValueError):
    """The operators of the model in use cannot be imported here."""


def load_operators(store: "Any", native: str | None = None, folder: str = "") -> "Any":
    """Return the operators of the model in use as a module, or None where it has none.

    :param native: register them as this native module of acclimate, such as "net"; objects
        made afterwards use them.
    :param folder: where a file is written on runtimes that cannot mount the section.
    :raises OperatorsError: for another runtime, version or architecture, or damaged.
    """
    if store.active is None:
        raise OperatorsError("operators: no model: %s" % store.note)
    if store.head.find(OPERATORS) < 0:
        return None
    at, size = store.section(OPERATORS)
    name = "op_" + _hash(store, at, size)
    region = id(store.flash)
    old = _latest.get(region)
    if old is None or old[0] != name:
        module = _loaded(name)
        if module is None:
            _check(store, at, size)
            module = _import(store, at, size, name, folder)
        _latest[region] = name, module
        if old and _loaded(old[0]) is None:
            sys.modules.pop(old[0], None)
        old = None
        gc.collect()
    module = _latest[region][1]
    if native:
        _native.register(native, module, "operators of the capsule")
    return module


def _loaded(name):
    """Return the module of this name that some flash uses, or None."""
    for known, module in _latest.values():
        if known == name:
            return module
    return None


def here():
    """Return (arch, abi) of this runtime for ``Wanted``, so that a store takes no others."""
    form = _form(sys.implementation)
    return form >> 10, (form & 255) << 2 | form >> 8 & 3


def _hash(store, at, size):
    """Return the first half of the section's SHA-256 in hexadecimal."""
    hasher, taken, digest = store.checker.hasher, 0, bytearray(32)
    hasher.reset()
    while taken < size:
        taken += store.checker.take(at + taken, size - taken)
    hasher.into(digest)
    return "".join(["%02x" % byte for byte in digest[:16]])


def _check(store, at, size):
    """Raise unless the capsule is whole and its operators are for this runtime."""
    try:
        store.checker.intact(store.head, store.slots.start(store.active))
    except CapsuleError as error:
        raise OperatorsError("operators: %s" % error) from None
    if size < 8:
        raise OperatorsError("operators: %d bytes are no .mpy file" % size)
    header = bytearray(4)
    store.flash.readinto(at, header)
    check_header(header)


def check_header(header, implementation=None):
    """Raise OperatorsError unless a .mpy with these first 4 bytes can be imported here.

    :param implementation: in the place of ``sys.implementation``.
    """
    runtime = implementation or sys.implementation
    form = _form(runtime)
    letter = 67 if runtime.name == "circuitpython" else 77
    if header[0] != letter:
        text = "operators: the file starts with %d, a .mpy for %s with %d"
        raise OperatorsError(text % (header[0], runtime.name, letter))
    if header[1] != form & 255:
        text = "operators: .mpy version %d, this firmware reads %d"
        raise OperatorsError(text % (header[1], form & 255))
    arch, mine = header[2] >> 2 & 15, form >> 10
    if arch == 0:
        return
    if arch != mine and not _ARMV6M <= arch <= mine <= _ARMV7EMDP:
        text = "operators: native code of architecture %d, this board runs %d"
        raise OperatorsError(text % (arch, mine))
    if header[2] & 3 != form >> 8 & 3:
        text = "operators: native ABI %d.%d, this firmware has %d.%d"
        raise OperatorsError(text % (header[1], header[2] & 3, form & 255, form >> 8 & 3))


def _form(runtime):
    form = getattr(runtime, "_mpy", None) or getattr(runtime, "mpy", None)
    if form is None:
        raise OperatorsError("operators: %s imports no .mpy files" % runtime.name)
    return form


def _import(store, at, size, name, folder):
    try:
        from vfs import mount, umount
    except ImportError:
        mount = None
    if mount is None or IOBase is object:
        _write(store, at, size, name, folder)
        return _from(folder, name)
    mount(_Mount(store, at, size, name), _MOUNT, readonly=True)
    try:
        return _from(_MOUNT, name)
    finally:
        umount(_MOUNT)


def _from(folder, name):
    sys.path.insert(0, folder)
    try:
        return __import__(name)
    except (ImportError, ValueError) as error:
        raise OperatorsError("operators: not imported: %s" % error) from None
    finally:
        sys.path.remove(folder)


def _write(store, at, size, name, folder):
    """Bring the section into a file, unless it is there; drop those of earlier operators."""
    import os

    from acclimate.flash.file import open_file

    folder = folder + "/" if folder else ""
    path = folder + name + ".mpy"
    for other in os.listdir(folder or "."):
        if other.startswith("op_") and other.endswith(".mpy") and folder + other != path:
            os.remove(folder + other)
    if _is_there(store, at, size, path):
        return
    buffer = memoryview(bytearray(_BUFFER_BYTES))
    with open_file(path, "wb") as file:
        for n in _pieces(store, at, size, buffer):
            file.write(buffer[:n])
    if not _is_there(store, at, size, path):
        raise OperatorsError("operators: %s does not read back as written" % path)


def _is_there(store, at, size, path):
    """Tell whether a file holds just the section."""
    buffer, found = memoryview(bytearray(_BUFFER_BYTES)), bytearray(_BUFFER_BYTES)
    try:
        with open(path, "rb") as file:
            for n in _pieces(store, at, size, buffer):
                if file.readinto(memoryview(found)[:n]) != n or found[:n] != buffer[:n]:
                    return False
            return not file.read(1)
    except OSError:
        return False


def _pieces(store, at, size, buffer):
    """Yield how many bytes of the section were put into the buffer, until it ends."""
    done = 0
    while done < size:
        n = min(len(buffer), size - done)
        store.flash.readinto(at + done, buffer[:n])
        done += n
        yield n


class _Mount:
    """A file system of one file, the section."""

    def __init__(self, store, at, size, name):
        self._file = store.flash, at, size
        self._path = "/" + name + ".mpy"

    def mount(self, readonly, mkfs):
        pass

    def umount(self):
        pass

    def stat(self, path):
        if path != self._path:
            raise OSError(2)
        return (0x8000, 0, 0, 0, 0, 0, self._file[2], 0, 0, 0)

    def open(self, path, mode):
        self.stat(path)
        return _Section(*self._file)


class _Section(IOBase):
    """The section as a stream."""

    def __init__(self, flash, at, size):
        self._flash = flash
        self._at = at
        self._end = at + size

    def readinto(self, buffer):
        n = min(len(buffer), self._end - self._at)
        if n:
            self._flash.readinto(self._at, memoryview(buffer)[:n])
            self._at += n
        return n

    def ioctl(self, request, _):
        # What the importer asks for: the best length of its buffer, and to close.
        return _BUFFER_BYTES if request == 11 else 0 if request == 4 else -1
