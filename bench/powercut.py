# SPDX-License-Identifier: MIT
"""Power cuts: `make bench NAME=powercut` writes out/bench/powercut.json.

model: every program and erase step of every operation in the flash model, each way to tear it,
and a second cut while it recovers. rot: one damaged byte or worn page. driver: an OSError at any
call. board: the firmware of the emulated nRF52840 is cut for real.
"""

import argparse
import concurrent.futures
import os
import sys

from bench import common, powercut_board, powercut_rot
from bench.powercut_cases import cases
from bench.powercut_model import campaign

SECOND_EVERY = 6
ROT_EVERY = 7  # every n-th state; no multiple of the ways that a driver fails in
ROWS = [
    ("model.states", ">=", 100_000),
    ("model.lost", "=", 0),
    ("model.mixed", "=", 0),
    ("model.unbootable", "=", 0),
    ("model.stuck", "=", 0),
    ("rot.states", ">=", 50_000),
    ("rot.lost", "=", 0),
    ("rot.wrong", "=", 0),
    ("rot.stuck", "=", 0),
    ("driver.states", ">=", 5_000),
    ("driver.lost", "=", 0),
    ("driver.wrong", "=", 0),
    ("driver.stuck", "=", 0),
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


def rot_case(name):
    done = powercut_rot.campaign(ROT_EVERY, [name])
    driver = powercut_rot.campaign(1, [name], driver_only=True)
    return done.result()["rot"], driver.result()["driver"], done.failures + driver.failures


def run_rot():
    """Return the counts of damaged flash and of drivers that raise."""
    total = {"rot": {"every": ROT_EVERY}, "driver": {}}
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for rot, driver, failures in pool.map(rot_case, [case.name for case in cases()]):
            for failure in failures[:3]:
                print("failure:", failure)
            for kind, counts in (("rot", rot), ("driver", driver)):
                for key, value in counts.items():
                    total[kind][key] = total[kind].get(key, 0) + value
    return total


def main():
    parser = argparse.ArgumentParser(description="power cuts, rotting flash, drivers that raise")
    parser.add_argument("--cuts", type=int, default=240, help="on an emulated board (240)")
    cuts = parser.parse_args().cuts
    result = {"model": run_model(), **run_rot()}
    reason = powercut_board.why_not()
    if reason:
        print("board part left out:", reason)
    else:
        result["board"] = powercut_board.run(cuts)
    print("wrote", common.write("powercut", result).name)
    return 1 if common.table("power cuts", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
