# SPDX-License-Identifier: MIT
"""The formats have one source: what is generated from it is what the repository holds."""

import pytest

from acclimate_host.capsules import layout


@pytest.mark.parametrize(
    "path,found,wanted",
    list(layout.GENERATED.targets()),
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_generated_text_is_up_to_date(path, found, wanted):
    assert found == wanted, "run python -m acclimate_host.capsules.layout"


def test_device_files_take_their_constants_from_the_source():
    names = {path.name for path, _, _ in layout.GENERATED.targets()}
    assert {"capsule.py", "journal.py", "delta.py", "install.py", "layout.h"} <= names


def test_a_changed_constant_is_found():
    text = "# layout: begin\n_H_SIGNATURE = const(51)\n# layout: end\n"
    assert "_H_SIGNATURE = const(52)" in layout.GENERATED.with_constants(text)


def test_header_and_records_have_the_lengths_that_the_overhead_limit_allows():
    three_sections = layout.HEADER.bytes + 3 * layout.SECTION.bytes
    # Each of four records is there twice.
    assert three_sections + 2 * 4 * layout.RECORD.bytes <= 224
