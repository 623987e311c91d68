# SPDX-License-Identifier: MIT
"""Methods in files of their own, for boards with little heap: they load when one is first called.

Only the merged text of a file is changed. Its classes keep their names. When a class lacks a
method, its `__getattr__` imports the next file of `LATER`, which adds methods, and looks again.
A name that no file has makes all of them load, and is then an AttributeError as elsewhere.
"""

import ast

# file on the board -> files that load later, in this order -> what is in them: functions, and
# methods as Class.method, a word each. A function is used in its own file only.
LATER = {
    "store": {
        "_store_head": "Head.parse Head.fits Head._bound",
        "_store_open": """
            Checker.authentic Checker.signed Checker.intact Checker.begin Checker.take
            Checker._tail Checker.compare
            Journal._clear Journal.load Journal._read Journal._load_page Journal._load_records
            Journal._look Journal._take Journal._count Journal._places Journal._place
            Journal._other Journal._sum Journal._check _blank
            Store._boot Store.reopen Store._load Store._check
        """,
        "_store_change": """
            _put_half _doubled
            Head.parity Head.mend Checker.sign
            Journal.append Journal.keep Journal._write Journal._program Journal._fill
            Journal._seal Journal._copy Journal._compact Journal._begin Journal._program_page
            Slots.pages_of Slots.erase Slots.open Slots.write Slots.close Slots._fits_whole
            Store.budget_left Store._today Store.finish Store.confirm Store.save Store.write
            Store.check_writable Store._end_writing Store._verified Store._load_waiting
            Store.make_room Store._switch Store._settle Store._use Store.cancel
        """,
        "_store_more": """
            Head.is_newer Head.temperature Checker.steps
            Slots.spoil Slots.resume_at
            Store.stage Store.scratch Store.finish_steps Store.trial Store.rollback
            Store.swap_capsule Store.check_epoch Store.waiting Store.verdict Store._is_begun
            Store._give_up Store._leave_trial Store._count_boot Store._rebuild
        """,
    },
    "flash_base": {
        "_flash_change": """
            Flash.program Flash._program_again Flash._kept Flash.erase Flash.is_blank
            Flash._read_back BlockFlash._program BlockFlash._erase
        """,
    },
}
_LOAD = """
_left = {files!r}


def _later(self, name):
    if not _left:
        raise AttributeError(name)
    __import__("{package}." + _left[0])
    _left.pop(0)
    return getattr(self, name)

"""
# The classes that bring the methods share a name: each name takes heap.
_ADD = """
def add(to, more):
    for name in more.__dict__:
        if name not in ("__module__", "__qualname__"):
            setattr(to, name, more.__dict__[name])

"""
_MORE = """
class more:
{methods}
add({name}, more)
"""


def split(text, unit, package):
    """Return `{file: text}` of one file of the package and of those that load later.

    :param package: name of the package, of which the file is a module.
    """
    files = {file: set(words.split()) for file, words in LATER[unit].items()}
    whole = _Text(text)
    load = _LOAD.format(files=[*files], package=package)
    found = {unit: whole.without(set().union(*files.values()), load)}
    for file, names in files.items():
        found[file] = whole.only(names, f"{package}.{unit}")
    return found


class _Text:
    """The text of a file, by its statements."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.body = ast.parse(text).body
        self.defined = {node.name: node for node in self.body if hasattr(node, "name")}
        self.members = {
            f"{cls.name}.{node.name}": node
            for cls in self.defined.values()
            if isinstance(cls, ast.ClassDef)
            for node in cls.body
            if hasattr(node, "name")
        }

    def without(self, names, load):
        """Return the text without these functions and methods, which `load` brings."""
        lines = list(self.lines)
        for name in names:
            _blank(lines, self.members[name] if "." in name else self.defined[name])
        classes = {name.partition(".")[0] for name in names if "." in name}
        heads = sorted(self.defined[name].body[0].lineno for name in classes)
        for line in reversed(heads):
            lines.insert(line - 1, "    __getattr__ = _later")
        lines.insert(min(self.defined[name].lineno for name in classes) - 1, load)
        return _without_unused(lines)

    def only(self, names, base):
        """Return the text of a file that adds these functions and methods to those of `base`."""
        functions = [self._source(self.defined[name]) for name in sorted(names) if "." not in name]
        methods = {}
        for name in sorted(name for name in names if "." in name):
            methods.setdefault(name.partition(".")[0], []).append(self.members[name])
        classes = [
            _MORE.format(name=name, methods="\n".join(map(self._source, nodes)))
            for name, nodes in methods.items()
        ]
        own = "\n\n".join([*functions, _ADD, *classes, "del add, more\n"])
        return "\n".join([self.lines[0], *self._head(own, names, base), own])

    def _head(self, own, names, base):
        """Return the statements that bring what a text uses of the whole file."""
        used = {node.id for node in ast.walk(ast.parse(own)) if isinstance(node, ast.Name)}
        there = self.defined.keys() & used - names
        head = []
        for node in self.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                head += [ast.unparse(node)] if _bound(node) & used else []
            elif _is_number(node):  # which takes no heap
                head.append(ast.unparse(node))
            else:
                there |= _bound(node) & used
        return [*head, f"from {base} import {', '.join(sorted(there))}"]

    def _source(self, node):
        return "\n".join(self.lines[_first(node) : node.end_lineno]) + "\n"


def _first(node):
    """Return the index of a node's first line, with its decorators."""
    return min(n.lineno for n in (node, *getattr(node, "decorator_list", ()))) - 1


def _blank(lines, node):
    lines[_first(node) : node.end_lineno] = [""] * (node.end_lineno - _first(node))


def _bound(node):
    """Return the names that a statement at the level of a module binds, but for definitions."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set().union(*map(_bound, node.body)) if isinstance(node, ast.Try) else set()


def _is_number(node):
    """Tell whether a statement is `_NAME = const(...)`."""
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "const"


def _without_unused(lines):
    """Return a text without imports whose names are not used in it any more."""
    tree = ast.parse("\n".join(lines))
    lines = "\n".join(lines).split("\n")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _bound(node) & used:
            _blank(lines, node)
    return "\n".join(lines)
