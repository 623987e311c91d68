# SPDX-License-Identifier: MIT
"""What pyproject.toml cannot say: a wheel takes files along that lie outside of the packages.

Board descriptions always; native modules and the page when they were built (`make wheel` does).
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_ROOT = Path(__file__).resolve().parent


def _extra_files():
    """Yield (file here, its place in the package acclimate_host)."""
    for file in sorted(_ROOT.glob("boards/*.toml")) + sorted(_ROOT.glob("boards/costs/*.toml")):
        yield file, Path("data", file.relative_to(_ROOT))
    for file in sorted(_ROOT.glob("out/native/*/*.mpy")):
        yield file, Path("native", file.relative_to(_ROOT / "out" / "native"))
    for file in sorted(_ROOT.glob("out/playground/site/*")):
        yield file, Path("data", "playground", file.name)


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


setup(cmdclass={"build_py": BuildWithFiles})
