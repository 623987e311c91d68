# SPDX-License-Identifier: MIT
"""The vectors of the device tests are what compiler and reference make today."""

import ast

import net_vectors_source as source
import pytest


@pytest.mark.parametrize("name", source.CASES)
def test_vectors_of_the_device_tests_are_up_to_date(name):
    kept, made = source.path(name).read_text(), source.text(source.CASES[name])
    # The values, as the formatter lays them out in its own way.
    assert ast.dump(ast.parse(kept)) == ast.dump(ast.parse(made))
