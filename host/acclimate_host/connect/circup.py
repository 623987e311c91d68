# SPDX-License-Identifier: MIT
"""The device package as a CircuitPython library: what circuitpython-build-tools makes bundles of.

One folder with the merged files as they lie on a board, ``__version__`` and ``__repo__`` in its
``__init__``, and a ``pyproject.toml`` that names the package.
"""

from acclimate import __version__
from acclimate_host.connect import package
from acclimate_host.paths import write_whole

REPO = "https://github.com/acclimate/Acclimate_CircuitPython.git"
BUNDLE = "acclimate/Acclimate_CircuitPython_Bundle"  # as circup names it
PREFIX = "acclimate-circuitpython-bundle"  # of the bundle's files, as circup expects them
_PROJECT = f"""\
[project]
name = "acclimate-circuitpython"
version = "{__version__}"
description = "Models that keep learning on a microcontroller"
license = "MIT"

[tool.setuptools]
packages = ["{package.PACKAGE}"]
"""


def write_library(folder):
    """Write the library's tree; return the names of its files.

    :param folder: Path, which is made.
    """
    files = package.build_circuitpython()
    init = package.PACKAGE_FILE
    files[init] = _with_repo(files[init])
    for name, data in files.items():
        write_whole(folder / package.PACKAGE / name, data)
    write_whole(folder / "pyproject.toml", _PROJECT.encode())
    return sorted(files)


def _with_repo(text):
    line = f'__version__ = "{__version__}"\n'.encode()
    if text.count(line) != 1:
        raise ValueError("acclimate/__init__.py: __version__ stands on no line of its own")
    return text.replace(line, line + f'__repo__ = "{REPO}"\n'.encode())
