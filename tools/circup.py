# SPDX-License-Identifier: MIT
"""Build the circup bundle of the device package with circuitpython-build-tools.

usage: python tools/circup.py FOLDER

FOLDER receives library/ and bundles/*.zip. The tool would fetch CircuitPython's mpy-cross from the
net; the one that CIRCUITPYTHON_MPY_CROSS names (or that lies beside CIRCUITPYTHON) is put into its
cache first, for each version that the tool makes a bundle for. Without one there is the bundle of
sources only.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from acclimate import __version__
from acclimate_host.connect import circup, package


def build(folder):
    """Build the bundles in a folder; return the folder of the zip files."""
    library, bundles = folder / "library", folder / "bundles"
    circup.write_library(library)
    _tagged(library)
    cache = folder / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    compiler = package.circuitpython_compiler()
    only = ["--only", "py", "--only", "json"]
    if compiler:
        only = ["--ignore", "example"]
        _place(Path(compiler), cache / "circuitpython-build-tools")
    program = str(Path(sys.executable).with_name("circuitpython-build-bundles"))
    command = [program, "--filename_prefix", circup.PREFIX, "--library_location", str(library)]
    command += ["--output_directory", str(bundles), *only]
    subprocess.run(command, cwd=library, env=environment, check=True)
    return bundles


def _tagged(library):
    """The tool asks git for the version and the address."""
    author = ["-c", "user.name=Acclimate", "-c", "user.email=acclimate@localhost"]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", circup.REPO],
        ["add", "."],
        [*author, "commit", "-q", "-m", f"Release {__version__}."],
        ["tag", __version__],
    ):
        subprocess.run(["git", *words], cwd=library, check=True)


def _place(compiler, cache):
    from circuitpython_build_tools.target_versions import VERSIONS

    cache.mkdir(parents=True)
    for version in VERSIONS:
        shutil.copy(compiler, cache / f"mpy-cross-{version['name']}")


if __name__ == "__main__":
    print(build(Path(sys.argv[1]).absolute()))
