# SPDX-License-Identifier: MIT
"""The pages of the documentation, their blocks of code and their sentences."""

import re

from acclimate_host.paths import repository

WORDS_MAX = 35
_FENCE = re.compile(r"^( *)(```+|~~~+) *(\S*)[^\n]*\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!--.*?-->|<img [^>]*>|^---\n.*?^---$", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"\n\s*\n|\n(?=\s*(?:[*|#>-] ?|\d+\. ))")
_SENTENCE = re.compile(r"(?<=[.!?:])[\"')*_]*\s+(?=[A-Z`\[(*\"])")


def pages():
    """Return the paths of all pages: README.md and those below docs/."""
    root = repository()
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def name_of(path):
    return path.relative_to(repository()).as_posix()


def blocks(text):
    """Return (language, code) of each fenced block of a page."""
    return [(language, code) for _, _, language, code in _FENCE.findall(text)]


def sentences(text):
    """Return the sentences of a page, without tables, code blocks and comments."""
    text = _MARK.sub("", _FENCE.sub("\n\n", text))
    found = []
    for part in _PART.split(text):
        if part.strip() and not part.lstrip().startswith("|") and not _is_code(part):
            found += _SENTENCE.split(" ".join(part.split()))
    return found


def _is_code(part):
    """An indented block; text of a list is indented by less, or begins with its mark."""
    lines = [line for line in part.strip("\n").splitlines() if line.strip()]
    return all(line.startswith("    ") for line in lines)


def long_sentences(text):
    return [sentence for sentence in sentences(text) if len(sentence.split()) > WORDS_MAX]
