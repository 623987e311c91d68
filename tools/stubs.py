# SPDX-License-Identifier: MIT
"""Put the type stubs of the boards' firmware in out/stubs, apart from the virtual environment.

usage: python tools/stubs.py

MicroPython's would hide Python's own modules there, and CircuitPython's types would bring its
`board` and `microcontroller`. What is fetched stands in pyproject.toml, under `types`. Where
nothing can be fetched a line says so, and the checks that need them are left out.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "host"))

from acclimate_host.figures import tomllib  # noqa: E402

STUBS, DONE = ROOT / "out" / "stubs", ROOT / "out" / "stamps" / "stubs"
LIMIT_S = 300


def wanted():
    """Return {folder of out/stubs: requirements}."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = tomllib.loads(text)["project"]["optional-dependencies"]["types"]
    folders = {}
    for line in lines:
        name = "micropython" if line.startswith("micropython") else "circuitpython"
        folders.setdefault(name, []).append(line)
    return folders


def fetch(folder, lines):
    """Install the packages themselves, without what they run on."""
    quiet = ["-q", "--disable-pip-version-check", "--no-deps", "--upgrade"]
    command = [sys.executable, "-m", "pip", "install", *quiet, "--target", str(folder), *lines]
    try:
        return subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    folders = wanted()
    text = repr(folders)
    if DONE.is_file() and DONE.read_text(encoding="utf-8") == text:
        return
    missing = [name for name, lines in folders.items() if not fetch(STUBS / name, lines)]
    if missing:
        print("left out: types of", ", ".join(missing), "(their stubs cannot be fetched)")
        return
    DONE.parent.mkdir(parents=True, exist_ok=True)
    DONE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
