# SPDX-License-Identifier: MIT
"""The Arduino library compiles without a warning for three cores, and its sketches learn."""

import dataclasses
import os
import subprocess
import sys

import pytest

from acclimate_host.paths import repository
from bench import arduino

WANTED = {
    "TrainSVM": ["converged after 137 steps; right: 36 of 36"],
    "LearnNetwork": ["right before: 36, after: 161 of 200"],
    "CheckCapsule": [
        "the capsule: whole, authentic",
        "weights: 2280",
        "one bit flipped in the body: damaged, authentic",
        "one bit flipped in the header: damaged, not signed with our key",
    ],
}

pytestmark = pytest.mark.skipif(
    arduino.missing() is not None and os.environ.get("CI") != "true", reason=str(arduino.missing())
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arduino")
    tool = repository() / "tools" / "arduino_library.py"
    subprocess.run([sys.executable, tool, folder], check=True)
    return folder


@pytest.fixture(scope="module", params=list(arduino.CORES))
def built(request, library):
    return arduino.Library(library / "Acclimate", library / "work", request.param)


@pytest.mark.parametrize("name", arduino.SKETCHES)
def test_a_sketch_fits_its_board_and_prints_what_it_should(built, name):
    elf, size = built.sketch(name)
    assert built.run(elf).splitlines() == WANTED[name]
    assert size["ram_bytes"] <= 4096


def test_the_zip_and_the_properties_are_what_the_ide_asks_for(library):
    properties = dict(
        line.split("=", 1)
        for line in (library / "Acclimate" / "library.properties").read_text().splitlines()
    )
    assert {"name", "version", "author", "maintainer", "sentence", "paragraph"} <= set(properties)
    assert properties["version"][0].isdigit() and properties["includes"] == "Acclimate.h"
    assert (library / "Acclimate.zip").stat().st_size > 10_000
    assert not (library / "Acclimate" / "board").exists()


def test_a_sketch_that_does_not_fit_is_refused_by_the_linker(built):
    smaller = dataclasses.replace(built.core, ram_bytes=arduino.STACK_BYTES + 512)
    whole, built.core = built.core, smaller
    try:
        with pytest.raises(subprocess.CalledProcessError):
            built.sketch("TrainSVM")
    finally:
        built.core = whole
