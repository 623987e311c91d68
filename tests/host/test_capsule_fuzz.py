# SPDX-License-Identifier: MIT
"""A bounded share of `make bench NAME=fuzz`: every parser, with an oracle apart from them."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.net import network
from bench import fuzz, fuzz_all, fuzz_models, fuzz_oracle
from bench import fuzz_targets as targets
from bench.fuzz_python import blindly, mutate

NAMES = sorted(fuzz_all.TARGETS)


@pytest.mark.parametrize("name", NAMES)
def test_mutated_input_is_refused_or_good(name):
    blindly(fuzz_all.TARGETS[name], fuzz_all.seeds(name), 400, seed=1)  # the bench draws seeds


@pytest.mark.parametrize("name", NAMES)
def test_any_bytes_are_refused_or_good(name):
    @settings(max_examples=100, deadline=None)
    @given(st.binary(max_size=300))
    def run(data):
        fuzz_all.TARGETS[name](data)

    run()


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_taken_and_the_oracle_says_why(name):
    for data in fuzz_all.seeds(name):
        fuzz_all.TARGETS[name](data)


def test_oracle_knows_good_from_bad():
    assert targets.good(targets.TARGET, above=2) and not targets.good(targets.TARGET, above=3)
    for at in range(0, len(targets.TARGET), 3):
        bad = bytearray(targets.TARGET)
        bad[at] ^= 1 << at % 8
        assert not targets.good(bytes(bad))
    assert not targets.good(targets.signed(targets.TARGET[:-1]))
    assert fuzz_oracle.http_body(b"HTTP/1.1 200 OK\r\n\r\nx") == (200, b"x")
    assert fuzz_oracle.http_body(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx") is None


def test_fault_in_a_parser_is_found(monkeypatch):
    monkeypatch.setattr("acclimate.store.capsule.digest.same_digest", lambda *args: True)
    with pytest.raises(targets.AcceptedBad):
        blindly(targets.of_capsule, targets.seeds("capsule"), 2000, seed=1)


def test_mutations_stay_in_their_limit():
    draw = random.Random(1)
    data = bytes(50)
    for _ in range(500):
        data = mutate(data, draw, 80)
        assert len(data) <= 80


def test_core_gives_what_the_references_give():
    found = fuzz.fuzz_core(3000)
    if "left_out" in found:
        pytest.skip(found["left_out"])
    assert found["crashes"] == found["accepted_bad"] == 0 and found["inputs"] >= 3000
    assert min(found["by_function"].values()) > 100


def test_a_program_that_clears_what_is_not_its_arena_is_damaged():
    found = fuzz_models.program()
    data = bytearray(found.code)
    at = network._P_KEPT_BYTES
    data[at : at + 4] = (found.arena_bytes + 1).to_bytes(4, "little")
    fuzz_models.repair(data)
    with pytest.raises(network.NetError, match="damaged"):
        network.Net(bytes(data), found.weights)
