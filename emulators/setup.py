# SPDX-License-Identifier: MIT
"""Take along the firmware that `make firmware` built, and the version of Acclimate."""

import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_FOR_TESTS = ("nrf52840-f30", "nrf52840-natives")


def _version():
    text = (_ROOT / "device" / "acclimate" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.*)"', text, re.MULTILINE).group(1)


def _files():
    """Yield (file here, its place in the package)."""
    found = sorted(_ROOT.glob("out/firmware/*/firmware.elf"))
    built = [file for file in found if file.parent.name not in _FOR_TESTS]
    if not built:
        raise SystemExit("no firmware in out/firmware: run make firmware first")
    for file in built:
        yield file, Path("firmware", file.parent.name, file.name)
    yield _HERE / "LICENSE.littlefs", Path("licenses", "littlefs")
    yield _ROOT / "out" / "micropython" / "LICENSE", Path("licenses", "micropython")


class BuildWithFirmware(build_py):
    def run(self):
        super().run()
        for file, place in _files():
            target = Path(self.build_lib, "acclimate_emulators", place)
            self.mkpath(str(target.parent))
            self.copy_file(str(file), str(target))

    def get_outputs(self, include_bytecode=True):
        places = [str(Path(self.build_lib, "acclimate_emulators", at)) for _, at in _files()]
        return super().get_outputs(include_bytecode) + places


setup(version=_version(), cmdclass={"build_py": BuildWithFirmware})
