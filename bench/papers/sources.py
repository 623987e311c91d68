# SPDX-License-Identifier: MIT
"""Digests of source files: what a number depends on, without words and spaces.

A result is stale when one of these digests has changed since it was measured. Comments,
docstrings and empty lines do not count, so that plain text can be mended freely.
"""

import ast
import hashlib
import io
import re
import tokenize

from acclimate_host.paths import repository

_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def files(patterns):
    """Return the paths of glob patterns, relative to the repository, sorted.

    :raises ValueError: where a pattern finds nothing
    """
    root, found = repository(), set()
    for pattern in patterns:
        names = [p.relative_to(root).as_posix() for p in root.glob(pattern) if p.is_file()]
        if not names:
            raise ValueError(f"sources: expected files for {pattern!r}, found none")
        found.update(names)
    return sorted(found)


def digests(patterns):
    """Return {path: digest of 8 hexadecimal digits} of the files of glob patterns."""
    return {name: digest(name) for name in files(patterns)}


def digest(name):
    """Return the digest of one file, or "" where it is gone."""
    path = repository() / name
    if not path.exists():
        return ""
    text = path.read_bytes()
    if path.suffix == ".py":
        text = _python(text.decode()).encode()
    elif path.suffix in (".c", ".h", ".S"):
        text = _c(text.decode()).encode()
    return hashlib.sha256(text).hexdigest()[:8]


def changed(known):
    """Return the paths whose digest is no longer the one in `known`."""
    return [name for name, value in known.items() if digest(name) != value]


def _python(text):
    """Return the source without docstrings, comments and empty lines."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for first, last in _docstrings(ast.parse(text)):
        lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0].lineno, node.body[0].end_lineno


def _c(text):
    """Return the source without comments and empty lines."""
    lines = _C_COMMENT.sub("", text).splitlines()
    return "\n".join(line.strip() for line in lines if line.strip())
