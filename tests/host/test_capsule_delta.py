# SPDX-License-Identifier: MIT
"""Update containers: what they make, how small they are, and what is refused."""

import functools

import capsule_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.store import CapsuleError, Updater
from acclimate.store.rangecoder import (
    _COPY as COPY,
)
from acclimate.store.rangecoder import (
    _DATA as DATA,
)
from acclimate.store.rangecoder import (
    _DIFF as DIFF,
)
from acclimate.store.rangecoder import (
    _HEAD_BYTES as HEAD_BYTES,
)
from acclimate.store.rangecoder import (
    Decoder,
)
from acclimate_host.capsules.build import build, head_bytes
from acclimate_host.capsules.delta import patch, smallest, update
from acclimate_host.capsules.layout import UPDATE
from acclimate_host.capsules.rangecoder import Encoder
from acclimate_host.testing.nor import NorFlash
from harness.errors import because

BASE_WEIGHTS = cases.weights(700, 1)
BASE = cases.capsule(1, BASE_WEIGHTS)


@functools.cache
def made(base, target):
    return update(base, target)


def fresh():
    store = cases.store(cases.flash())
    store.swap_capsule(BASE)
    return store


def apply(store, container, piece=37):
    updater = Updater(store)
    for at in range(0, len(container), piece):
        part = container[at : at + piece]
        updater.feed(part, len(part))
    updater.finish()
    store.confirm()


def weights_of(version, content):
    return cases.capsule(version, content)


TARGETS = {
    "tuned": weights_of(2, cases.tuned(BASE_WEIGHTS, 1)),
    "same weights": weights_of(2, BASE_WEIGHTS),
    "other weights": weights_of(2, cases.weights(700, 9)),
    "longer": weights_of(2, BASE_WEIGHTS[:300] + b"inserted" + BASE_WEIGHTS[300:]),
    "shorter": weights_of(2, BASE_WEIGHTS[50:]),
    "few bytes": weights_of(2, b"\0\xff" + BASE_WEIGHTS[2:-1] + b"\x80"),
}


@pytest.mark.case("E13")
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("piece", [1, 37, 4000])
def test_container_makes_the_target(name, piece):
    store = fresh()
    apply(store, made(BASE, TARGETS[name]), piece)
    assert cases.active(cases.store(store.flash)) == TARGETS[name]


@pytest.mark.case("E18")
def test_tuned_weights_cost_much_less_than_the_capsule():
    assert len(made(BASE, TARGETS["tuned"])) < 0.75 * len(TARGETS["tuned"])
    assert smallest(BASE, TARGETS["tuned"]) != TARGETS["tuned"]
    assert smallest(BASE, TARGETS["other weights"]) == TARGETS["other weights"]


def test_forms_of_the_paper():
    sections = {"WEIGHTS": BASE_WEIGHTS, "OPERATORS": cases.weights(200, 4)}
    base = build(sections, "SVM", 7, 1, key=cases.KEY)

    def sign(changed):
        return build(changed, "SVM", 7, 2, key=cases.KEY)

    weights_only = update(base, sign({**sections, "WEIGHTS": cases.tuned(BASE_WEIGHTS, 3)}))
    operators_only = update(base, sign({**sections, "OPERATORS": cases.weights(210, 5)}))
    _, one_range = patch(base, 400, b"new bytes", sign)
    assert [c[5] for c in (weights_only, operators_only, one_range)] == [2, 3, 4]
    for container in (weights_only, operators_only, one_range):
        store = cases.store(cases.flash(5))
        store.swap_capsule(base)
        apply(store, container)
        assert store.head.version == 2
    assert len(one_range) < UPDATE.bytes + head_bytes(base) + 64


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=300), st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_differences_come_back_from_their_code(differences, shrink):
    differences = [int(d / 10**shrink) for d in differences]
    encoder = Encoder()
    encoder.differences(0, differences)
    decoder, head = decoding(encoder.finish())
    assert list(head[:3]) == [DIFF, len(differences), 0]
    for wanted in differences:
        before = decoder.at
        assert decoder.difference() == wanted
        assert decoder.at - before <= 23


def decoding(stream):
    decoder = Decoder(len(stream) + 128)
    decoder.input[: len(stream)] = stream
    decoder.start()
    before = decoder.at
    head = decoder.head()
    assert decoder.at - before <= HEAD_BYTES
    return decoder, head


@given(st.integers(-(1 << 24), 1 << 24), st.integers(1, (1 << 21) - 1), st.booleans())
@settings(max_examples=100, deadline=None)
def test_heads_of_instructions_come_back(place, length, has_lanes):
    encoder = Encoder(made=5, has_lanes=has_lanes)
    encoder.copy(place, length)
    _, head = decoding(encoder.finish())
    way = 1 if place not in (0, 5) else 0 if place == 0 else 2
    assert list(head[:3]) == [COPY, length, way]
    assert way != 1 or head[3] == place


def test_lengths_beyond_one_instruction_are_divided():
    encoder = Encoder()
    encoder.copy(0, (1 << 21) + 10)
    decoder, head = decoding(encoder.finish())
    assert head[1] == (1 << 21) - 1
    head = decoder.head()
    assert list(head[:3]) == [COPY, 11, 0]


@pytest.mark.parametrize("has_lanes", [False, True])
def test_plain_bytes_come_back_in_their_lanes(has_lanes):
    encoder, text = Encoder(has_lanes=has_lanes), bytes(range(256)) * 2
    encoder.copy(0, 3)
    encoder.data(text)
    decoder, _ = decoding(encoder.finish())
    decoder.head()
    out = bytearray(512)
    assert decoder.block(b"", out, 0, 512, len(decoder.input), DATA) == 512
    assert out == text


@pytest.mark.case("E13")
def test_every_flipped_bit_of_a_container_is_refused_and_the_base_stays():
    store = fresh()
    container = made(BASE, TARGETS["tuned"])
    for at in range(len(container)):
        if at == 5:
            continue  # the form's name is for the reader
        bad = bytearray(container)
        bad[at] ^= 1 << at % 8
        with pytest.raises(CapsuleError):
            apply(store, bytes(bad), 4000)
        assert cases.active(store) == BASE
    apply(store, container)
    assert cases.active(store) == TARGETS["tuned"]


def crafted(code, target=None):
    import zlib

    target = target or TARGETS["tuned"]
    good = made(BASE, target)
    size = len(code).to_bytes(4, "little") + zlib.crc32(code).to_bytes(4, "little")
    return good[:8] + size + good[16 : 48 + head_bytes(target)] + code


def coded(*steps):
    """Return the stream of (method of Encoder, arguments)."""
    encoder = Encoder(head_bytes(TARGETS["tuned"]))
    for name, *arguments in steps:
        getattr(encoder, name)(*arguments)
    return encoder.finish()


BODY = len(TARGETS["tuned"]) - head_bytes(TARGETS["tuned"])


@pytest.mark.case("E12")
@pytest.mark.parametrize(
    "code,reason",
    [
        (coded(("copy", len(BASE) - 9, 10)), "patch"),
        (coded(("copy", -1, 10)), "patch"),
        (coded(("differences", len(BASE) - 4, [0] * 5)), "patch"),
        (coded(("copy", 0, 0xFFFFFF)), "oversized"),
        (coded(("copy", 0, BODY + 1)), "oversized"),
        (coded(("data", bytes(BODY + 1))), "oversized"),
        (coded(("copy", 0, BODY)) + b"more", "patch"),
        (coded(("copy", 0, BODY)), "integrity"),
        (coded(("copy", 100, 50), ("copy", 120, BODY - 50)), "integrity"),
    ],
)
def test_crafted_instructions_are_refused_by_name(code, reason):
    store = fresh()
    with pytest.raises(CapsuleError) as caught:
        apply(store, crafted(code))
    assert caught.value.reason == reason
    assert cases.active(cases.store(store.flash)) == BASE


@pytest.mark.case("E12")
@pytest.mark.parametrize("kept", [0, 3, 40])
def test_an_update_that_ends_early_is_truncated(kept):
    store = fresh()
    container = made(BASE, TARGETS["tuned"])
    with pytest.raises(CapsuleError, check=because("truncated")):
        apply(store, container[: 48 + head_bytes(BASE) + kept])
    assert cases.active(store) == BASE


@pytest.mark.case("E12")
def test_bytes_after_the_last_instruction_are_refused():
    store = fresh()
    with pytest.raises(CapsuleError, check=because("oversized")):
        apply(store, made(BASE, TARGETS["tuned"]) + b"\0")
    assert cases.active(store) == BASE


@pytest.mark.slow
@pytest.mark.case("E12")
@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_instructions_end_in_the_old_model(code):
    store = fresh()
    with pytest.raises(CapsuleError):
        apply(store, crafted(code), 64)
    assert cases.active(store) == BASE


class Counts(NorFlash):
    """A flash that tells which pages were erased."""

    erased = ()

    def _erase(self, at):
        self.erased = (*self.erased, at)
        super()._erase(at)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("page", [64, 256])
def test_update_that_a_reset_ended_goes_on_at_the_page_it_had_reached(name, page):
    pages = 2 + 2 * -(-1024 // page)
    container, target = made(BASE, TARGETS[name]), TARGETS[name]
    for written in range(2 * page, len(target), 97):
        flash = Counts(pages * page, page)
        cases.store(flash).swap_capsule(BASE)
        updater, at = Updater(cases.store(flash)), 0
        while updater._store.slots.written < written:
            updater.feed(container[at : at + 1], 1)
            at += 1
        flash.erased = ()
        store = cases.store(flash)  # a reset
        apply(store, container)
        assert cases.active(cases.store(flash)) == target
        start = store.slots.start(store.active)
        again = {p for p in flash.erased if p >= 2 * page}
        # No page before the one that was reached is erased, nor programmed, once more.
        last = start + (written - 64) // page * page
        assert again and min(again) >= last - page


def test_pages_that_a_reset_left_of_another_result_are_found_by_the_digest():
    store = fresh()
    target = TARGETS["few bytes"]
    store.stage(target, head_bytes(target))
    store.write(target[:600], 600)
    store.flash.data[store.slots.start(1) + 300] ^= 1
    again = cases.store(store.flash)
    with pytest.raises(CapsuleError, check=because("integrity")):
        apply(again, update(BASE, target))
    assert cases.active(again) == BASE
    apply(again, update(BASE, target))
    assert cases.active(again) == target


def test_what_has_nothing_in_common_with_the_base_costs_no_more_than_itself():
    base, other = cases.weights(3000, 21), cases.weights(3000, 22)
    made = update(cases.capsule(1, base), cases.capsule(2, other))
    assert len(made) < len(cases.capsule(2, other)) + 70
    # What comes later is coded as if it had not been tried.
    store = cases.store(cases.flash(20))
    sections = {"PROGRAM": base[:900], "WEIGHTS": BASE_WEIGHTS}
    first, second = (
        build({**sections, **new}, "SVM", cases.MODEL, version, key=cases.KEY)
        for version, new in (
            (1, {}),
            (2, {"PROGRAM": other[:900], "WEIGHTS": cases.tuned(BASE_WEIGHTS, 3)}),
        )
    )
    store.swap_capsule(first)
    apply(store, update(first, second))
    assert cases.active(store) == second


def test_a_base_that_ends_with_the_flash_is_read_to_its_last_byte():
    medium = cases.flash()
    content = cases.weights(1024 - len(cases.capsule(1, b"")), 3)
    base = cases.capsule(2, content)
    assert len(base) == 1024 == (medium.size - 2 * 256) // 2
    store = cases.store(medium)
    for data in (BASE, base):
        store.swap_capsule(data)
    assert store.slots.start(store.active) + len(base) == medium.size
    target = cases.capsule(3, content[:-40] + bytes(b ^ 1 for b in content[-40:]))
    container = update(base, target)
    assert len(container) < len(target)
    apply(store, container)
    assert cases.active(store) == target


@pytest.mark.parametrize("parts", [[0, 3, 2], [1, 0, 3], [0, 3, 2, 1, 0], [1, 1, 2, 0], [3, 1, 3]])
def test_parts_from_elsewhere_and_back(parts):
    content = [cases.weights(300, i) for i in range(4)]
    base = cases.capsule(1, b"".join(content))
    target = cases.capsule(2, b"".join(content[i] for i in parts))
    store = cases.store(cases.flash(slot_pages=16))
    store.swap_capsule(base)
    container = update(base, target)
    assert len(container) < 260  # all of it is in the base
    apply(store, container)
    assert cases.active(store) == target
