# SPDX-License-Identifier: MIT
"""Measure what the import of each feature takes of a board's heap, from files.

usage: python tools/import_heap.py nrf52840|samd21|desktop

Each feature is installed alone, imported after a soft reset, and counted with what it imports.
"""

import sys

from acclimate_host.connect import open_board
from acclimate_host.connect.install import install
from acclimate_host.errors import BoardError, Refused

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


if __name__ == "__main__":
    main(sys.argv[1])
