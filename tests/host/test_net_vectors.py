# SPDX-License-Identifier: MIT
"""The vectors of the device tests are what compiler and reference make today."""

import net_vectors_source as source
import pytest


@pytest.mark.parametrize("name", source.CASES)
def test_vectors_of_the_device_tests_are_up_to_date(name):
    assert source.path(name).read_text() == source.text(source.CASES[name])
