# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: packages take files along that lie outside of them.

The wheel has the board descriptions, and the native modules that have been built (`make wheel`
builds all). The source distribution has those native modules as well, in prebuilt/, so that it
gives the same wheel on a computer without cross compilers.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_ROOT = Path(__file__).resolve().parent
_PREBUILT = Path("prebuilt", "native")


def _natives():
    """Return (the folder that has ARCH/*.mpy, those files)."""
    for folder in (_ROOT / "out" / "native", _ROOT / _PREBUILT):
        files = sorted(folder.glob("*/_*.mpy"))
        if files:
            return folder, files
    return None, []


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


class SourcesWithNatives(sdist):
    """The native modules go along, as out/ itself does not."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        folder, natives = _natives()
        for file in natives:
            target = Path(base_dir, _PREBUILT, file.relative_to(folder))
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithFiles, "sdist": SourcesWithNatives})
