# SPDX-License-Identifier: MIT
"""Measure what the import of each feature takes of a board's heap, from files or frozen.

usage: python tools/import_heap.py nrf52840|samd21|desktop
       python tools/import_heap.py frozen [FIRMWARE]  (as usual: STATIC=0 tools/firmware.sh)

Each feature is installed alone, imported after a soft reset, and counted with what it imports.
"""

import sys

from acclimate_host.connect import open_board
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


if __name__ == "__main__":
    if sys.argv[1] == "frozen":
        frozen(sys.argv[2:] or FROZEN)
    else:
        main(sys.argv[1])
