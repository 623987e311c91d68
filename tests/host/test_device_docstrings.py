# SPDX-License-Identifier: MIT
"""What docstrings of the device package show is what comes."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["drift", "energy", "features", "loop", "reservoir", "svm", "svm.machine"]
)
def test_examples_of_a_docstring_run_as_they_stand(name):
    result = doctest.testmod(importlib.import_module("acclimate." + name))
    assert result.failed == 0
