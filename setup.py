# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: packages take files along that lie outside of them.

The wheel has the board descriptions, the native modules that have been built and the page
(`make wheel` builds all). The source distribution has what was built as well, in prebuilt/, so
that it gives the same wheel on a computer without cross compilers and npm.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_ROOT = Path(__file__).resolve().parent
_PREBUILT = Path("prebuilt")


def _built(place, pattern):
    """Return (the folder below out/ or prebuilt/ that has such files, those files)."""
    for folder in (_ROOT / "out" / place, _ROOT / _PREBUILT / place):
        files = sorted(folder.glob(pattern))
        if files:
            return folder, files
    return None, []


def _natives():
    return _built("native", "*/_*.mpy")


def _page():
    return _built("playground/site", "*")


def _extra_files():
    """Yield (file here, its place in the package acclimate_host)."""
    boards = sorted(_ROOT.glob("boards/*.toml"))
    if not boards:
        raise SystemExit("boards/*.toml is missing: build from a clone or a whole source package")
    for file in boards + sorted(_ROOT.glob("boards/costs/*.toml")):
        yield file, Path("data", file.relative_to(_ROOT))
    folder, files = _natives()
    for file in files:
        yield file, Path("native", file.relative_to(folder))
    for file in _page()[1]:
        yield file, Path("data", "playground", file.name)
    for file in sorted(_ROOT.glob("native_modules/net/*.[ch]")):  # contribute compiles them
        if not file.stem.endswith("_mod"):
            yield file, Path("data", "cores", "net", file.name)
    for file in sorted(_ROOT.glob("native_modules/common/*.h")):
        yield file, Path("data", "cores", "common", file.name)


class BuildWithFiles(build_py):
    """An editable installation finds these files in the repository and needs no copies."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for file, place in _extra_files():
            target = Path(self.build_lib, "acclimate_host", place)
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))

    def get_outputs(self, include_bytecode=True):
        extra = [] if self.editable_mode else _extra_files()
        return super().get_outputs(include_bytecode) + [
            str(Path(self.build_lib, "acclimate_host", place)) for _, place in extra
        ]


class SourcesWithBuilt(sdist):
    """The native modules and the page go along, as out/ itself does not."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for place, (folder, built) in (("native", _natives()), ("playground/site", _page())):
            for file in built:
                target = Path(base_dir, _PREBUILT, place, file.relative_to(folder))
                self.mkpath(str(target.parent))
                self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithFiles, "sdist": SourcesWithBuilt})
