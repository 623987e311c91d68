# SPDX-License-Identifier: MIT
"""docs/training.md does what it says; its numbers may differ with the version of scikit-learn."""

import doctest
import re

import pytest

from acclimate_host import twin_net
from acclimate_host.model import build, factors, small
from acclimate_host.paths import repository

DIGITS = re.compile(r"-?\d[\d.,]*")


class AnyNumbers(doctest.OutputChecker):
    """Numbers stand for numbers; the words and the form must agree."""

    def check_output(self, want, got, optionflags):
        same = [" ".join(DIGITS.sub("0", text).split()) for text in (want, got)]
        return same[0] == same[1]


@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = repository() / "docs" / "training.md"
    blocks = re.findall(r"```python\n(>>> .*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    names = {}
    test = doctest.DocTestParser().get_doctest("".join(blocks), names, path.name, str(path), 0)
    found = doctest.DocTestRunner(AnyNumbers()).run(test, clear_globs=False)
    assert found.attempted > 20 and found.failed == 0
    net, stream = test.globs["net"], test.globs["stream"]
    assert net.evaluate(stream[1200:]) > 0.7


@pytest.mark.parametrize("module", [build, factors, small])
def test_docstring_examples(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
