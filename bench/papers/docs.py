# SPDX-License-Identifier: MIT
"""Numbers of README.md and docs/: filled in from committed results, or said where they are from.

In a page ``<!--{RESULT:FIELD|FORMAT}-->text<!--/-->`` is a number that `make bench NAME=papers`
writes anew. A section with other measured numbers carries one of

    <!-- numbers: COMMAND, at COMMIT -->      what printed them, and at which commit
    <!-- numbers: quoted from SOURCE -->      of somebody else
    <!-- numbers: by definition -->           sizes and limits that the text defines
"""

import re

from acclimate_host.paths import repository
from bench.papers import rows

_SLOT = re.compile(r"<!--\{(.+?)\}-->(.*?)<!--/-->", re.DOTALL)
_MARK = re.compile(r"<!-- numbers: (.+?) -->")
_MADE = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.DOTALL)  # of a format's source
_PLAIN = re.compile(r"^(.+), at ([0-9a-f]{7,})$")
_CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)  # may hold what looks like a heading
_UNITS = "%|percent|times|instructions|bytes|points|seconds|µJ|mJ|J|ms|s|KB|µs"
_NUMBER = re.compile(rf"\d[\d,]*\.\d+|\d{{1,3}}(?:[ ,]\d{{3}})+|\d+ ?(?:{_UNITS})(?![\w])")


def pages():
    """Return the paths of the pages that are written by hand."""
    root = repository()
    found = sorted((root / "docs").rglob("*.md"))
    return [root / "README.md", *(path for path in found if path.parent.name != "papers")]


def texts():
    """Return the slots of all pages as texts that name results."""
    return ["{" + slot + "}" for page in pages() for slot, _ in _SLOT.findall(page.read_text())]


def filled(text, find):
    """Return a page with its slots filled anew."""

    def fill(match):
        return f"<!--{{{match[1]}}}-->{rows.filled('{' + match[1] + '}', find)}<!--/-->"

    return _SLOT.sub(fill, text)


def write(find):
    """Fill all pages; return the paths of those that changed."""
    changed = []
    for page in pages():
        old = page.read_text()
        new = filled(old, find)
        if new != old:
            page.write_text(new)
            changed.append(page)
    return changed


def sections(text):
    """Yield (heading, body) of a page; what stands before the first heading has the page's."""
    parts = re.split(r"^(#+ .*)$", text, flags=re.MULTILINE)
    yield parts[0] and "top", parts[0]
    yield from zip(parts[1::2], parts[2::2], strict=True)


def numbers_of(body):
    """Return what looks like a measured number outside of code, slots and links."""
    return _NUMBER.findall(_CODE.sub("", _SLOT.sub("", body)))


def mark_fault(mark):
    """Return what is wrong with a mark, or ""."""
    if mark == "by definition" or mark.startswith("quoted from "):
        return ""
    plain = _PLAIN.match(mark)
    if not plain:
        return f"expected COMMAND, at COMMIT; quoted from ...; or by definition, got {mark!r}"
    return rows.command_fault(plain[1])


def unsourced(find):
    """Return a line for each section whose numbers say not where they are from."""
    found = []
    for page in pages():
        for heading, body in sections(_FENCE.sub("", _MADE.sub("", page.read_text()))):
            where = f"{page.name}, {heading.strip('# ')}: "
            marks = _MARK.findall(body)
            found += [where + why for why in map(mark_fault, marks) if why]
            numbers = numbers_of(body)
            if numbers and not marks:
                found.append(where + f"{len(numbers)} numbers without a source ({numbers[0]})")
    return found
