# SPDX-License-Identifier: MIT
"""Write the files that a firmware freezes: parts of the device package, as on a board.

usage: python tools/frozen.py learning|capsules|verdict|online FOLDER

The 256 KB of a SAMD21 do not take the whole package: each firmware names the modules that it has.
"""

import shutil
import sys
from pathlib import Path

from acclimate_host.connect import merge

LEARNING = (
    "__init__",
    "_native",
    "_crc32",
    "_loader",
    "features",
    "loop",
    "svm",
    "svm.parameters",
    "svm.rows",
    "svm.model",
    "svm.machine",
    "svm.data",
    "svm.scaled",
    "svm.scaler",
    "svm.notes",
    "svm.collect",
    "svm.train",
)
CAPSULES = (
    "__init__",
    "_native",
    "_loader",
    "_buffers",
    "_crc",
    "_digest",
    "_sha256",
    "flash",
    "flash.base",
    "net",
    "net.fields",
    "net.network",
    "pull",
    "pull.exchange",
    "pull.part",
    "pull.http",
    "pull.manifest",
    "pull.serial",
    "store",
    "store.capsule",
    "store.core",
    "store.delta",
    "store.install",
    "store.journal",
    "store.operators",
    "store.rangecoder",
    "store.slots",
)
_VERDICT = (
    "_replace",
    "acceptance",
    "reservoir",
    "store.waiting",
    "svm",
    "svm.small",
    "svm.small_file",
)
_NO_VERDICT = ("net", "net.fields", "net.network", "store.operators")
VERDICT = (*(name for name in CAPSULES if name not in _NO_VERDICT), *_VERDICT)
ONLINE = (
    "__init__",
    "_native",
    "_loader",
    "_crc",
    "_replace",
    "_sha256",
    "features",
    "reservoir",
    "drift",
    "svm",
    "svm.online",
    "svm.small",
    "svm.small_file",
    "svm.small_report",
)
FIRMWARE = {"learning": LEARNING, "capsules": CAPSULES, "verdict": VERDICT, "online": ONLINE}
APART = ("learning",)  # whose modules load one by one: heap is scarcest there


def write(firmware, folder):
    """Write the merged files of the modules of a firmware below a folder."""
    target = Path(folder, merge.PACKAGE)
    shutil.rmtree(folder, ignore_errors=True)
    target.mkdir(parents=True)
    names = FIRMWARE[firmware]
    layout = merge.layout("armv6m" if firmware in APART else merge.FROZEN)
    for unit, modules in layout.units.items():
        chosen = [module for module in modules if module in names]
        if chosen:
            text = merge.for_micropython(layout.merged(unit, chosen), unit)
            (target / f"{unit}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2])
