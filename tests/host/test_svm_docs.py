# SPDX-License-Identifier: MIT
"""The examples in docstrings and in docs/svm.md print what they say."""

import doctest
import re
from pathlib import Path

import pytest

import acclimate.svm.machine
import acclimate.svm.small

DOC = Path(__file__).resolve().parents[2] / "docs" / "svm.md"


@pytest.mark.parametrize("module", [acclimate.svm.machine, acclimate.svm.small])
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_first_example_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.search(r"```python\n(>>> .*?)```", DOC.read_text(), re.DOTALL).group(1)
    test = doctest.DocTestParser().get_doctest(text, {}, "svm.md", str(DOC), 0)
    assert doctest.DocTestRunner().run(test).failed == 0
