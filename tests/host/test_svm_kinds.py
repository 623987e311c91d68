# SPDX-License-Identifier: MIT
"""The vectors of the kinds of SVM are what scikit-learn answers today."""

import ast

import pytest

pytest.importorskip("sklearn.frozen")
import svm_kinds_source as source  # noqa: E402


def test_vectors_of_the_device_tests_are_up_to_date():
    kept, made = (_values(text) for text in (source.PATH.read_text(), source.text()))
    assert _same(kept, made)


def _values(text):
    body = ast.parse(text).body
    return {n.targets[0].id: ast.literal_eval(n.value) for n in body if isinstance(n, ast.Assign)}


def _same(a, b):
    """Equal, numbers to what another version of scikit-learn may round otherwise."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == pytest.approx(b, rel=1e-3, abs=1e-3) if isinstance(a, float) else a == b
