# SPDX-License-Identifier: MIT
"""A push over a cable, step by step: what a board is asked, sent, and never sent."""

import contextlib
import io

import capsule_cases as cases
import pytest

from acclimate_host.capsules import delta
from acclimate_host.capsules.build import read
from acclimate_host.capsules.push import SETUP, push
from acclimate_host.errors import Refused


class Board:
    """Runs what it is sent in this process, with a Store of its own, and notes it."""

    name = "here"

    def __init__(self, *capsules, **options):
        self.store = cases.store(cases.flash(**options))
        for data in capsules:
            self.store.swap_capsule(data)
        self.names = {"store": self.store}
        self.asked, self.cut_at = [], None

    def exec(self, code, timeout_s=10):
        if self.cut_at == len(self.asked):
            raise OSError("the cable")
        self.asked.append((code, timeout_s))
        if code == SETUP:
            return ""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, self.names)
        return said.getvalue().replace("\n", "\r\n")

    def pieces(self):
        return [code for code, _ in self.asked if code.startswith("_put(")]


OLD, NEW = cases.capsule(1), cases.capsule(2)
TUNED = cases.capsule(2, cases.tuned(cases.weights(301, 1), 5))


def test_a_capsule_goes_to_an_empty_board_in_pieces():
    board, told = Board(), []
    sent = push(board, NEW, progress=lambda done, whole: told.append((done, whole)))
    assert sent == len(NEW) and cases.active(board.store) == NEW
    assert board.store.state == "confirmed"
    assert board.asked[0] == (SETUP, 30)
    size = len(NEW)
    assert told == [(min(at + 192, size), size) for at in range(0, size, 192)]
    assert len(board.pieces()) == len(told) and all(len(code) < 270 for code in board.pieces())
    assert {code: limit for code, limit in board.asked}["_to.finish()"] == 120
    assert board.asked[-1] == ("store.confirm()", 30)


def test_what_the_board_has_is_not_sent():
    board = Board(NEW)
    assert push(board, NEW, setup="pass") == 0
    assert board.asked[0][0] == "pass" and len(board.asked) == 2


def test_what_does_not_fit_or_was_tried_is_refused_before_it_is_sent():
    for board, data, words in (
        (
            Board(slot_pages=1),
            NEW,
            "capsule of .* bytes, a slot of here has 256: send a new region",
        ),
        (Board(NEW), OLD, "version 1: above 2, which here has tried"),
        (Board(NEW), cases.capsule(2, cases.weights(301, 9)), "version 2: above 2"),
    ):
        with pytest.raises(Refused, match=words):
            push(board, data)
        assert len(board.asked) == 2
    size = len(NEW)
    exact = cases.capsule(2, cases.weights(301 + 1024 - size, 2))
    assert len(exact) == 1024 and push(Board(), exact) == 1024


def test_without_confirm_it_waits():
    board = Board(OLD)
    for again in range(2):
        sent = push(board, NEW, confirm=False)
        assert sent == (0 if again else len(NEW))
        assert board.store.state == "verified" and cases.active(board.store) == OLD
    assert push(board, NEW) == 0
    assert board.store.state == "confirmed" and cases.active(board.store) == NEW


def test_another_capsule_takes_the_place_of_the_one_that_waits():
    board, newer = Board(OLD), cases.capsule(3)
    push(board, NEW, confirm=False)
    assert push(board, newer) == len(newer) and cases.active(board.store) == newer


def test_an_update_goes_to_a_board_whose_capsule_is_known():
    for bases, is_update in (
        ([OLD], True),
        ([None, NEW, OLD], True),
        ([], False),
        ([NEW], False),
        ([None], False),
    ):
        board = Board(OLD)
        sent = push(board, TUNED, bases)
        assert cases.active(board.store) == TUNED and board.store.state == "confirmed"
        assert sent == (len(delta.update(OLD, TUNED)) if is_update else len(TUNED)), bases
    assert len(delta.update(OLD, TUNED)) < len(TUNED)


def test_an_update_that_is_no_smaller_is_not_sent():
    other = cases.capsule(2, cases.weights(301, 77))
    board = Board(OLD)
    assert push(board, other, [OLD]) == len(delta.smallest(OLD, other))
    assert cases.active(board.store) == other


def test_a_cable_that_was_pulled_leaves_the_model_and_the_next_push_goes_on():
    large = cases.capsule(2, cases.weights(3000, 3))
    whole = Board(slot_pages=16)
    push(whole, large)
    for cut in range(len(whole.asked)):
        board = Board(OLD, slot_pages=16)
        board.cut_at = cut
        with pytest.raises(OSError, match="cable"):
            push(board, large)
        is_verified = cut == len(whole.asked) - 1
        assert cases.active(board.store) == OLD
        again = Board(slot_pages=16)
        again.store = again.names["store"] = cases.store(board.store.flash)
        assert (again.store.state == "verified") == is_verified
        sent = push(again, large)
        assert cases.active(again.store) == large and again.store.state == "confirmed"
        assert sent <= (not is_verified) * (len(large) - 192 * max(0, cut - 4) + 256)
    assert read(large).total == len(large)
