# SPDX-License-Identifier: MIT
"""The pages of the papers are what rows and committed results give, and all of it holds."""

import json

import pytest

from acclimate_host.paths import repository
from bench.papers import __main__ as papers
from bench.papers import docs, pages, results, rows, sources

PAPERS = [rows.load(name) for name in rows.PAPERS]
KNOWN = results.measurements()


def test_there_are_enough_rows_and_few_that_cannot_be_done():
    total, _ = papers.count(PAPERS, KNOWN, {}, pages.finder())
    assert total["rows"] >= 165 and total["cannot"] <= 13 and total["missing"] <= 10


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_row_has_a_command_and_a_verdict_that_holds(paper):
    assert papers.faults([paper], pages.finder()) == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_page_is_what_rows_and_results_give(paper):
    assert pages.is_current(paper), "run: make bench NAME=papers"


@pytest.mark.slow  # `make bench NAME=papers` puts it right; it takes minutes
def test_no_number_is_stale():
    stale = papers.stale_results(KNOWN, papers.fields_of(PAPERS))
    assert stale == {}, "run: make bench NAME=papers (it measures what is stale)"


@pytest.mark.slow  # a page may be ahead of its marks for a few commits
def test_every_section_of_a_page_that_has_numbers_says_where_they_are_from():
    assert docs.unsourced(pages.finder()) == []


def test_numbers_of_the_pages_are_those_of_the_results():
    for page in docs.pages():
        text = page.read_text()
        assert docs.filled(text, pages.finder()) == text, page.name


def test_every_kept_result_says_how_it_was_made():
    for path in sorted((results.FOLDER / "results").glob("*.json")):
        kept = json.loads(path.read_text())
        assert path.stem in KNOWN, path.name
        assert set(kept) == {"command", "commit", "date", "sources", "values"}
        assert kept["commit"] != "unknown" and kept["sources"] and kept["values"]
        assert rows.command_fault(kept["command"]) == ""


# ---- the machinery itself ---------------------------------------------------------------------


def test_a_command_may_begin_with_what_a_shell_sets_for_it():
    assert rows.command_fault("MODELS=DIR A=1 make bench NAME=svm") == ""
    assert "no module" in rows.command_fault("MODELS=DIR python -m bench.nothing")
    assert rows.command_fault("A=1 python -m pytest tests/host/test_papers.py -k x -s") == ""
    assert "nothing.py" in rows.command_fault("A=1 python -m pytest tests/host/nothing.py -s")
    for words in ("models=dir make bench NAME=svm", "MODELS=DIR", "sh x.sh"):
        assert "expected make, python or acclimate" in rows.command_fault(words)


def a_row(**changes):
    fields = {"section": "1", "at": "here", "claim": "c", "here": "README.md", "ours": "1"}
    fields |= {"command": "make bench NAME=svm", "verdict": "reproduced"} | changes
    return rows.Row(**fields)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"command": "make bench NAME=nothing"}, "no module bench.nothing"),
        ({"command": 'make test PYTEST_ARGS="tests/host/test_gone.py"'}, "no file"),
        ({"command": 'make test PYTEST_ARGS="tests/host/test_papers.py::test_x"'}, "no test"),
        ({"command": "acclimate fly"}, "no command fly"),
        ({"command": "make coffee"}, "no target coffee"),
        ({"command": "curl x"}, "expected make"),
        ({"here": "README.md, gone.py"}, "no gone.py"),
        ({"section": "9"}, "no section"),
        ({"verdict": "perhaps"}, "verdict"),
        ({"verdict": "beaten"}, "expected a condition"),
        ({"verdict": "cannot"}, "expected a reason"),
        ({"verdict": "beaten", "when": "a:b.c > 2"}, "no longer holds"),
    ],
)
def test_a_row_that_does_not_hold_is_named(changes, words):
    paper = rows.Paper("p", {}, (("1", "t", ""),), (a_row(**changes),), ())
    found = papers.faults([paper], lambda name, field: 2)
    assert len(found) == 1 and words in found[0]


def test_slots_are_filled_from_results():
    def find(name, field):
        return {"big": 1234567, "share": 0.256}[field]

    text = "{r:big|,} of {r:big * 2|,}, {r:share|.1%}, {r:big / 1000000|.2f}"
    assert rows.filled(text, find) == "1,234,567 of 2,469,134, 25.6%, 1.23"
    assert rows.names_in(text) == {("r", "big"), ("r", "share")}
    assert rows.value("r:share < 0.3 and r:big > 1", find) is True
    with pytest.raises(ValueError, match="not arithmetic"):
        rows.value("print(1)", find)


def test_fields_with_dots_and_signs_are_found():
    whole = {"a.b": {"int8 SGD-M + x": [1, {"c": 5}]}}
    assert results.look_up(whole, "a.b.int8_SGD_M___x.1.c") == 5
    assert results.look_up(whole, "a.b.none") is None


def test_a_comment_or_docstring_changes_no_digest_and_a_line_does(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "repository", lambda: tmp_path)
    file = tmp_path / "x.py"
    file.write_text('"""Words."""\n\nx = 1  # one\n\n\ndef f():\n    """More."""\n    return x\n')
    first = sources.digest("x.py")
    file.write_text('"""Other words.\n\nMany.\n"""\nx = 1\ndef f():\n    return x\n')
    assert sources.digest("x.py") == first
    file.write_text("x = 2\ndef f():\n    return x\n")
    assert sources.digest("x.py") != first
    assert sources.changed({"x.py": first, "gone.c": "12345678"}) == ["x.py", "gone.c"]
    (tmp_path / "y.c").write_text("/* words */\nint y; // more\n")
    known = sources.digests(["*.c"])
    (tmp_path / "y.c").write_text("int y;\n\n")
    assert sources.changed(known) == []
    with pytest.raises(ValueError, match="found none"):
        sources.files(["*.h"])


def test_a_changed_source_makes_its_rows_stale(monkeypatch):
    monkeypatch.setattr(sources, "digest", lambda name: "00000000")
    stale = papers.stale_results(KNOWN, papers.fields_of(PAPERS))
    total, _ = papers.count(PAPERS, KNOWN, stale, pages.finder())
    assert total["stale"] > 50


@pytest.mark.parametrize(
    "body, count",
    [
        ("It takes 1,234 bytes.", 1),
        ("Some 40 % of 12.5 and 7 times.", 3),
        ("`1,234 bytes`, version 3, step 2\n\n    $ 5 bytes\n", 0),
        ("<!--{a:b}-->1,234<!--/-->", 0),
    ],
)
def test_measured_looking_numbers_are_seen(body, count):
    assert len(docs.numbers_of(body)) == count


def test_marks_name_a_command_and_a_commit():
    assert docs.mark_fault("make bench NAME=svm, at 780f8f9") == ""
    assert docs.mark_fault("quoted from the paper") == ""
    assert docs.mark_fault("by definition") == ""
    assert "expected COMMAND" in docs.mark_fault("somewhere")
    assert "no module" in docs.mark_fault("make bench NAME=gone, at 780f8f9")


def test_the_pages_are_linked_from_measured():
    text = (repository() / "docs" / "measured.md").read_text()
    assert all(f"papers/{paper.page.name}" in text for paper in PAPERS)
