# SPDX-License-Identifier: MIT
"""What a machine that learns each row once refuses: by name, and before anything changes."""

from raised import fails

from acclimate.svm import PassiveAggressive


def test_bad_input_is_named_and_changes_nothing():
    for args, words in (
        ((0,), ("features", "1..4096", "0")),
        ((2, 1), ("classes", "2..64", "1")),
        ((2, 2, 0), ("C", "0")),
        ((2, 2, 1, 1), ("forget", "1")),
        ((2, 2, "1"), ("C", "1")),
        ((2, 2, 1, "0"), ("forget", "0")),
    ):
        fails(words, PassiveAggressive, *args)
    m = PassiveAggressive(2)
    fails(("add",), m.predict, [1, 2])
    m.add([0, 0], 0).add([5, 5], 1).add([1, 0], 0)
    before = bytes(m._w) + bytes(m._mean) + m.labels
    for row, label, words in (
        ([1], 0, ("row", "2", "1")),
        ([1, float("nan")], 0, ("row", "finite", "nan")),
        ([1, float("inf")], 0, ("row", "finite")),
        ([1, 1e20], 0, ("row", "1e18")),
        ([1, 2], 255, ("label", "0..254", "255")),
        ([1, 2], 0.5, ("label", "0.5")),
        ([1, 2], 7, ("label", "7", "classes=2")),
        ([1, None], 0, ("row", "numbers", "None")),
        ("ab", 0, ("row", "numbers", "ab")),
        (None, 0, ("row", "numbers", "None")),
        ([1, 2], "a", ("label", "a")),
        ([1, 2], None, ("label", "None")),
    ):
        fails(words, m.add, row, label)
        assert bytes(m._w) + bytes(m._mean) + m.labels == before
    fails(("row", "2", "3"), m.predict, [1, 2, 3])
    fails(("out", "2", "[0]"), m.decision, [1, 2], [0])
    for call in (m.evaluate, m.report):
        fails(("y", "1", "2"), call, [[0, 0]], [0, 1])
        fails(("y", "2", "1"), call, [[0, 0], [5, 5]], [0])
        fails(("y", "0"), call, [], [])
