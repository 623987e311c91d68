# SPDX-License-Identifier: MIT
"""The page of a paper, docs/papers/PAPER.md, from its rows and the committed results."""

from acclimate_host.paths import repository
from bench.papers import results, rows

_HEAD = "| where | the paper | here | command | our number | verdict | what is different |"
_BOLD = {"beaten": "**beaten**", "cannot": "*cannot*", "missing": "**missing**"}


def finder():
    """Return (result, field) -> value over the committed results; KeyError where there is none."""
    kept = {}

    def find(name, field):
        if name not in kept:
            kept[name] = results.load(name)
        if kept[name] is None or field not in kept[name]["values"]:
            raise KeyError(f"{name}:{field} was never kept; run: make bench NAME=papers")
        return kept[name]["values"][field]

    return find


def page(paper, find=None):
    """Return the text of a paper's page."""
    find, head = find or finder(), paper.head
    used = sorted({name for row in paper.rows for name, _ in rows.names_in(row.text())})
    lines = [f"# {head['title']}", "", f"{head['authors']}. {head['venue']}. <{head['link']}>", ""]
    lines += [rows.filled(head["intro"].strip(), find), ""]
    lines += [_counted(paper), ""]
    for number, title, about in paper.sections:
        lines += [f"## {number} {title}".replace("##  ", "## ").rstrip(), ""]
        if about:
            lines += [rows.filled(about.strip(), find), ""]
        found = [row for row in paper.rows if row.section == number]
        if found:
            lines += [_HEAD, "|" + "---|" * 7, *(_line(row, find) for row in found), ""]
    if paper.errors:
        lines += ["## Errors in the paper, and the repair", "", "| where | error | repair |"]
        lines += ["|---|---|---|"]
        lines += [f"| {at} | {what} | {repair} |" for at, what, repair in paper.errors] + [""]
    lines += _measured(used)
    return "\n".join(lines).rstrip() + "\n"


def _counted(paper):
    counts = {v: sum(row.verdict == v for row in paper.rows) for v in rows.VERDICTS}
    words = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return (
        f"{len(paper.rows)} rows: {', '.join(words)}. *Reproduced*: what is claimed holds here "
        "under the conditions of the row. *Beaten*: by more, on the paper's own case and metric. "
        "*Not reached*: less. *Cannot*: not to be had here, with the reason. Written by "
        "`make bench NAME=papers`."
    )


def _line(row, find):
    files = ", ".join(f"[{name.split('/')[-1]}](../../{name})" for name in row.here.split(", "))
    cells = (
        row.at,
        row.claim,
        files,
        f"`{row.command}`",
        rows.filled(row.ours, find),
        _BOLD.get(row.verdict, row.verdict),
        rows.filled(row.differs, find),
    )
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def _measured(used):
    """Return the lines that say when each result was measured, at which commit."""
    if not used:
        return []
    lines = ["## Results", "", "| result | command | commit | date |", "|---|---|---|---|"]
    for name in used:
        kept = results.load(name)
        path = f"../../bench/papers/results/{name}.json"
        lines.append(
            f"| [{name}]({path}) | `{kept['command']}` | {kept['commit']} | {kept['date']} |"
        )
    return lines


def write(paper):
    """Write a paper's page; return whether it changed."""
    text = page(paper)
    old = paper.page.read_text() if paper.page.exists() else ""
    if text != old:
        paper.page.parent.mkdir(parents=True, exist_ok=True)
        paper.page.write_text(text)
    return text != old


def is_current(paper):
    """Tell whether a paper's page is what its rows and results give."""
    return paper.page.exists() and paper.page.read_text() == page(paper)


def relative(path):
    return path.relative_to(repository()).as_posix()
