# SPDX-License-Identifier: MIT
"""The device package as files on a board: modules that load together become one file.

A board has no sub-packages: each costs two blocks of its file system and heap at every import.
``acclimate/svm/train.py`` and its neighbours become ``acclimate/_svm_train.mpy`` there, while
``from acclimate.svm import SVM`` stays as it is. Imports between modules of one file are taken
out; imports of other files name the file. A module-level name that two modules of a file use
for different things gets the module's name behind it.

A board with little heap has the modules apart, so that only what is used takes some of it. One
with a file system of megabytes has those apart of which it uses one: drivers and transports.
"""

import ast
import functools

from acclimate_host.connect import later
from acclimate_host.errors import Refused
from acclimate_host.paths import device_package

PACKAGE = "acclimate"

# file on the board -> modules in it, each after those that it needs at once
_TOGETHER = {
    "__init__": ("__init__", "_folder", "_native", "_loader"),
    "_buffers": ("_buffers", "_heap", "_crc", "_digest", "_replace"),
    "_sha256": ("_crc32", "_sha256"),
    "svm": ("svm", "svm.model", "svm.plain", "svm.machine"),
    "_svm_data": ("svm.rows", "svm.data", "svm.scaled", "svm.metrics"),
    "_svm_train": ("svm.scaler", "svm.train"),
    "_svm_collect": ("svm.parameters", "svm.notes", "svm.collect"),
    "_svm_more": ("svm.file", "svm.incremental"),
    "_svm_solver": (
        "svm.ulab",
        "svm.kernels",
        "svm.floats",
        "svm.fixed",
        "svm.solver",
        "svm.refusals",
    ),
    "_svm_small": ("svm.small", "svm.small_file", "svm.small_report"),
    "_svm_kinds": ("svm.single", "svm.oneclass", "svm.regression", "svm.kinds"),
    "_svm_labels": ("svm.labels",),
    "_svm_online": ("svm.online",),
    "_svm_probability": ("svm.probability",),
    "features": ("features",),
    "loop": ("loop",),
    "_bands": ("_bands",),
    "_bands_plain": ("_bands_plain",),
    "drift": ("drift",),
    "energy": ("_loop_state", "energy"),
    "reservoir": ("reservoir",),
    "acceptance": ("acceptance",),
    "net": ("net", "net.fields", "net.network"),
    "_net_more": ("net.targets", "net.diagnosis"),
    "_net_float32": ("net.float32",),
    "_net_python": ("net.layer", "net.interpreter", "net.training", "net.rare", "net.gates"),
    "_net_recurrent": ("net.recurrent", "net.attention"),
    "store": ("store", "store.capsule", "store.journal", "store.slots", "store.core"),
    "_store_update": (
        "store.rangecoder",
        "store.delta",
        "store.install",
        "store.live_model",
        "store.save_policy",
        "store.waiting",
        "store.operators",
    ),
    "_trust": ("_signature", "_trust"),
    "flash": (
        "flash",
        "flash.base",
        "flash.file",
        "flash.retry",
        "flash.card",
        "flash.esp32",
        "flash.nrf",
        "flash.nvm",
        "flash.samd",
        "flash.romfs",
        "flash.choose",
    ),
    "pull": (
        "pull",
        "pull.sockets",
        "pull.http",
        "pull.manifest",
        "pull.part",
        "pull.exchange",
        "pull.client",
    ),
    "_pull_encrypted": ("pull.encrypted",),
    "_pull_more": ("pull.blocks", "pull.serial", "pull.mqtt", "pull.reports"),
    "pager": ("pager", "pager.core", "pager.media", "pager.files", "pager.fallback"),
}


# Where the heap is small only these lie together; `later.LATER` says which of their methods load
# when they are called.
_APART: dict[str, tuple[str, ...]] = {
    "_buffers": ("_buffers", "_digest"),
    "_loader": ("_crc32", "_loader"),
    "store": _TOGETHER["store"],
    "_store_update": ("store.rangecoder", "store.delta"),
}
_SMALL_ARCHS = ("armv6m",)
# A file system of megabytes has room for more files: of drivers and transports a board loads one.
_CHOICES = ("flash", "_pull_more")
_ROOMY = {unit: names for unit, names in _TOGETHER.items() if unit not in _CHOICES}
_ROOMY_ARCHS = ("xtensawin", "rv32imc")
# What only answers rows, in place of an architecture: the machine itself is the room, and lies in
# no package that would take heap.
PREDICTING = "predict"
_PREDICTING = {
    "svm": ("svm.predictor", "svm.loader"),
    "_svm_slow": ("svm.rows", "svm.scaled", "svm.answers"),
    "_svm_crc": ("_crc32",),
}
# Where the heap is small what loads a machine is unloaded, and what scales rows is not there.
PREDICTING_APART = "predict apart"
_PREDICTING_APART = {
    "svm": ("svm.predictor",),
    "_svm_load": ("_crc32", "svm.loader"),
    "_svm_slow": ("svm.answers",),
    "_svm_rows": ("svm.rows", "svm.scaled"),
}
# The same in pure Python: the room as one file, of which the solver's is used beside it.
PREDICTING_PURE = "predict pure"
_PREDICTING_PURE = {
    **{unit: names for unit, names in _TOGETHER.items() if unit != "_svm_data"},
    "_buffers": ("_buffers", "_heap", "_crc", "_digest"),
    "svm": (
        "svm",
        "_replace",
        "svm.parameters",
        "svm.rows",
        "svm.model",
        "svm.data",
        "svm.scaled",
        "svm.file",
        "svm.machine",
    ),
    "_svm_collect": ("svm.notes", "svm.collect"),
    "_svm_more": ("svm.incremental", "svm.metrics"),
}
_ANSWERING = {"svm.predictor", "svm.loader", "svm.answers"}  # which no other layout has
# What a room offers beside the default set: name -> modules (see `acclimate install --with`).
EXTRAS = {
    "pager": ("pager",),
    "mqtt": ("pull.mqtt", "pull.blocks", "pull.serial", "pull.reports"),
    "small": ("svm.small", "svm.small_file", "svm.small_report"),
    "drift": ("drift",),
    "energy": ("energy", "_loop_state"),
    "kinds": ("svm.single", "svm.oneclass", "svm.regression", "svm.kinds"),
    "labels": ("svm.labels",),
    "online": ("svm.online",),
    "probability": ("svm.probability",),
    "float32": ("net.float32",),
    "fixed": (),
    "fast": ("svm.plain",),
    "rare": ("net.gates", "net.recurrent", "net.attention"),
    "ed25519": ("_trust",),
    "encrypted": ("pull.encrypted",),
    "frontend": ("_bands", "_bands_plain"),
}
# Whole numbers of these modules, in capitals, are put in where they are used: a board has neither
# their names nor a look-up of them.
_CONSTANTS = ("svm.parameters", "svm.rows", "svm.model", "store.journal", "store.slots")
# Where the heap is small the objects of these print as others do: it goes to what they compute.
_SILENT = (
    *("features", "reservoir", "drift", "loop", "_bands", "flash.base", "flash.retry"),
    *("store.core", "store.capsule", "store.delta", "store.live_model", "pull.client"),
    *("pull.blocks", "pull.serial", "pull.mqtt"),
)
_FOR_CHECKERS = ("typing", "circuitpython_typing")
# A compiler puts the numbers of `const` in: no board has to look for the name, nor to keep it.
_CONST = """\
try:
    from micropython import const
except ImportError:

    def const(value):
        return value
"""
# Made by the installer.
_INSTALLED = ("_manifest",)
# Native modules that come with an extra only; without one pure Python does the same.
EXTRA_NATIVES = {
    "float32": ("_net_f32", "_net_f32_train", "_net_f32_rare"),
    "fixed": ("_svm_q16",),
    "fast": ("_svm_fit",),
    "rare": ("_net_rare",),
    "ed25519": ("_ed25519",),
    "encrypted": ("_xchacha",),
    "frontend": ("_frontend",),
}


def for_micropython(text, unit=None):
    """Return a file's text in which MicroPython finds `array`, `binascii`, `io` at once.

    A file may take their place: at each import all folders are looked through first, unless a u
    stands before the name. The package has `array` for all of its files. Nor is `const` looked
    for.

    :param unit: name of the file in the package; None where it lies in no package.
    """
    text = text.replace(_CONST, "\n" * _CONST.count("\n"))
    for name in ("binascii", "io"):
        text = text.replace(f"from {name} import ", f"from u{name} import ")
    if unit == "__init__":
        return text + "from uarray import array\n"
    place = "uarray" if unit is None else PACKAGE
    return text.replace("from array import array\n", f"from {place} import array\n")


def companions(name, arch):
    """Return the rooms that programs import beside the named one."""
    return ("store", "flash") if name in ("store", "pull") and arch not in _SMALL_ARCHS else ()


@functools.lru_cache(maxsize=1)
def modules():
    """Return ``{module name below acclimate: source path}`` of the device package."""
    folder = device_package()
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[-1] == "_manifest":
            continue
        face = len(parts) > 1 and parts[-1] == "__init__"
        found[".".join(parts[:-1] if face else parts)] = path
    return found


def of_package(name):
    """Tell whether an imported name is the package or below it."""
    return name is not None and name.partition(".")[0] == PACKAGE


def origin(module, name=None):
    """Return (module, name), or (module,), that an import of the package means."""
    below = module.partition(".")[2]
    path = ".".join(filter(None, [below, name]))
    if name is None or path in modules():
        return (path,)
    return _where(below or "__init__", name)


@functools.lru_cache(maxsize=8)
def layout(arch=None):
    """Return the `Layout` of the package on boards of an architecture, or that of `PREDICTING`."""
    if arch in _KINDS:
        return _layout(arch)
    return _layout(
        "apart" if arch in _SMALL_ARCHS else "roomy" if arch in _ROOMY_ARCHS else "together"
    )


# In firmware for a small board: files as elsewhere, without what only prints.
FROZEN = "frozen"
_KINDS = {
    "apart": _APART,
    "roomy": _ROOMY,
    "together": _TOGETHER,
    FROZEN: _TOGETHER,
    PREDICTING: _PREDICTING,
    PREDICTING_APART: _PREDICTING_APART,
    PREDICTING_PURE: _PREDICTING_PURE,
}


@functools.lru_cache(maxsize=8)
def _layout(kind):
    return Layout(_KINDS[kind], silent=kind in ("apart", FROZEN), lazy=kind == "apart")


def predicting(arch):
    """Return the `Layout` of what only answers rows on boards of an architecture."""
    return layout(PREDICTING_APART if arch in _SMALL_ARCHS else PREDICTING)


def offered(room):
    """Return the modules behind the names of a room's face, but for extras."""
    return {value.partition(".")[2] for value in names_of(room).values()} - extras()


def names_of(room):
    """Return ``{public name: module that defines it}`` of a room's face."""
    for node in _tree(room).body if room in modules() else ():
        if _is_face(node):
            return ast.literal_eval(node.value)
    return {}


def extras():
    """Return the modules that come with an extra only."""
    return {module for modules in EXTRAS.values() for module in modules}


def beside(module):
    """Return the modules of the extra that a module comes with."""
    return {other for modules in EXTRAS.values() if module in modules for other in modules}


class Layout:
    """Which modules of the package are which file on a board.

    :ivar dict unit_of: module -> file; a module that no file lists is a file itself
    :ivar dict units: file -> its modules
    :ivar tuple own: the files that this layout lists
    :ivar bool silent: without what only prints, as the heap is small
    :ivar dict later: file that loads later -> the file whose methods it has
    """

    def __init__(self, together, silent=False, lazy=False):
        self.own, self.silent = tuple(together), silent
        self.later = {}
        if lazy:
            self.later = {file: unit for unit in later.LATER for file in later.LATER[unit]}
        listed = {module: unit for unit, names in together.items() for module in names}
        names = modules().keys() - (_ANSWERING - listed.keys())
        self.unit_of = {m: listed.get(m, m.replace(".", "_")) for m in sorted(names)}
        self.units = {}
        for module, unit in self.unit_of.items():
            self.units.setdefault(unit, []).append(module)
        for unit in self.units:
            self.units[unit] = together.get(unit, tuple(self.units[unit]))
        self._names, self._texts, self._split = {}, {}, {}

    def merged(self, unit, names=None):
        """Return the source text of one file of the package as it lies on a board.

        :param names: of its modules, where not all of them are wanted: with all methods, then.
        """
        base = self.later.get(unit, unit)
        if names is None and base in self.later.values():
            if unit not in self._split:
                whole = self.merged(base, self.units[base])
                self._split.update(later.split(whole, base, PACKAGE))
            return self._split[unit]
        wanted = unit, tuple(names or self.units[unit])
        if wanted not in self._texts:
            self._texts[wanted] = self._merge(*wanted)
        return self._texts[wanted]

    def _merge(self, unit, names):
        imported = set()
        texts = [_Module(self, name, imported=imported).on_board() for name in names]
        head = texts[0].partition("\n")[0]
        texts = [text.partition("\n")[2] for text in texts]
        if unit == "__init__" and "_native" in names:  # one name for it, wherever it lies
            texts.append(f'_native = __import__("{PACKAGE}")\n')
        return head + "\n" + "\n".join(texts)

    def for_board(self, text):
        """Return a program's text with its imports of the package as they are on a board."""
        return _Module(self, None, text).on_board()

    def absolute(self, module):
        """Return the name by which a module's file is imported on a board."""
        unit = self.unit_of[module]
        return PACKAGE if unit == "__init__" else f"{PACKAGE}.{unit}"

    def globals(self, unit):
        """Return ``{(module, name): name in the merged file}``."""
        if unit not in self._names:
            self._names[unit] = self._globals(unit)
        return self._names[unit]

    def _globals(self, unit):
        taken, found = {}, {}
        # The last module keeps its names: others may use the file as an object for it.
        for module in reversed(self.units[unit]):
            for name, what in _bound(_tree(module).body):
                if isinstance(what, tuple) and of_package(what[0]):
                    what = origin(*what)
                    if self.unit_of.get(what[0]) == unit:
                        continue  # the name that it has where it is defined
                source = what or (module, name)
                if taken.setdefault(name, source) == source:
                    found[module, name] = name
                else:
                    found[module, name] = f"{name}_{module.rpartition('.')[2]}"
        return found

    def object_import(self, module, local):
        """Return the statement that binds a module's file to a local name."""
        unit = self.unit_of[module]
        if unit == "__init__":
            return f"import {PACKAGE}" + _as(PACKAGE, local)
        return f"from {PACKAGE} import {unit}" + _as(unit, local)


@functools.lru_cache(maxsize=None)
def _tree(module):
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=None)
def _constants(module):
    """Return ({name: number as text}, line numbers of their statements) of a module."""
    values, lines = {}, set()
    for node in _tree(module).body if module in _CONSTANTS else ():
        names = [name for name, _ in _bound([node])] if isinstance(node, ast.Assign) else []
        if not names or not all(name.isupper() and name[0] != "_" for name in names):
            continue
        found = dict(values)
        exec(compile(ast.Module([node], []), module, "exec"), {"range": range}, found)
        if all(type(found[name]) is int for name in names):
            values = found
            lines.add(node.lineno)
    return {name: f"({v})" if v < 0 else str(v) for name, v in values.items()}, lines


def _bound(statements):
    """Yield (name, what it is) for each name that statements bind at the level of a module."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, None
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], (alias.name,)
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        yield part.id, None
        if isinstance(node, ast.Try):
            same = ast.unparse(node)  # a fallback for an import: the same text, the same thing
            parts = [*node.body, *node.orelse, *node.finalbody]
            parts += [inner for handler in node.handlers for inner in handler.body]
            for name, _ in _bound(parts):
                yield name, same
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.With)):
            yield from _bound([*node.body, *getattr(node, "orelse", [])])


def _where(module, name):
    """Return (module that defines a name, its name there), looked up through a room's face."""
    table = names_of(module)
    return (table[name].partition(".")[2], name) if name in table else (module, name)


def _is_for_checkers(node):
    """Tell whether a statement imports names that only annotations use: no board has them, and
    one would look for the module in each folder."""
    return isinstance(node, ast.ImportFrom) and node.module in _FOR_CHECKERS


def _is_face(node):
    """Tell whether a statement is the table of a room's public names."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
        return False
    return getattr(node.targets[0], "id", "") == "_NAMES"


class _Module:
    """One source text: what is changed in it for a board.

    :param imported: set of what the texts before it in a file import from elsewhere: a board looks
        for each such module in its file system first, so once is enough
    """

    def __init__(self, layout, module, text=None, imported=()):
        self.imported = imported
        self.layout = layout
        self.module = module
        self.unit = None if module is None else layout.unit_of[module]
        self.text = modules()[module].read_text(encoding="utf-8") if text is None else text
        if module in _SILENT and layout.silent:
            self.text = _without_repr(self.text)
        self.edits = []
        self.starts = [0]
        for line in self.text.encode().split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def on_board(self):
        self.tree = tree = ast.parse(self.text)
        own = {}
        if self.unit:
            own = {
                name: new
                for (module, name), new in self.layout.globals(self.unit).items()
                if module == self.module and new != name
            }
            own.update(_constants(self.module)[0])
        self._scope(tree, own, {})
        if self.module:
            self._import_once(tree)
        data = self.text.encode()
        for start, end, new in sorted(self.edits, reverse=True):
            data = data[:start] + new.encode() + data[end:]
        return data.decode()

    def _import_once(self, tree):
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                text = ast.unparse(node)
                if text in self.imported:
                    self._replace(node, "pass")
                elif PACKAGE not in text:
                    self.imported.add(text)

    def _scope(self, scope, names, objects):
        """Collect the changes below a module or function: names, and modules as objects."""
        names, objects = dict(names), dict(objects)
        inner, todo = [], list(scope.body) if isinstance(scope.body, list) else [scope.body]
        nodes = []
        while todo:
            node = todo.pop()
            nodes.append(node)
            if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node is not scope:
                inner.append(node)
                todo += [*getattr(node, "decorator_list", ()), *node.args.defaults]
                continue
            todo += ast.iter_child_nodes(node)
        done = self._without_face(scope)
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and of_package(node.module):
                self._import_from(node, names, objects)
            elif isinstance(node, ast.Import):
                self._import(node, objects)
            elif isinstance(node, ast.Assign) and scope.__class__ is ast.Module:
                if node not in done:
                    self._face(node)
            elif isinstance(node, ast.Try) and _is_for_checkers(node.body[0]):
                self._replace(node, "pass")
        done |= self._without_constants(scope)
        bound = set()
        if not isinstance(scope, ast.Module):
            bound = {
                n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            bound |= {a.arg for a in ast.walk(scope.args) if isinstance(a, ast.arg)}
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in objects:
                    if self._attribute(node, objects[node.value.id], names, bound):
                        done.add(node.value)
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in names and node not in done:
                self._replace(node, names[node.id])
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names:
                if scope.__class__ is ast.Module:
                    self._name_of(node, names[node.name])
            elif isinstance(node, ast.Global) and any(name in names for name in node.names):
                self._replace(node, "global " + ", ".join(names.get(n, n) for n in node.names))
        for node in inner:
            arguments = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
            left = {name: new for name, new in names.items() if name not in arguments}
            self._scope(node, left, objects)

    def _without_constants(self, scope):
        """Take out what defines the module's constants; return the names in there."""
        done = set()
        if isinstance(scope, ast.Module) and self.module:
            for node in scope.body:
                if node.lineno in _constants(self.module)[1]:
                    self._replace(node, "pass")
                    done.update(ast.walk(node))
        return done

    def _replace(self, node, new):
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        self.edits.append((start, end, new))

    def _name_of(self, node, new):
        word = "class " if isinstance(node, ast.ClassDef) else "def "
        start = self.starts[node.lineno - 1] + node.col_offset + len(word)
        self.edits.append((start, start + len(node.name), new))

    def _import_from(self, node, names, objects):
        """An import of names or modules: kept with the file's name, or taken out."""
        lines = []
        for alias in node.names:
            local = alias.asname or alias.name
            module, *name = origin(node.module, alias.name)
            if not name:  # a module as an object
                objects[local] = module
                if self.layout.unit_of[module] != self.unit and self._needed(local, module):
                    lines.append(self.layout.object_import(module, names.get(local, local)))
                continue
            name = name[0]
            if name in _constants(module)[0]:
                names[local] = _constants(module)[0][name]
                continue
            unit = self.layout.unit_of.get(module)
            defined = self.layout.globals(unit) if unit else {}
            if (module, name) not in defined:
                if unit and name not in _INSTALLED:
                    raise Refused(f"{self.module}: {name} is not defined in {module}")
                lines.append(f"from {node.module} import {alias.name}" + _as(alias.name, local))
                continue
            new = defined[module, name]
            if unit == self.unit:
                names[local] = new
            else:
                line = f"from {self.layout.absolute(module)} import {new}"
                lines.append(line + _as(new, names.get(local, local)))
        self._replace(node, "; ".join(lines) or "pass")

    def _needed(self, local, module):
        """Tell whether a module's name stands for more than constants of it."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)]
        attributes = [n.attr for n in nodes if getattr(n.value, "id", "") == local]
        return not attributes or not _constants(module)[0].keys() >= set(attributes)

    def _import(self, node, objects):
        for alias in node.names:
            path = alias.name.partition(".")[2]
            if of_package(alias.name) and path:
                if path not in modules():
                    continue
                if len(node.names) > 1:
                    raise Refused(f"{self.module}: import {alias.name} on a line of its own")
                same = self.layout.unit_of[path] == self.unit
                self._replace(node, "pass" if same else "import " + self.layout.absolute(path))

    def _attribute(self, node, module, names, bound):
        """``module.name``, where the module is an object of the package; True when changed."""
        if node.attr in _constants(module)[0]:
            self._replace(node, _constants(module)[0][node.attr])
            return True
        unit = self.layout.unit_of[module]
        new = self.layout.globals(unit).get((module, node.attr), node.attr)
        if unit == self.unit:
            if new in bound:
                raise Refused(f"{self.module}: a variable hides {module}.{new} in one file")
            self._replace(node, new)
        elif new != node.attr:
            base = names.get(node.value.id, node.value.id)
            self._replace(node, f"{base}.{new}")
        else:
            return False
        return True

    def _face(self, node):
        """The table of a room's face: only what is in other files, by the files' names."""
        if self.module is not None and _is_face(node):
            kept = self._elsewhere(node)
            self._replace(node, f"_NAMES = {kept!r}")

    def _elsewhere(self, face):
        kept = {}
        for name, module in ast.literal_eval(face.value).items():
            module = module.partition(".")[2]
            if self.layout.unit_of[module] != self.unit:
                kept[name] = self.layout.absolute(module)
        return kept

    def _without_face(self, scope):
        """Take out a face whose names are all in its own file; return the names in there."""
        done = set()
        if isinstance(scope, ast.Module) and self.module:
            made = [node for node in scope.body if isinstance(node, ast.Assign)]
            table = [node for node in made if _is_face(node) and not self._elsewhere(node)]
            look = [n for n in made if ast.unparse(n).startswith("__getattr__ = _face(")]
            for node in [*table, *look] if table and look else ():
                self._replace(node, "pass")
                done.update(ast.walk(node))
        return done


def _without_repr(text):
    """Return a module's text without what prints its objects."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
            span = slice(node.lineno - 1, node.end_lineno)
            lines[span] = [""] * len(lines[span])
    return "\n".join(lines)


def _as(name, local):
    return "" if name == local else f" as {local}"
