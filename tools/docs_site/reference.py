# SPDX-License-Identifier: MIT
"""Pages of the reference, in Markdown, from what stands in the sources.

Device modules are parsed, not imported, as some load on one kind of board only. The names are
those of tests/public_names.toml. Formats come from their single sources, verbs from the parser.
"""

import argparse
import ast
import inspect
import os
import re
import textwrap

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

from acclimate_host import cli
from acclimate_host.capsules import layout
from acclimate_host.compile import program_format

_FIELD = re.compile(r"^:(\w+)\s*([^:]*):\s*(.*)$")
_PLAIN = re.compile(r"[<>]")


def pages(root):
    """Return {page: Markdown} of the reference.

    :raises ValueError: a public name that no module defines, or that has no docstring
    """
    names = public_names(root)
    made = {f"reference/{room}.md": room_page(root, room, names[room]) for room in names}
    made["reference/index.md"] = _index(root, names)
    made["reference/formats.md"] = formats_page()
    made["reference/commands.md"] = commands_page()
    return made


def public_names(root):
    """Return {module: its public names}."""
    with open(root / "tests" / "public_names.toml", "rb") as file:
        return tomllib.load(file)


def _index(root, names):
    lines = ["# Reference", "", "The public names of the device package, module by module.", ""]
    lines += ["| module | what it does | names |", "|---|---|---|"]
    for room in names:
        first = _summary(ast.get_docstring(_face(root, room)[0]))
        listed = ", ".join(f"[`{name}`]({room}.md#{name.lower()})" for name in names[room])
        lines.append(f"| [`acclimate.{room}`]({room}.md) | {first} | {listed} |")
    lines += ["", "[File formats](formats.md) and [commands](commands.md) have a page each.", ""]
    return "\n".join(lines)


# ---- modules of the device package ----------------------------------------------------------


def room_page(root, room, names):
    """Return the page of one module of the device package."""
    tree, path = _face(root, room)
    lines = [f"# acclimate.{room}", "", *docstring(ast.get_docstring(tree)), ""]
    for name in names:
        lines += _entry(_definition(root, tree, path, name), f"acclimate.{room}.{name}")
    return "\n".join(lines) + "\n"


def _face(root, room):
    """(tree, path) of the module or package that users import."""
    folder = root / "device" / "acclimate"
    path = folder / room / "__init__.py"
    path = path if path.exists() else folder / f"{room}.py"
    return ast.parse(path.read_text(encoding="utf-8")), path


def _definition(root, tree, path, name):
    """The node that defines a public name, in the face or in the file that it loads from."""
    places = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES":
            places = ast.literal_eval(node.value)
    if name in places:
        path = root / "device" / (places[name].replace(".", "/") + ".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if getattr(node, "name", None) == name:
            return node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node
        if isinstance(node, ast.ImportFrom):  # offered from another file
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    there = root / "device" / (node.module.replace(".", "/") + ".py")
                    return _definition(root, ast.parse(there.read_text()), there, alias.name)
    raise ValueError(f"{name}: no definition in {path.name}")


def _entry(node, full):
    """The lines of one public name."""
    name = full.split(".")[-1]
    lines = [f"## {name}", ""]
    if isinstance(node, ast.Assign):
        return [*lines, "```python", f"{name} = {ast.unparse(node.value)}", "```", ""]
    signature = node
    if isinstance(node, ast.ClassDef):
        made = [part for part in node.body if getattr(part, "name", "") == "__init__"]
        signature = made[0] if made else None
    lines += ["```python", _call(full, signature), "```", ""]
    text = ast.get_docstring(node)
    if not text:
        raise ValueError(f"{full}: expected a docstring, got none")
    lines += [*docstring(text), ""]
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                lines += [f"### {name}.{part.name}", "", "```python", _call(part.name, part)]
                lines += ["```", "", *docstring(ast.get_docstring(part) or ""), ""]
    return lines


def _call(name, function):
    """A signature, without `self`."""
    if function is None:
        return f"{name}()"
    arguments = function.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    short = f"{name}({ast.unparse(arguments)})"
    if len(short) <= 90:
        return short
    return f"{name}(\n" + textwrap.fill(ast.unparse(arguments), 86, **_INDENT) + "\n)"


_INDENT = {"initial_indent": "    ", "subsequent_indent": "    "}


def docstring(text):
    """Return the lines of a docstring in Markdown: fields as a table, examples as code."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text or ""))
    lines = []
    for block in filter(str.strip, blocks):
        lines += [*_block(block), ""]
    return lines[:-1]


def _block(block):
    rows = block.splitlines()
    bare = textwrap.dedent(block).splitlines()
    if bare[0].startswith(">>>"):
        return ["```pycon", *bare, "```"]
    if bare[0] != rows[0] or re.match(r"``\S+``\s{2,}", rows[0]):
        return ["```text", *(line.replace("``", "") for line in bare), "```"]
    at = next((i for i, row in enumerate(rows) if row.startswith(":")), len(rows))
    lines = [_prose(row) for row in rows[:at]]
    if at < len(rows):
        lines += ["", *_fields(rows[at:])]
    return lines


def _fields(rows):
    """Tables of `:param`, `:raises` and the like."""
    joined = []
    for row in rows:
        if row.startswith(":"):
            joined.append(row)
        else:
            joined[-1] += " " + row.strip()
    lines = ["| | |", "|---|---|"]
    for row in joined:
        found = _FIELD.match(row)
        kind, what, text = found.groups() if found else ("", "", row)
        lines.append(f"| {_label(kind, what)} | {_prose(text).replace('|', chr(92) + '|')} |")
    return lines


def _label(kind, what):
    words = what.split()
    if kind == "param" and words:
        name = f"`{words[-1]}`"
        return f"{name}, {' '.join(words[:-1])}" if words[:-1] else name
    return f"{kind} `{what}`" if what else kind


def _prose(text):
    """Text outside code, with what HTML would read as a mark made plain."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text)
    parts[::2] = [_PLAIN.sub(lambda m: {"<": "&lt;", ">": "&gt;"}[m[0]], p) for p in parts[::2]]
    return "".join(parts)


def _summary(text):
    return _prose((text or "").split("\n\n")[0].replace("\n", " ")).replace("|", "\\|")


# ---- formats and commands --------------------------------------------------------------------


def formats_page():
    """Return the tables of all file formats, from the module that defines each."""
    lines = [
        "# File formats",
        "",
        "Numbers are little-endian; fields have no gaps.",
        "",
    ]
    lines += ["## Capsules, journals, manifests, reports, keys", ""]
    lines += ["[Capsules](../capsules.md) explains them.", "", layout.tables(), ""]
    lines += ["## Programs of networks", ""]
    lines += ["[Arithmetic](../numerics.md) explains them.", "", program_format.tables(), ""]
    return "\n".join(lines)


def commands_page():
    """Return what each verb of the command line takes, as its own help says."""
    top = cli.parser(every=True)
    lines = ["# Commands", "", "What `acclimate VERB --help` prints.", ""]
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "92"  # the same on every terminal
    for verb, parser in _verbs(top).items():
        lines += _help("## " + verb, parser)
        for name, inner in _verbs(parser).items():
            lines += _help(f"### {verb} {name}", inner)
    os.environ.pop("COLUMNS")
    if columns:
        os.environ["COLUMNS"] = columns
    return "\n".join(lines)


def _verbs(parser):
    """The parsers below a parser, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def _help(heading, parser):
    return [heading, "", "```text", parser.format_help().rstrip(), "```", ""]
