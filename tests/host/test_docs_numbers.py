# SPDX-License-Identifier: MIT
"""One quantity has one value, on whatever page it stands."""

import re
from collections import defaultdict

from acclimate_host.paths import repository

ROOT = repository()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What `acclimate profile --board nrf52840` says of each operator, whatever page store it measures.
_PROFILE = r"^ *(conv 3x3|depthwise 3x3|pointwise|dense|backward and update|training step)  +(.*)$"


def test_a_measured_operator_has_the_same_time_on_all_pages():
    found = defaultdict(set)
    for page in PAGES:
        for name, values in re.findall(_PROFILE, page.read_text("utf-8"), re.M):
            found[name].add(tuple(values.split()))
    assert len(found) == 6
    assert not {name: values for name, values in found.items() if len(values) > 1}


def test_the_demo_has_one_result_on_all_pages():
    """The same windows, machine and settings: every runtime gives the same labels."""
    found = set()
    for page in PAGES:
        for text in re.findall(r"([\d, ]*\d) of 114\b", page.read_text("utf-8")):
            found |= set(map(int, text.split(",")))
    assert found == {80, 100}
