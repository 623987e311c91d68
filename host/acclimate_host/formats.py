# SPDX-License-Identifier: MIT
"""Byte formats with one source: what the host, the device, the C code and the docs say of them.

A format is a list of Records. `Generated` writes the C header, the constants between the marks of
device files and the tables between the marks of a document from it, or says which differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.paths import repository

_LINE = 100  # with its end, as the formatter breaks lines


@dataclass(frozen=True)
class Field:
    """One field; ``bytes`` is 1, 2 or 4 for a number, else the length of a byte string."""

    name: str
    bytes: int
    text: str


@dataclass(frozen=True)
class Record:
    """Fields one after the other without gaps; ``prefix`` names its constants."""

    name: str
    prefix: str
    fields: tuple[Field, ...]

    @property
    def bytes(self) -> int:
        return sum(field.bytes for field in self.fields)

    def offset(self, name: str) -> int:
        at = 0
        for field in self.fields:
            if field.name == name:
                return at
            at += field.bytes
        raise KeyError(name)


def offsets(records: Iterable[Record]) -> dict[str, int]:
    """Return {PREFIX_FIELD: offset} of all fields, and {PREFIX_BYTES: length} of all records."""
    named = {}
    for record in records:
        for field in record.fields:
            named[f"{record.prefix}_{field.name.upper()}"] = record.offset(field.name)
        named[f"{record.prefix}_BYTES"] = record.bytes
    return named


def record_tables(records: Iterable[Record]) -> list[str]:
    """Return the lines of the records' tables, in Markdown."""
    lines = []
    for record in records:
        lines += [f"### {record.name} ({record.bytes} bytes)", ""]
        lines += ["| offset | bytes | field | meaning |", "|---|---|---|---|"]
        for field in record.fields:
            at = record.offset(field.name)
            lines.append(f"| {at} | {field.bytes or ''} | {field.name} | {field.text} |")
        lines.append("")
    return lines


def listed(values: Mapping[str, int]) -> str:
    """Return an enumeration as text."""
    return ", ".join(f"{value} {name.lower()}" for name, value in values.items())


@dataclass(frozen=True)
class Generated:
    """Where a format is written to.

    :param module: that a person runs to write it. :param mark: word of the marks in texts.
    :param constants: all by name, numbers or bytes.
    :param header: path of the C header below the repository, and its text.
    :param document: path of the documentation, and the text of its tables.
    """

    module: str
    mark: str
    constants: Mapping[str, int | bytes]
    header: tuple[str, str]
    document: tuple[str, str]

    def device_constants(self, names: Iterable[str]) -> str:
        """Return the lines ``_NAME = const(value)`` for a device file that needs these names."""
        return "".join(_constant(name, self.constants[name]) for name in names)

    def with_tables(self, text: str) -> str:
        """Return the document's text with the tables of now between its two marks."""
        begin, end = f"<!-- {self.mark}: begin -->\n", f"<!-- {self.mark}: end -->"
        before, rest = text.split(begin)
        return before + begin + self.document[1] + end + rest.split(end)[1]

    def with_constants(self, text: str) -> str:
        """Return a device file's text with the constants that it lists brought up to date."""
        begin, end = f"# {self.mark}: begin\n", f"# {self.mark}: end\n"
        before, rest = text.split(begin)
        block, after = rest.split(end)
        names = [line.split(" = ")[0][1:] for line in block.splitlines() if line.startswith("_")]
        return before + begin + self.device_constants(names) + end + after

    def targets(self) -> Iterator[tuple[Path, str, str]]:
        """Yield (path, text that it holds, text that it should hold) of all that is generated."""
        root = repository() or Path.cwd()
        header = root / self.header[0]
        yield header, header.read_text() if header.exists() else "", self.header[1]
        document = root / self.document[0]
        text = document.read_text(encoding="utf-8")
        yield document, text, self.with_tables(text)
        for path in sorted(Path(root, "device", "acclimate").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if f"# {self.mark}: begin\n" in text:
                yield path, text, self.with_constants(text)

    def main(self, arguments: Sequence[str]) -> int:
        """Write what differs; with --check only name it. Return the exit status."""
        differ = [(path, wanted) for path, found, wanted in self.targets() if found != wanted]
        for path, wanted in differ:
            if "--check" in arguments:
                print(f"{path.name} differs: run python -m {self.module}")
            else:
                path.write_text(wanted, encoding="utf-8")
                print(f"wrote {path.name}")
        return 1 if differ and "--check" in arguments else 0


def _constant(name: str, value: int | bytes) -> str:
    if isinstance(value, int):
        return f"_{name} = const({value})\n"
    line = f'_{name} = bytes.fromhex("{value.hex()}")\n'
    if len(line) <= _LINE:
        return line
    return f'_{name} = bytes.fromhex(\n    "{value.hex()}"\n)\n'
