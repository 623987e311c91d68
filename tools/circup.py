# SPDX-License-Identifier: MIT
"""Build the circup bundle of the device package with circuitpython-build-tools.

usage: python tools/circup.py FOLDER

FOLDER, a new one, receives library/, bundles/*.zip, and data/, which is what circup would have
fetched: with it `circup --offline` installs from here.

circuitpython-build-tools would fetch CircuitPython's mpy-cross from the net. The one that
CIRCUITPYTHON_MPY_CROSS names (or that lies beside CIRCUITPYTHON) is put into its cache first, for
each version that the tool makes a bundle for. Without one there is the bundle of sources only.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
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


def lay_out(bundles, data):
    """Write what circup keeps of a bundle that it has fetched: its list, and the files."""
    data.mkdir(parents=True)
    (data / "bundle_config.json").write_text(json.dumps({"acclimate": circup.BUNDLE}))
    (data / "circup.json").write_text(json.dumps({circup.BUNDLE: [__version__]}))
    for path in bundles.glob(f"{circup.PREFIX}-*.zip"):
        kind = path.stem[len(circup.PREFIX) + 1 : -len(__version__) - 1].replace(".x-", "")
        zipfile.ZipFile(path).extractall(data / "acclimate" / f"{circup.PREFIX}-{kind}")


def main(arguments):
    """Build, and say how a drive gets it; return the exit code."""
    if len(arguments) != 1:
        return _refused("name a new folder: python tools/circup.py FOLDER")
    folder = Path(arguments[0]).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        return _refused(f"{arguments[0]} is there already: name a new folder")
    if not importlib.util.find_spec("circuitpython_build_tools"):
        return _refused("first: pip install circuitpython-build-tools circup")
    bundles = build(folder)
    lay_out(bundles, folder / "data" / "circup")
    print(f"bundles are in {bundles}; to install on a drive:")
    print(f"  XDG_DATA_HOME={folder / 'data'} circup --offline --path DRIVE install acclimate")
    return 0


def _refused(text):
    print(f"circup.py: {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
