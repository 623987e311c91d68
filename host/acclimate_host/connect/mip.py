# SPDX-License-Identifier: MIT
"""The device package for ``mip``, MicroPython's own installer: a folder for any web server.

``ARCH/ROOM.json`` names the files of a room and of what it needs, ``ARCH/package.json`` those of
the default set; the files lie beside them. mip does not ask the board for its architecture: who
types the address chooses it. ``py`` has no native modules and fits every board.
"""

import json

from acclimate import __version__
from acclimate_host.connect import merge, package
from acclimate_host.connect.room import ROLES, SMALL_ROLES
from acclimate_host.paths import write_whole

PURE = "py"


def sets(arch):
    """Return ``{name: files of acclimate/}``: each room, each extra, and the default set.

    All hold the same ``_manifest``, that of every native module: one set may follow another.
    """
    native = None if arch == PURE else arch
    small = merge.layout(native) is merge.layout("armv6m")
    roles = SMALL_ROLES if small else ROLES
    every = package.build(native, pure=native is None)
    found = {"package": _files(native, roles, ())}
    for name in roles:
        found[name] = _files(native, (name,), ())
    for name, modules in merge.EXTRAS.items():
        if modules or native and merge.EXTRA_NATIVES[name][0] + ".mpy" in every:
            found.setdefault(name, _files(native, modules or _room(name), (name,)))
    if not small:
        found["predict"] = _predicting(native)
    return {name: sorted(set(files) & every.keys()) for name, files in found.items()}, every


def _predicting(arch):
    """Return the files that have what a machine in pure Python needs to predict."""
    unit_of = merge.layout(arch).unit_of
    names = package.build(only=package.PREDICT)
    pure = merge.layout(merge.PREDICTING_PURE)
    modules = {module for name in names for module in pure.units[name.partition(".")[0]]}
    return [unit + ".mpy" for unit in {unit_of[module] for module in modules}]


def _room(extra):
    """Return the room of an extra of native modules alone: the module is named after it."""
    return (merge.EXTRA_NATIVES[extra][0].split("_")[1],)


def _files(arch, roles, extras):
    without = package.natives_left_out(extras)
    modules, natives = package.closure(roles, arch=arch)
    natives = {name for name in natives if name not in without} if arch else set()
    manifest = {package.MANIFEST} if arch else set()
    return [name + ".mpy" for name in {*modules, *natives, *manifest}]


def write(folder, arch):
    """Write ``folder/ARCH`` for one architecture, or for ``py``; return its sets.

    :param folder: Path of what a web server serves.
    """
    found, files = sets(arch)
    for name in sorted({name for names in found.values() for name in names}):
        write_whole(folder / arch / name, files[name])
    for name, names in found.items():
        urls = [[f"{package.PACKAGE}/{file}", file] for file in names]
        text = json.dumps({"version": __version__, "urls": urls}, indent=1)
        write_whole(folder / arch / (name + ".json"), text.encode() + b"\n")
    return found
