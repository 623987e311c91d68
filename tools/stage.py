# SPDX-License-Identifier: MIT
"""Put together what `acclimate install` copies to a board of one architecture.

usage: python tools/stage.py ARCH...       (x64, armv6m, armv7emsp, xtensawin, rv32imc, or py)

out/stage/ARCH/acclimate/ receives the device package as bytecode, the native modules of
out/native/ARCH/, and _manifest.mpy, which holds the length and CRC-32 of each native module.
The stage py is the same without native modules.
"""

import shutil
import sys
from pathlib import Path

from acclimate_host.connect import package

OUT = Path(__file__).resolve().parent.parent / "out"


def stage(arch):
    """Make out/stage/ARCH afresh and return a line that tells what is in it."""
    folder = OUT / "stage" / arch
    shutil.rmtree(folder, ignore_errors=True)
    pure = arch == "py"
    target = folder / package.PACKAGE
    target.mkdir(parents=True)
    files = package.build(None if pure else arch, pure=pure)
    for name, data in files.items():
        (target / name).write_bytes(data)
    natives = [] if pure else package.natives(arch)
    total = sum(map(len, files.values()))
    return f"built out/stage/{arch} ({total} bytes, native modules: {' '.join(natives) or 'none'})"


def main(archs):
    for arch in archs:
        print(stage(arch))


if __name__ == "__main__":
    main(sys.argv[1:])
