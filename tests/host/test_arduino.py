# SPDX-License-Identifier: MIT
"""The Arduino library compiles without a warning for three cores, and its sketches learn."""

import dataclasses
import os
import subprocess
import sys

import pytest

from acclimate.net import Net
from acclimate_host.paths import repository
from acclimate_host.twin import net as twin_net
from bench import arduino

sys.path.insert(0, str(repository() / "tools"))
import arduino_library as tool  # noqa: E402

WANTED = {
    "TrainSVM": ["converged after 137 steps; right: 36 of 36"],
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
    command = [sys.executable, repository() / "tools" / "arduino_library.py", folder]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(
    scope="module",
    params=[
        name if name == "m4f" else pytest.param(name, marks=pytest.mark.slow)
        for name in arduino.CORES
    ],
)
def built(request, library):
    return arduino.Library(library / "Acclimate", library / "work", request.param)


@pytest.mark.slow
@pytest.mark.parametrize("name", WANTED)
def test_a_sketch_fits_its_board_and_prints_what_it_should(built, name):
    elf, size = built.sketch(name)
    assert built.run(elf).splitlines() == WANTED[name]
    assert size["ram_bytes"] <= 4096


@pytest.fixture(scope="module")
def learned():
    """How many of the sketch's questions the twin answers rightly, before and after."""
    if twin_net.load() is None:
        pytest.skip("the twin is not built")
    twin_net.register()
    program, small, samples, labels = tool.network()
    net = Net(program.code, program.weights)
    net.set_rate(tool.RATE[0] * 2.0 ** tool.RATE[1])
    answers = labels[900 : 900 + tool.SHOWN + tool.ASKED].tolist()
    stream = list(zip(tool.task(small, samples), answers, strict=True))
    shown, asked = stream[: tool.SHOWN], stream[tool.SHOWN :]
    before = net.evaluate(asked)
    for _ in range(tool.PASSES):
        for _ in net.train(shown):
            pass
    return [round(share * tool.ASKED) for share in (before, net.evaluate(asked))]


@pytest.mark.slow
def test_the_network_learns_on_the_board_what_it_learns_on_the_twin(built, learned):
    elf, size = built.sketch("LearnNetwork")
    before, after = learned
    assert built.run(elf) == f"right before: {before}, after: {after} of {tool.ASKED}\n"
    assert after > 2 * before and size["ram_bytes"] <= 4096


def test_the_zip_and_the_properties_are_what_the_ide_asks_for(library):
    properties = dict(
        line.split("=", 1)
        for line in (library / "Acclimate" / "library.properties").read_text().splitlines()
    )
    assert {"name", "version", "author", "maintainer", "sentence", "paragraph"} <= set(properties)
    assert properties["version"][0].isdigit() and properties["includes"] == "Acclimate.h"
    assert (library / "Acclimate.zip").stat().st_size > 10_000
    assert not (library / "Acclimate" / "board").exists()


@pytest.mark.slow
def test_a_sketch_that_does_not_fit_is_refused_by_the_linker(built):
    smaller = dataclasses.replace(built.core, ram_bytes=arduino.STACK_BYTES + 512)
    whole, built.core = built.core, smaller
    try:
        with pytest.raises(subprocess.CalledProcessError):
            built.sketch("TrainSVM")
    finally:
        built.core = whole
