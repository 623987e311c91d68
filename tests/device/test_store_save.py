# SPDX-License-Identifier: MIT
"""Trained weights are saved as a capsule of the board's own; others are refused."""

# NOT_ON = {"samd21": "28 KB of bytecode from files; frozen in tests/host/test_store_on_32k.py"}

from array import array

from store_cases import new, reset

from acclimate.store import WEIGHTS


def test_saved_weights_are_signed_by_the_board():
    store = new()
    weights = bytearray(store.view(WEIGHTS))
    assert store.save(weights) is False
    weights[5] ^= 1
    assert store.save(weights) is True
    store = reset(store)
    assert store.head.is_local and bytes(store.view(WEIGHTS)) == bytes(weights)


def test_weights_with_a_sign_are_saved_as_their_bytes():
    store = new()
    weights = array("b", bytes(store.view(WEIGHTS)))
    assert store.save(weights) is False
    weights[5] = -5
    assert store.save(weights) is True
    store = reset(store)
    assert store.head.is_local and bytes(store.view(WEIGHTS)) == bytes(weights)


def test_weights_of_another_length_or_width_are_refused_before_anything_is_erased():
    store = new()
    flash, size = store.flash, len(store.view(WEIGHTS))
    before = sum(flash.erases), flash.programmed_bytes
    for code, width, count in (("h", 2, size), ("b", 1, size - 1), ("f", 4, size)):
        weights = array(code, bytes(count * width))
        try:
            store.save(weights)
        except ValueError as error:
            assert str(size) in str(error) and str(count) in str(error)
        else:
            raise AssertionError(count)
    assert (sum(flash.erases), flash.programmed_bytes) == before and store.state == "confirmed"
