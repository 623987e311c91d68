# SPDX-License-Identifier: MIT
"""The examples in docstrings and in docs/svm.md print what they say."""

import doctest
import re
from pathlib import Path

import pytest

import acclimate.svm.machine
import acclimate.svm.online
import acclimate.svm.single
import acclimate.svm.small

DOC = Path(__file__).resolve().parents[2] / "docs" / "svm.md"


@pytest.mark.parametrize(
    "module",
    [acclimate.svm.machine, acclimate.svm.online, acclimate.svm.single, acclimate.svm.small],
)
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_first_example_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.search(r"```python\n(>>> .*?)```", DOC.read_text(), re.DOTALL).group(1)
    test = doctest.DocTestParser().get_doctest(text, {}, "svm.md", str(DOC), 0)
    assert doctest.DocTestRunner().run(test).failed == 0


PROGRAMS = re.findall(
    r"```python\n((?:from|import) (?:(?!```).)*)```\n```text\n(.*?)```", DOC.read_text(), re.DOTALL
)


@pytest.mark.parametrize("program, printed", PROGRAMS)
def test_programs_of_the_page_print_what_stands_below_them(
    program, printed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "svm.md", "exec"), {})
    assert capsys.readouterr().out == printed
