# SPDX-License-Identifier: MIT
"""What no capsule can say is refused by its name."""

import pytest

from acclimate_host.capsules.build import build, read
from acclimate_host.errors import Refused

MOST = {
    "model": (1 << 30) - 1, "version": (1 << 30) - 1, "epoch": 65535, "temperature": 65535,
    "flags": 255, "arch": 255, "abi": 255, "board": (1 << 24) - 1, "device": (1 << 24) - 1,
}  # fmt: skip


def made(sections=None, kind="DATA", **numbers):
    numbers = {"model": 7, "version": 1, **numbers}
    return build(sections or {"WEIGHTS": b"weights"}, kind, key=bytes(32), **numbers)


@pytest.mark.parametrize("name", MOST)
def test_the_ends_of_a_number_s_range_are_taken_and_nothing_beyond_them(name):
    for value in (0, MOST[name]):
        assert getattr(read(made(**{name: value})), name) == value
    for value in (-1, MOST[name] + 1, 1 << 70):
        with pytest.raises(Refused, match=f"^{name} {value}: 0 to {MOST[name]}$"):
            made(**{name: value})


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("value", [1.0, float("nan"), True, "1", None, b"1"])
def test_what_is_no_whole_number_is_refused(name, value):
    with pytest.raises(Refused, match=f"^{name} .*: expected a whole number, 0 to {MOST[name]}$"):
        made(**{name: value})


@pytest.mark.parametrize("kind", ["", "data", "DATA ", None, 4])
def test_a_kind_that_there_is_not_is_refused(kind):
    with pytest.raises(Refused, match="^kind .*: expected one of"):
        made(kind=kind)


@pytest.mark.parametrize("name", ["", "weights", "WEIGHTS\0", None, 2])
def test_a_section_that_there_is_not_is_refused(name):
    with pytest.raises(Refused, match="^section .*: expected one of"):
        made({name: b"x"})


@pytest.mark.parametrize("at, name", [(11, "model"), (15, "version")])
def test_a_capsule_with_a_number_that_no_device_reads_is_none(at, name):
    data = bytearray(made())
    data[at] = 63
    assert getattr(read(bytes(data)), name) > 63 << 24
    data[at] = 64
    with pytest.raises(Refused, match=name):
        read(bytes(data))
