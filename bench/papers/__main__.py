# SPDX-License-Identifier: MIT
"""The claims of five papers, row by row: `make bench NAME=papers`.

Measures what is stale, writes docs/papers/*.md and the tables of the docs, counts the verdicts.

    python -m bench.papers --list          # what is stale, and how long it takes
    python -m bench.papers --only svm      # measure one anew
    python -m bench.papers --kept          # keep what is in out/bench: it was measured just now
    python -m bench.papers --no-measuring  # pages and counts only
"""

import argparse
import sys

from bench import common
from bench.papers import docs, pages, results, rows

TARGETS = [
    ("papers.rows", ">=", 165),
    ("papers.reproduced", None, None),
    ("papers.beaten", None, None),
    ("papers.not_reached", None, None),
    ("papers.cannot", "<=", 13),
    ("papers.missing", "<=", 10),
    ("papers.stale", "=", 0),
    ("papers.unsourced", "=", 0),
    ("papers.faults", "=", 0),
]


def fields_of(papers):
    """Return {result: {field}} that the pages and the tables of the docs ask for."""
    found = {}
    texts = [row.text() for paper in papers for row in paper.rows]
    for paper in papers:
        texts += [paper.head["intro"], *(about for _, _, about in paper.sections)]
    for text in [*texts, *docs.texts()]:
        for name, field in rows.names_in(text):
            found.setdefault(name, set()).add(field)
    return found


def faults(papers, find):
    """Return what is wrong with rows: a command or file that is gone, a verdict that fails."""
    found = []
    for paper in papers:
        known = {number for number, _, _ in paper.sections}
        for row in paper.rows:
            where = f"{paper.name}, {row.at}: "
            found += [where + why for why in _of_row(row, known, find) if why]
    return found


def _of_row(row, sections, find):
    yield rows.command_fault(row.command)
    yield rows.here_fault(row.here)
    if row.section not in sections:
        yield f"no section {row.section!r}"
    if row.verdict not in rows.VERDICTS:
        yield f"verdict: expected one of {', '.join(rows.VERDICTS)}, got {row.verdict!r}"
    if row.verdict == "beaten" and not row.when:
        yield "beaten: expected a condition (when) over results"
    if row.verdict in ("cannot", "missing") and not row.differs:
        yield f"{row.verdict}: expected a reason (differs)"
    if row.when and not rows.value(row.when, find):
        yield f"{row.verdict} no longer holds: {row.when}"


def count(papers, known, stale, find):
    """Return the keys of out/bench/papers.json."""
    by_paper = {
        paper.name: {
            "rows": len(paper.rows),
            **{v.replace(" ", "_"): _with(paper, v) for v in rows.VERDICTS},
        }
        for paper in papers
    }
    total = {key: sum(part[key] for part in by_paper.values()) for key in by_paper["poet"]}
    used = fields_of(papers)
    total["stale"] = sum(
        any(name in stale for name, _ in rows.names_in(row.text()))
        for paper in papers
        for row in paper.rows
    )
    total["stale_results"] = sorted(set(stale) & set(used))
    total["unsourced"] = len(docs.unsourced(find))
    return total, by_paper


def _with(paper, verdict):
    return sum(row.verdict == verdict for row in paper.rows)


def stale_results(known, fields):
    """Return {name: files that changed} of the results that are asked for."""
    found = {}
    for name, wanted in fields.items():
        kept = results.load(name)
        why = results.why_stale(known[name])
        if kept and not why and not wanted <= set(kept["values"]):
            why = ["fields that were never kept"]
        if why:
            found[name] = why
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="say what is stale, and end")
    parser.add_argument("--only", nargs="*", help="measure these anew")
    parser.add_argument("--kept", nargs="*", help="keep these from out/bench: measured just now")
    parser.add_argument("--no-measuring", action="store_true", help="pages and counts only")
    args = parser.parse_args(argv)
    papers, known = [rows.load(name) for name in rows.PAPERS], results.measurements()
    fields = fields_of(papers)
    for name in args.kept or ():
        results.keep(known[name], fields.get(name, set()))
    stale = stale_results(known, fields)
    for name, why in stale.items():
        print(f"  {name}: about {known[name].seconds} s; changed: {', '.join(why[:4])}")
    if args.list:
        return 0
    wanted = [] if args.no_measuring else args.only if args.only is not None else list(stale)
    for name in sorted(wanted, key=lambda name: known[name].seconds):
        results.measure(known[name], fields.get(name, set()))
    return finish(papers, known, fields)


def finish(papers, known, fields):
    """Write pages and tables; count, print and return the exit status."""
    find, stale = pages.finder(), stale_results(known, fields)
    for path in [paper.page for paper in papers if pages.write(paper)] + docs.write(find):
        print("  wrote", pages.relative(path))
    total, by_paper = count(papers, known, stale, find)
    wrong = faults(papers, find) + docs.unsourced(find)
    for line in wrong:
        print("  " + line)
    result = {"papers": {**total, "faults": len(faults(papers, find))}, "by_paper": by_paper}
    common.write("papers", result)
    return 1 if common.table("papers (rows)", result, TARGETS) else 0


if __name__ == "__main__":
    sys.exit(main())
