# SPDX-License-Identifier: MIT
"""The vectors of the device tests are what the builder makes today."""

import capsule_vectors_source as source


def test_vectors_of_the_device_tests_are_up_to_date():
    assert source.TARGET.read_text() == source.text()
