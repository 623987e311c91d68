# SPDX-License-Identifier: MIT
"""Power cuts: `make bench NAME=powercut` writes out/bench/powercut.json.

model: every program and erase step of every operation in the flash model, each way to tear it,
and a second cut while it recovers. board: the firmware of the emulated nRF52840 is cut for real.
"""

import concurrent.futures
import os
import sys

from bench import common, powercut_board
from bench.powercut_cases import cases
from bench.powercut_model import campaign

SECOND_EVERY = 6
ROWS = [
    ("model.states", ">=", 100_000),
    ("model.lost", "=", 0),
    ("model.mixed", "=", 0),
    ("model.unbootable", "=", 0),
    ("model.stuck", "=", 0),
    ("board.cuts", ">=", 200),
    ("board.lost", "=", 0),
    ("board.mixed", "=", 0),
    ("board.unbootable", "=", 0),
]


def run_case(name):
    done = campaign(SECOND_EVERY, [name])
    return done.result(), done.failures


def run_model():
    total = {"second_cut_every": SECOND_EVERY, "cases": {}}
    names = [case.name for case in cases()]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for result, failures in pool.map(run_case, names):
            for failure in failures[:3]:
                print("failure:", failure)
            total["cases"].update(result.pop("cases"))
            for key, value in result.items():
                total[key] = total.get(key, 0) + value
    return total


def main():
    result = {"model": run_model()}
    reason = powercut_board.why_not()
    if reason:
        print("board part left out:", reason)
    else:
        result["board"] = powercut_board.run(int(os.environ.get("CUTS", "240")))
    print("wrote", common.write("powercut", result).name)
    return 1 if common.table("power cuts", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
