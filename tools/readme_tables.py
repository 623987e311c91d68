# SPDX-License-Identifier: MIT
"""Write the tables of bytes in docs/install.md from what was built.

usage: python tools/readme_tables.py [--check]

With --check nothing is written; the exit status tells whether the table of modules is up to date
(bytecode grows with every change, and may be 10 % off). Other numbers are those of
`make bench NAME=papers`. The table of installs has its words in the page; numbers are put in.
"""

import ast
import re
import sys

import house

from acclimate_host.connect import merge, package
from acclimate_host.connect.room import ROLES
from acclimate_host.paths import built, repository

INSTALL = repository() / "docs" / "install.md"
# Room or module -> the files that belong to it on a board.
MODULES = {
    "svm": (
        "svm",
        "_svm_data",
        "_svm_train",
        "_svm_collect",
        "_svm_more",
        "_svm_solver",
        "_svm_small",
    ),
    "features": ("features",),
    "loop": ("loop",),
    "net": ("net", "_net_more", "_net_float32", "_net_python"),
    "store": ("store", "_store_update", "flash"),
    "pull": ("pull", "_pull_more"),
    "acceptance": ("acceptance", "reservoir"),
    "pager": ("pager",),
}
ARCHS = {
    "armv7emsp": "nRF52840",
    "armv6m": "SAMD21",
    "xtensawin": "ESP32",
    "rv32imc": "ESP32-C3, C6",
    "x64": "desktop",
}
_ROW = re.compile(r"^\| (\(nothing\)|`(.+?)`) \| (.+) \| [\d,]+ \| \d+ \|$", re.MULTILINE)


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


def summary(name):
    """First sentence of the docstring of a room or module."""
    text = merge.modules()[name].read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)).splitlines()[0].rstrip(".")


def modules_table():
    """Bytes of bytecode of each module."""
    lines = ["| module | what it does | bytecode, bytes |", "|---|---|---|"]
    sizes = {name: len(data) for name, data in package.build(pure=True).items()}
    for name, files in MODULES.items():
        size = sum(sizes[file + ".mpy"] for file in files)
        lines.append(f"| `acclimate.{name}` | {summary(name)} | {size:,} |")
    return "\n".join([*lines, ""])


def native_table():
    """Bytes of each native module on each architecture."""
    lines = [
        "| native module, bytes | "
        + " | ".join(f"{board} (`{arch}`)" for arch, board in ARCHS.items())
        + " |"
    ]
    lines.append("|---" * (len(ARCHS) + 1) + "|")
    names = sorted({p.stem for arch in ARCHS for p in built("native", arch).glob("_*.mpy")})
    for name in names:
        files = [built("native", arch, name + ".mpy") for arch in ARCHS]
        sizes = [f"{f.stat().st_size:,}" if f.exists() else "" for f in files]
        lines.append(f"| `{name}` | " + " | ".join(sizes) + " |")
    return "\n".join([*lines, ""])


def installs_table(text):
    """The table of installs on an nRF52840 as it stands, with the numbers of now."""
    default = _installed(only=list(ROLES), without=package.natives_left_out())

    def filled(row):
        head, name, words = row.groups()
        if name is None:
            words = re.sub(r"\d+ files", f"{default['files']} files", words)
            taken = default["bytes"], default["blocks"]
        elif name == "--only predict":
            files = _installed(only=package.PREDICT)
            taken = files["bytes"], files["blocks"]
        else:
            only = [*ROLES, *merge.EXTRAS[name]]
            more = _installed(only=only, without=package.natives_left_out([name]))
            taken = tuple(more[key] - default[key] for key in ("bytes", "blocks"))
        return f"| {head} | {words} | {taken[0]:,} | {taken[1]} |"

    return _ROW.sub(filled, text)


def _installed(**how):
    return house.taken(package.build("armv7emsp", **how))


def main():
    text = INSTALL.read_text()
    if "--check" in sys.argv:
        return int(not bytecode_is_near(text))
    text = replaced(text, "installs", installs_table(block(text, "installs").group(1)))
    text = replaced(text, "modules", modules_table())
    INSTALL.write_text(replaced(text, "native", native_table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
