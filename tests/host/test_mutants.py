# SPDX-License-Identifier: MIT
"""The small faults that `make mutants` tries, and how it counts."""

import argparse

import pytest

from tools import mutants, mutate

SOURCE = '''
"""A text, which stays."""
import os
LIMIT = 3


def take(n, limit: int = 2):
    """Another."""
    if n < limit and n != 7:
        raise ValueError("take %d: at most %d" % (n + 1, limit))
    total = n * 2
    return total if total else None
'''


def changes(text):
    return {(mutation.was, mutation.now) for mutation in mutate.of_python(text)}


def test_conditions_numbers_and_statements_are_changed():
    found = changes(SOURCE)
    assert {
        ("n < limit", "n <= limit"),
        ("n < limit", "n >= limit"),
        ("n != 7", "n == 7"),
        ("n < limit and n != 7", "n < limit or n != 7"),
        ("n < limit and n != 7", "n < limit"),
        ("n < limit and n != 7", "n != 7"),
        ("n < limit and n != 7", "True"),
        ("n < limit and n != 7", "False"),
        ("n * 2", "n // 2"),
        ("2", "3"),
        ("2", "1"),
        ("7", "8"),
        ("total = n * 2", "pass"),
        ("total if total else None", "None"),
        ("return total if total else None", "return"),
    } <= found
    assert any(was.startswith("raise ValueError") and now == "pass" for was, now in found)


def test_products_of_matrices_become_those_of_their_numbers():
    assert changes("def take(a, b):\n    return a @ b\n") == {
        ("return a @ b", "return"),
        ("a @ b", "a * b"),
    }


def test_no_is_not_changed_to_nothing():
    """Who asks takes one for the other."""
    found = changes("def is_one(n):\n    return False\n")
    assert found == {("False", "True")}


def test_texts_of_errors_annotations_and_imports_are_left():
    for was, now in changes(SOURCE):
        assert "n - 1" not in now and not was.startswith(("import", "int", '"', "LIMIT"))


def test_each_change_compiles_and_differs_in_one_place():
    import ast

    whole = ast.unparse(ast.parse(SOURCE))
    texts = [mutation.source() for mutation in mutate.of_python(SOURCE)]
    for text in texts:
        compile(text, "changed", "exec")
        assert text.strip() != whole
        assert len(set(text.splitlines()) ^ set((whole + "\n").splitlines())) <= 6
    assert len(set(texts)) > 0.9 * len(texts)


def test_a_change_names_its_line():
    lines = SOURCE.splitlines()
    for mutation in mutate.of_python(SOURCE):
        assert lines[mutation.line - 1].strip() == mutation.text


def test_c_is_changed_outside_of_comments_texts_and_macros():
    text = (
        "#define MOST 1\n/* a < b */\nint f(int a, int b)\n{\n"
        '    if (a < b && a != 0) { // a == b\n        say("a < b");\n    }\n'
        "    return a + b;\n}\n"
    )
    found = {(mutation.line, mutation.was, mutation.now) for mutation in mutate.of_c(text)}
    assert {
        (5, "<", "<="),
        (5, "&&", "||"),
        (5, "!=", "=="),
        (5, "0", "1"),
        (8, "+", "-"),
    } == found
    for mutation in mutate.of_c(text):
        changed = mutation.source().splitlines()
        assert [i + 1 for i, line in enumerate(text.splitlines()) if changed[i] != line] == [
            mutation.line
        ]


@pytest.mark.parametrize(
    "changed, words",
    [
        ({}, None),
        ({"score": 0.89}, "the goal is 0.90"),
        ({"tried": 59}, "59 of 60"),
        ({"equivalent": [{}] * 4}, "called equivalent"),
        ({"error": "its tests never load it"}, "never load"),
    ],
)
def test_what_a_report_misses_is_said(changed, words):
    found = {
        "goal": 0.9,
        "score": 0.9,
        "chosen": 60,
        "tried": 60,
        "equivalent": [{}] * 3,
        **changed,
    }
    wrong = mutants.faults("journal", found)
    assert (words is None and not wrong) or words in wrong[0]


def test_each_listed_file_is_there_and_each_equivalent_change_is_one():
    from acclimate_host.figures import tomllib

    text = (mutants.ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8")
    for name, entry in tomllib.loads(text)["files"].items():
        keys = {mutation.key for mutation in mutate.of_file(mutants.ROOT / entry["path"])}
        assert len(keys) >= 20, name  # of a small file each is tried
        for path in entry["tests"]:
            assert (mutants.ROOT / path).exists(), path
        for one in entry.get("equivalent", []):
            assert (one["text"], one["was"], one["now"]) in keys, (name, one)
            assert len(one["reason"]) > 20


def test_without_a_name_the_core_is_tried_and_with_all_everything():
    def names(name):
        return mutants.chosen_files(argparse.Namespace(name=name, tests=[]))

    core, every = names(""), names("all")
    judges_and_core = "evaluate store journal capsule manifest pull acceptance svm_train svm_data"
    judges_and_core += " svm_incremental net_training prune choose poet_model"
    assert set(judges_and_core.split()) <= core.keys() < every.keys()
    assert list(names("journal")) == ["journal"] and set(names("")) == set(core)
    assert min(entry["goal"] for entry in core.values()) >= 0.80
