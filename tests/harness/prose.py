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


_HOST = re.compile(
    r"^(?:>>> )?(?:import|from) (acclimate_host|numpy|sklearn|torch|onnx)\b", re.MULTILINE
)


def is_host(code):
    """Tell whether a block of Python is for the computer, not for a board."""
    return _HOST.search(code) is not None


def programs(text):
    """Return the blocks of Python of a page; all with prompts are one session, the last."""
    found = [code for language, code in blocks(text) if language == "python"]
    session = "\n".join(code for code in found if code.startswith(">>>"))
    return [code for code in found if not code.startswith(">>>")] + [session] * bool(session)


def shell_lines(text):
    """Return the commands of a page: of blocks for a shell, and of indented ones."""
    code = [code for language, code in blocks(text) if language in ("sh", "console")]
    code += re.findall(r"(?:^    .*\n)+", _FENCE.sub("\n", text), re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", "".join(code)).splitlines()
    return [line.strip().removeprefix("$ ") for line in lines]
