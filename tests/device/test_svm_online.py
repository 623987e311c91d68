# SPDX-License-Identifier: MIT
"""A machine that learns each row once answers what river's answers, in memory that stays."""

import os
from io import BytesIO

from raised import fails

from acclimate.svm import PassiveAggressive

PATH = "svm_online_test.bin"
# What river 0.26's StandardScaler | PAClassifier(C=0.25) answers to each row before it learns it.
RIVER = "001000011110001001000000011101110000010100001001100011101111"


def stream(n, seed=1):
    """Rows of eighths far from 0, the label by a line with some labels wrong."""
    for _ in range(n):
        drawn = []
        for _ in range(4):
            seed = (seed * 1103 + 12345) & 0xFFFF
            drawn.append(seed >> 8)
        row = [1000 + drawn[0] / 8, drawn[1] / 8, drawn[2]]
        yield row, int((drawn[0] + 2 * drawn[1] - drawn[2] > 256) != (drawn[3] < 20))


def test_answers_are_those_of_river():
    m = PassiveAggressive(3, C=0.25)
    same = 0
    at = 0
    for row, label in stream(len(RIVER)):
        said = m.predict(row) if at else 0
        same += said == int(RIVER[at])
        m.add(row, label)
        at += 1
    assert same >= len(RIVER) - 2, same
    rows = [row for row, _ in stream(32, 7)]
    labels = [label for _, label in stream(32, 7)]
    assert m.evaluate(rows, labels) >= 0.8
    assert "recall" in m.report(rows, labels)


def test_more_labels_and_a_file():
    m = PassiveAggressive(2, classes=3, C=0.5)
    for k in range(30):
        m.add([k % 4, k % 3], 9).add([k % 4 + 50, k % 3], 200).add([k % 4, k % 3 + 50], 0)
    for row, label in (([1, 1], 9), ([52, 1], 200), ([1, 51], 0)):
        assert m.predict(row) == label
        assert len(m.decision(row)) == 3
    m.save(PATH)
    other = PassiveAggressive.load(PATH)
    assert repr(other) == repr(m) and list(other.decision([3, 4])) == list(m.decision([3, 4]))
    other.add([1, 1], 9)
    with open(PATH, "rb") as f:
        good = f.read()
    for at in range(0, len(good), 7):
        bad = bytearray(good)
        bad[at] ^= 1 << (at & 7)
        fails(("expected",), PassiveAggressive.load, BytesIO(bad))
    for cut in (3, 5, len(good) - 9):
        fails(("expected",), PassiveAggressive.load, BytesIO(good[:-cut]))
    fails(("expected",), PassiveAggressive.load, BytesIO(good + b"x"))
    os.remove(PATH)


def test_labels_that_tie_go_to_the_lowest():
    m = PassiveAggressive(1, classes=3)
    for label in (5, 3, 4):
        m.add([1], label)
        m._w[0] = m._w[1] = 0.0
    for k in range(len(m._w)):
        m._w[k] = 0.0
    assert m.predict([1]) == 3


def test_memory_stays_what_it_was():
    m = PassiveAggressive(3, classes=4)
    parts = (m._w, m._mean, m._spread, m._row, m._values, m.labels)
    sizes = [len(part) for part in parts]
    for row, label in stream(30):
        m.add(row, label)
    assert [len(part) for part in parts] == sizes
    assert 4 * sum(sizes[:5]) + sizes[5] == PassiveAggressive.bytes_needed(3, 4)


def test_a_change_is_followed_with_forget():
    found = []
    for forget in (0.0, 0.05):
        m = PassiveAggressive(1, C=0.5, forget=forget)
        for k in range(60):
            m.add([k % 5], 0).add([k % 5 + 8], 1)
        for k in range(40):
            m.add([k % 5 + 1000], 0).add([k % 5 + 1008], 1)
        found.append(abs(m._mean[0] - 1006))
    assert found[1] < 30 < found[0]
