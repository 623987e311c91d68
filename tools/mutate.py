# SPDX-License-Identifier: MIT
"""The changes that `mutants.py` tries: small faults in Python, by the syntax tree, and in C.

Each is a Mutation: where, what stood there, what stands there now, and the whole changed text.
Texts of errors are not changed, as a test need not look at wording; nor are annotations,
decorators and imports.
"""

import ast
import copy
import re
from dataclasses import dataclass, field

_COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.MatMult: ast.Mult,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_REMOVED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Break, ast.Continue)
_SKIPPED_FIELDS = ("decorator_list", "annotation", "returns", "exc", "cause")
_SKIPPED = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutation:
    """A change of one place: line (from 1), the line's text, what was there, what is there."""

    line: int
    text: str
    was: str
    now: str
    source: object = field(compare=False)  # returns the whole changed text

    @property
    def key(self):
        """What names it when lines have moved."""
        return self.text, self.was, self.now


def of_file(path):
    """Return all Mutations of a Python or C file, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    found = of_c(text) if path.suffix in (".c", ".h") else of_python(text)
    return sorted(found, key=lambda mutation: (mutation.line, mutation.was, mutation.now))


# ---- Python ---------------------------------------------------------------------------------


def of_python(text):
    """Return the Mutations of Python source; each compiles, and differs from what was there."""
    tree, lines, found = ast.parse(text), text.splitlines(), {}
    for holder, name, index, node in _places(tree):
        for new in _alternatives(holder, name, node):
            was, now = ast.unparse(node), ast.unparse(new)
            line = lines[node.lineno - 1].strip()
            source = _source(tree, holder, name, index, new)
            mutation = Mutation(node.lineno, line, was, now, source)
            if was != now:
                found.setdefault((node.lineno, node.col_offset, mutation.key), mutation)
    return list(found.values())


def _places(node):
    """Yield (holder, field, index or None, node) of all that may be changed below a node."""
    for name, value in ast.iter_fields(node):
        if name in _SKIPPED_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_skipped(child):
                continue
            if hasattr(child, "lineno"):
                yield node, name, index, child
            yield from _places(child)


def _is_skipped(node):
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_const = isinstance(node, ast.FunctionDef) and node.name == "const"
    return is_text or is_const or isinstance(node, _SKIPPED)


def _source(tree, holder, name, index, new):
    """Return a function that gives the text with one node replaced."""

    def changed():
        fields = getattr(holder, name)
        old = fields if index is None else fields[index]
        _put(holder, name, index, new)
        try:
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        finally:
            _put(holder, name, index, old)

    return changed


def _put(holder, name, index, node):
    if index is None:
        setattr(holder, name, node)
    else:
        getattr(holder, name)[index] = node


def _alternatives(holder, name, node):
    """Yield what may stand in the place of a node, which is a field of its holder."""
    if isinstance(holder, ast.If) and name == "test":
        yield from (ast.Constant(value) for value in (True, False))
    if isinstance(node, _REMOVED):
        # Without a name of its own a whole file fails: that would show nothing.
        yield from [] if isinstance(holder, ast.Module) else [ast.Pass()]
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        # Whoever asks whether something is so takes None for False; True is tried by itself.
        yield from [] if _is_false(node.value) else [ast.Return(value=None)]
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            for other in _COMPARED[type(operator)]:
                yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and not _is_text(node):
        yield _with(node, op=_COMPUTED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in _other_constants(node.value))
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield ast.Name(_NAMES[node.id], node.ctx)


def _is_none(value):
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_false(value):
    return isinstance(value, ast.Constant) and value.value is False


def _with(node, **changes):
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


def _is_text(node):
    """Tell whether a `%` or `+` makes a text."""
    sides = [getattr(node, side, None) for side in ("left", "right", "value")]
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _other_constants(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [1]
    return [value + 1.0] if isinstance(value, float) else []


# ---- C --------------------------------------------------------------------------------------

_C_RULES = (
    (r"(?<![<\-=>])<(?![<=])", "<="),
    (r"(?<![>\-])>(?![>=])", ">="),
    (r"<=", "<"),
    (r">=", ">"),
    (r"==", "!="),
    (r"!=", "=="),
    (r"&&", "||"),
    (r"\|\|", "&&"),
    (r"(?<=\w )\+(?= \w)", "-"),
    (r"(?<=\w )-(?= \w)", "+"),
    (r"(?<=\w )\*(?= \w)", "+"),
    (r">>(?!=)", "<<"),
    (r"<<(?!=)", ">>"),
    (r"\+=", "-="),
    (r"-=(?!=)", "+="),
    (r"(?<![\w.])0(?![\w.])", "1"),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"\b(continue|break);", ";"),
    (r"(?<=^ {4})\s*[\w\->.\[\]]+ [-+|&^]?= [^;{}]+;$", ";"),
)
_C_NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^\s*#.*?(?<!\\)$", re.S | re.M
)


def of_c(text):
    """Return the Mutations of C source by textual rules, outside comments, texts and macros."""
    bare = _C_NOISE.sub(lambda match: re.sub(r"[^\n]", "\0", match.group()), text)
    lines, found = text.splitlines(), []
    for pattern, now in _C_RULES:
        for match in re.finditer(pattern, bare, re.M):
            start, stop = match.span()
            line = text.count("\n", 0, start) + 1
            changed = text[:start] + now + text[stop:]
            was = text[start:stop].strip()
            found.append(
                Mutation(line, lines[line - 1].strip(), was, now, lambda changed=changed: changed)
            )
    return found
