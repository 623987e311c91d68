# SPDX-License-Identifier: MIT
"""Measure the house: what is public, what an install takes, circles of files, lines of each room.

    make house            (or: python tools/house.py)

Prints tables, writes out/bench/house.json, and ends with 1 where a bar is missed: at most 70
public names in 12 modules of the device package, native network modules of NATIVES_MAX bytes, and
no circle of files but the templates of the native `svm`. It also tells how far off the aim is of
3,000 lines of product code less than at the commit where the count began.
Files are read as they are in the work tree; nothing of the project is run but the packager.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

from acclimate_host.connect import package
from acclimate_host.connect.room import ROLES, littlefs_blocks
from acclimate_host.paths import built

ROOT = Path(__file__).resolve().parents[1]
BLOCK_BYTES = 4096
NAMES_MAX, MODULES_MAX, LINES_LESS = 70, 12, 3000
BEFORE = {"commit": "4d12e81", "python": 35189, "native": 6246}
# Most bytes of native modules of a Cortex-M4F.
NATIVES_MAX = {"_net": 10240, "_net_train": 14336, "_net_rare": 12288}
ARCHS = ("armv6m", "armv7emsp", "xtensawin", "rv32imc", "x64")
TEMPLATES = "native_modules/svm/"  # svm.c includes itself as float and fixed on purpose
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


# ---- what is public -------------------------------------------------------------------------


def public_names(folder):
    """Return {module: its public names} of the device package: rooms by their face, and files."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("_", ".")) and path.name != "__init__.py":
            continue
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.exists():
            names = _names(ast.parse(source.read_text(encoding="utf-8")))
            if names:
                found[path.stem] = names
    return found


def _names(tree):
    """What a module defines or its face offers, but for what begins with _."""
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES":
            names |= set(ast.literal_eval(node.value))
    return sorted(name for name in names if not name.startswith("_"))


# ---- what an install takes ------------------------------------------------------------------


def blocks(sizes, folders):
    """Blocks of 4 KB on littlefs: two for the superblock and each folder, and those of files."""
    return sum(littlefs_blocks(size, BLOCK_BYTES) for size in sizes) + 2 * (1 + folders)


def installs():
    """Return {arch: {install: {files, bytes, blocks, block_bytes}}} of what is built here."""
    found = {}
    for arch in ARCHS:
        if not package.natives(arch):
            continue
        kinds = {
            "everything": dict(),
            "default": dict(only=list(ROLES), without=package.natives_left_out()),
            "smallest": dict(only=package.PREDICT),
        }
        found[arch] = {kind: taken(package.build(arch, **how)) for kind, how in kinds.items()}
    return found


def taken(files):
    """Return {files, bytes, blocks, block_bytes} of files of the package: {name: bytes}."""
    sizes = [len(data) for data in files.values()]
    folders = {parent for name in files for parent in Path("lib/acclimate", name).parents}
    found = blocks(sizes, len(folders - {Path()}))
    return {
        "files": len(sizes),
        "bytes": sum(sizes),
        "blocks": found,
        "block_bytes": found * BLOCK_BYTES,
    }


# ---- circles --------------------------------------------------------------------------------


def python_imports(files):
    """Return {file: files that it imports, anywhere in it} of the files of packages."""
    modules = {_dotted(path): path for path in files}
    return {path: _imported(path, modules) for path in files}


def _dotted(path):
    """The name under which a file of device/ or host/ is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path, modules):
    own, found = _dotted(path).split("."), set()
    here = own if path.name == "__init__.py" else own[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {modules.get(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:  # a module of the package, else a name in its __init__
                found.add(modules.get(f"{base}.{alias.name}", modules.get(base)))
    return found - {None, path}


def includes(files):
    """Return {file: files that it includes} of C sources; the nearest of a name counts."""
    named = {}
    for path in files:
        named.setdefault(path.name, []).append(path)
    return {
        path: {
            min(named[name], key=lambda other, path=path: (other.parent != path.parent, other))
            for name in (text.split("/")[-1] for text in _INCLUDE.findall(path.read_text()))
            if name in named
        }
        - {path}
        for path in files
    }


def circles(arrows):
    """Return the groups of two files or more that reach each other."""
    reached = {start: _reached(arrows, start) for start in arrows}
    found = {
        tuple(sorted(other for other in reached[start] if start in reached[other]))
        for start in arrows
        if start in reached[start]
    }
    return sorted(group for group in found if len(group) > 1)


def _reached(arrows, start):
    seen, todo = set(), list(arrows[start])
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += arrows[path]
    return seen


# ---- lines ----------------------------------------------------------------------------------


def lines(paths):
    """Lines of files together, as `wc -l` counts."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def since(commit):
    """Return lines more in files of that commit, and lines of files that came since; git's word.

    What later work adds in files of its own is told apart from what became of the files of then.
    None where git or the commit is not here.
    """
    kinds = ("*.py", "*.c", "*.h", "*.S")
    places = [f"{top}/{kind}" for top in ("device", "host", "native_modules") for kind in kinds]
    found = {}
    for name, kind in (("old_files", "MRD"), ("new_files", "A")):
        command = ["git", "diff", "--numstat", "-M40%", f"--diff-filter={kind}", commit, "--"]
        done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return None
        pairs = [line.split("\t")[:2] for line in done.stdout.splitlines()]
        found[name] = sum(int(more) - int(less) for more, less in pairs)
    return found


def rooms(python, native):
    """Return {room: lines}: a folder of the packages, or a native module."""
    found = {}
    for path in (*python, *native):
        parts = path.relative_to(ROOT).parts
        deep = 3 if parts[0] != "native_modules" else 2
        room = "/".join(parts[:-1][:deep]) if len(parts) > deep else "/".join(parts[:-1])
        found[room] = found.get(room, 0) + lines([path])
    return dict(sorted(found.items()))


# ---- the whole ------------------------------------------------------------------------------


def measure():
    """Return what out/bench/house.json holds."""
    device = sorted((ROOT / "device").rglob("*.py"))
    host = sorted((ROOT / "host").rglob("*.py"))
    sources = sorted((ROOT / "native_modules").rglob("*.[chS]"))
    board_sources = sorted((ROOT / "boards").rglob("*.[chS]"))
    native = [path for path in sources if path.suffix != ".S"]
    found = circles(python_imports(device + host)) + circles(includes(sources + board_sources))
    public = public_names(ROOT / "device" / "acclimate")
    now = {"python": lines(device + host), "native": lines(sources)}
    return {
        "public": {
            "modules": len(public),
            "names": sum(map(len, public.values())),
            "by_module": public,
        },
        "installs": installs(),
        "natives": {
            name: path.stat().st_size for name, path in package.natives("armv7emsp").items()
        },
        "circles": [
            [str(path.relative_to(ROOT)) for path in group]
            for group in found
            if not all(str(path.relative_to(ROOT)).startswith(TEMPLATES) for path in group)
        ],
        "rooms": rooms(device + host, native),
        "lines": {
            "before": BEFORE,
            "after": now,
            "less": sum(BEFORE[kind] - now[kind] for kind in now),
            "since": since(BEFORE["commit"]),
        },
    }


def missed(found):
    """Return the bars that the house does not reach, each in a line."""
    public, short = found["public"], []
    if public["names"] > NAMES_MAX:
        short.append(f"{public['names']} public names, at most {NAMES_MAX}")
    if public["modules"] > MODULES_MAX:
        short.append(f"{public['modules']} public modules, at most {MODULES_MAX}")
    for name, most in NATIVES_MAX.items():
        size = found["natives"].get(name, 0)
        if size > most:
            short.append(f"{name} of armv7emsp has {size:,} bytes, at most {most:,}")
    short += ["a circle of files: " + ", ".join(group) for group in found["circles"]]
    return short


def show(found):
    """Print what was measured."""
    public, count = found["public"], found["lines"]
    print(f"public: {public['names']} names in {public['modules']} modules of the device package")
    for module, names in public["by_module"].items():
        print(f"  {module:12} {len(names):3}  {', '.join(names)}")
    print("installs: files, bytes, blocks of 4 KB with superblock and folders")
    for arch, kinds in found["installs"].items():
        for kind, taken in kinds.items():
            print(
                f"  {arch:10} {kind:10} {taken['files']:3} files {taken['bytes']:8,} bytes "
                f"{taken['blocks']:4} blocks ({taken['block_bytes']:,} bytes)"
            )
    print("native modules of armv7emsp: bytes, and at most")
    for name, size in found["natives"].items():
        most = NATIVES_MAX.get(name)
        print(f"  {name:16} {size:7,} {most:10,}" if most else f"  {name:16} {size:7,}")
    print("circles of files:", len(found["circles"]) or "none")
    print("lines of each room")
    for room, number in found["rooms"].items():
        print(f"  {room:32} {number:6,}")
    for when in ("before", "after"):
        python, native = count[when]["python"], count[when]["native"]
        print(f"product lines {when:6}: {python:,} Python, {native:,} native")
    print(f"  less by {count['less']:,}; the aim was {LINES_LESS:,}")
    if count["since"]:
        old, new = count["since"]["old_files"], count["since"]["new_files"]
        print(f"  of these {old:+,} in files of then, {new:+,} in files that came since")


def main():
    found = measure()
    show(found)
    path = built("bench", "house.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    short = missed(found)
    for line in short:
        print("missed:", line)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
