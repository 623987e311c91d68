# SPDX-License-Identifier: MIT
"""The operators section of a capsule: a .mpy, and what the header says of it.

>>> fields_of(b"M\\x06\\x1f\\x1f" + bytes(8))
{'arch': 7, 'abi': 27}
"""

from pathlib import Path

from acclimate_host.capsules.mpy_file import check_whole
from acclimate_host.connect.mpy import ARCHS, read_header
from acclimate_host.connect.package import compile_file
from acclimate_host.errors import AcclimateError, Refused


def operators(source, arch=None):
    """Return the bytes of operators.

    :param source: a .mpy file, taken as it is; a .py file, which mpy-cross compiles (for arch,
        where it has native or viper functions); or the bytes of a .mpy.
    :raises Refused: it is no .mpy, not a whole one, or native code for another architecture.
    """
    if isinstance(source, (bytes, bytearray)):
        data, name = bytes(source), "operators"
    else:
        path = Path(source)
        name = path.name
        if not path.is_file():
            raise AcclimateError(f"{path}: no such file")
        data = compile_file(path, name, arch) if path.suffix == ".py" else path.read_bytes()
    form = read_header(data, name)
    if arch and form.arch and form.arch != arch:
        raise Refused(f"{name} has {form.arch} code, wanted {arch}")
    check_whole(data, name)
    return data


def fields_of(data):
    """Return ``arch`` and ``abi`` of a capsule's header for operators; 0 for bytecode.

    The device's are those of ``acclimate.store.operators.here()``.
    """
    form = read_header(data, "operators")
    if form.arch is None:
        return {"arch": 0, "abi": 0}
    return {"arch": ARCHS.index(form.arch), "abi": form.version << 2 | form.sub_version}


def describe(arch, abi):
    """Return in words what the header says of operators.

    >>> describe(7, 27)
    'armv7emsp, ABI 6.3'
    """
    if not arch:
        return "any"
    name = ARCHS[arch] if arch < len(ARCHS) else f"architecture {arch}"
    return f"{name}, ABI {abi >> 2}.{abi & 3}" if abi else name
