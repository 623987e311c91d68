# SPDX-License-Identifier: MIT
"""Committed results: what a bench measured, with commit, command, date and source digests.

``measurements.toml`` lists the commands. ``measure`` runs one and keeps the fields that a page
or a table asks for in ``results/NAME.json``, so that a fresh clone has them.
"""

import datetime
import json
import re
import subprocess
import sys
from dataclasses import dataclass

from acclimate_host.figures import read_toml
from acclimate_host.paths import built, repository
from bench.papers import sources

FOLDER = repository() / "bench" / "papers"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]")


@dataclass(frozen=True)
class Measurement:
    """A command, the files that its numbers depend on, and about how long it takes."""

    name: str
    sources: tuple
    seconds: int
    command: str

    @property
    def path(self):
        return FOLDER / "results" / (self.name + ".json")


def measurements():
    """Return {name: Measurement} of measurements.toml."""
    found = {}
    for name, entry in read_toml(FOLDER / "measurements.toml", ValueError).items():
        command = entry.get("command", f"make bench NAME={name}")
        found[name] = Measurement(name, tuple(entry["sources"]), entry["seconds"], command)
    return found


def load(name):
    """Return the kept result of a name, or None.

    A dictionary of `command`, `commit`, `date`, `sources` {path: digest} and `values`.
    """
    path = FOLDER / "results" / (name + ".json")
    return json.loads(path.read_text()) if path.exists() else None


def why_stale(measurement):
    """Return the files that changed since the measurement, [] for a fresh one."""
    kept = load(measurement.name)
    if kept is None:
        return ["never measured"]
    changed = sources.changed(kept["sources"])
    new = set(sources.files(measurement.sources)) - set(kept["sources"])
    return sorted([*changed, *new])


def measure(measurement, fields):
    """Run the command of a measurement and keep these fields of what it leaves in out/bench.

    :raises SystemExit: where the command leaves nothing new
    """
    path = built("bench", measurement.name + ".json")
    before = path.stat().st_mtime_ns if path.exists() else 0
    command = [sys.executable, "-m", "bench." + measurement.name]
    subprocess.run(command, cwd=repository())  # its own targets are not ours to judge
    if not path.exists() or path.stat().st_mtime_ns == before:
        raise SystemExit(f"{measurement.command}: left no result")
    keep(measurement, fields)


def keep(measurement, fields):
    """Keep fields ("a.b.c") of out/bench/NAME.json as a committed result."""
    whole = json.loads(built("bench", measurement.name + ".json").read_text())
    values = {field: look_up(whole, field) for field in sorted(fields)}
    missing = [field for field, value in values.items() if value is None]
    if missing:
        raise SystemExit(f"{measurement.command}: left no {', '.join(missing)}")
    kept = {
        "command": measurement.command,
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "sources": sources.digests(measurement.sources),
        "values": values,
    }
    measurement.path.parent.mkdir(exist_ok=True)
    measurement.path.write_text(json.dumps(kept, indent=1) + "\n")


def look_up(whole, field):
    """Return what a dotted field names; a part may hold dots itself, or number a list.

    What is neither letter nor digit in a key is an underscore in a field.
    """
    if field == "":
        return whole
    if isinstance(whole, list):
        first, _, rest = field.partition(".")
        return look_up(whole[int(first)], rest) if int(first) < len(whole) else None
    if not isinstance(whole, dict):
        return None
    keys = {_NOT_IN_NAMES.sub("_", key): key for key in whole}
    parts = field.split(".")
    for count in range(1, len(parts) + 1):
        key = ".".join(parts[:count])
        if key in keys:
            found = look_up(whole[keys[key]], ".".join(parts[count:]))
            if found is not None:
                return found
    return None


def commit():
    """Return the short commit that is checked out."""
    command = ["git", "rev-parse", "--short=9", "HEAD"]
    done = subprocess.run(command, cwd=repository(), capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
