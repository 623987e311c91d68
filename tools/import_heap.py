# SPDX-License-Identifier: MIT
"""Measure what the import of each feature takes of a board's heap, from files or frozen.

usage: python tools/import_heap.py nrf52840|samd21|desktop
       python tools/import_heap.py frozen [FIRMWARE]  (as usual: STATIC=0 tools/firmware.sh)
       python tools/import_heap.py store     (what a program takes of the files of a 32 KB board)

Each feature is installed alone, imported after a soft reset, and counted with what it imports.
"""

import sys

from acclimate_host.capsules.build import build
from acclimate_host.connect import open_board, package
from acclimate_host.connect.install import install
from acclimate_host.errors import BoardError, Refused
from acclimate_host.paths import firmware

# What is installed, and the statement whose heap is counted.
FEATURES = {
    "acclimate": ("features", "import acclimate"),
    "features": ("features", "from acclimate.features import WindowFeatures"),
    "reservoir": ("reservoir", "from acclimate.reservoir import Reservoir"),
    "drift": ("drift", "from acclimate.drift import PageHinkley"),
    "acceptance": ("acceptance", "from acclimate.acceptance import accept"),
    "loop": ("loop", "from acclimate.loop import Loop"),
    "svm": ("svm", "from acclimate.svm import SVM"),
    "svm, trained once": (
        "svm",
        "from acclimate.svm import SVM\nSVM(kernel='linear').fit([[0], [4]], [0, 1])",
    ),
    "net": ("net", "from acclimate.net import Net"),
    "store": ("store", "from acclimate.store import Store"),
    "pull": ("pull", "from acclimate.pull import Client"),
    "pager": ("pager", "from acclimate.pager import Pager"),
}
# Firmware with frozen parts: its board, and what is imported.
FROZEN = {
    "samd21-capsules": ("samd21", ("store Store", "pull Pull")),
    "samd21-verdict": ("samd21", ("store Store", "acceptance accept")),
    "samd21-learning": ("samd21", ("svm SVM", "loop Loop")),
    "stm32f103": ("stm32f103", ("svm PassiveAggressive", "drift PageHinkley")),
    "nrf52840-natives": ("nrf52840", ("store Store", "net Net", "svm SVM")),
}
_COUNT = """
import gc
gc.collect()
a = gc.mem_free()
{}
gc.collect()
print(a - gc.mem_free())
"""

# What a program does with a store, step by step; before them stands what makes the region.
_REGION = """
import qboard
from acclimate.flash import BlockFlash
from acclimate.store import Store, Wanted
region = qboard.Flash(qboard.RAW_START, 6 * qboard.PAGE_BYTES)
Store(BlockFlash(region), Wanted(model=7, unsigned=True)).swap_capsule({})
"""
_STEPS = (
    (
        "import",
        "from acclimate.store import Store, Wanted\nfrom acclimate.flash import BlockFlash",
    ),
    (
        "open",
        "import qboard\nfrom acclimate import _native\n_native.load('codec')\n"
        "_native._forget('_loader')\n"  # as a board with little heap does
        "store = Store(BlockFlash(qboard.Flash(qboard.RAW_START, 6 * qboard.PAGE_BYTES)),"
        " Wanted(model=7), chunk_bytes=64)",
    ),
    ("read 200 bytes", "weights = bytearray(200)\nstore.readinto(2, 0, weights)"),
    ("save", "weights[0] ^= 1\nstore.save(weights)"),
    ("stage, try and confirm", "store.wanted.unsigned = True\nstore.swap_capsule({})"),
)


def main(name):
    print(f"{name}: heap taken by an import, bytes")
    for feature, (module, statement) in FEATURES.items():
        with open_board(name) as board:
            try:
                install(board, [module], yes=True)
                board.soft_reset()
                taken = f"{int(board.exec(_COUNT.format(statement))):,}"
            except (BoardError, Refused) as error:
                taken = f"does not fit: {str(error).partition(':')[0]}"
        print(f"  {feature:20}{taken}")


def frozen(names):
    """Print what imports take of frozen parts."""
    for name in names:
        board_name, features = FROZEN[name]
        with open_board(board_name, elf=firmware(name)) as board:
            for feature in features:
                board.soft_reset()
                statement = "from acclimate.%s import %s" % tuple(feature.split())
                taken = int(board.exec("import gc\ngc.collect()\n" + _COUNT.format(statement)))
                print(f"  {name:20}{statement:50}{taken:,}")


def steps():
    """Print what the steps of a program take, with a 32 KB board's files in a larger heap."""
    files = package.build("armv6m", ["store", "flash.base"], slim=True)
    model = {"PROGRAM": bytes(64), "WEIGHTS": bytes(200)}
    old, new = (build(model, "SVM", 7, version, key=bytes(16)) for version in (1, 2))
    with open_board("nrf52840") as board:
        folder = board.lib + "/acclimate"
        board.mkdir(folder)
        for name, data in files.items():
            board.put_bytes(data, f"{folder}/{name}")
        board.soft_reset()
        board.exec(_REGION.format(bytes(old)))
        board.soft_reset()
        start = int(board.exec("import gc\ngc.collect()\nprint(gc.mem_free())"))
        for step, code in _STEPS:
            board.exec(code.format(bytes(new)))
            free = int(board.exec("gc.collect()\nprint(gc.mem_free())"))
            print(f"  {step:24}{start - free:,}")


if __name__ == "__main__":
    if sys.argv[1] == "frozen":
        frozen(sys.argv[2:] or FROZEN)
    elif sys.argv[1] == "store":
        steps()
    else:
        main(sys.argv[1])
