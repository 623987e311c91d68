# SPDX-License-Identifier: MIT
"""Acceptance rules in integers: the same numbers on every runtime."""

from array import array

from acclimate import acceptance as rules


def test_score_by_hand():
    old, confidence = bytes((1, 2, 3)), bytes((200, 100, 50))
    # ranks 1, 2, 3: 32768, 20674, 16384
    assert rules.dcg(old, bytes((1, 2, 3)), confidence, 3) == 32768 + 20674 + 16384
    assert rules.dcg(old, bytes((1, 2, 9)), confidence, 3) == 32768 + 20674 - 16384
    assert rules.dcg(old, bytes((9, 2, 3)), confidence, 3) == -32768 + 20674 + 16384
    assert rules.ndcg(old, old, confidence, 3) == 32768
    assert rules.ndcg(old, bytes(3), confidence, 3) == -32768
    assert rules.ndcg(old, old, confidence, 0) == 0


def test_order_of_rows_with_equal_confidence_does_not_matter():
    confidence = bytes((9, 9, 9, 4))
    scores = set()
    for wrong in range(3):
        new = bytearray((1, 1, 1, 1))
        new[wrong] = 2
        scores.add(rules.dcg(bytes((1, 1, 1, 1)), new, confidence, 4))
    assert len(scores) == 1


def test_all_rows_of_the_largest_sample():
    same = bytes(128)
    confidence = bytes(i * 2 % 256 for i in range(128))
    assert rules.ndcg(same, same, confidence, 128) == 32768


def test_confidence_is_the_softmax():
    assert rules.confidence(array("h", (0, 0)), 2, 256) == 128
    # 1 / (1 + e ** -1) = 0.731, with temperature 2: 0.622
    assert rules.confidence(array("h", (0, 256)), 2, 256) == 1 << 8 | 186
    assert rules.confidence(array("h", (0, 256)), 2, 512) == 1 << 8 | 159
    assert rules.confidence(array("h", (-32768, 32767)), 2, 1) == 1 << 8 | 255


def test_label_free_rule():
    old, new = bytes((1, 2, 3)), bytes((1, 2, 4))
    low, high = bytes((100, 100, 100)), bytes((120, 110, 100))
    assert rules.label_free(old, new, low, high, 3) == rules.ACCEPT
    assert rules.label_free(old, new, high, low, 3) == rules.REJECT
    assert rules.label_free(old, new, low, low, 3) == rules.REJECT
    assert rules.label_free(old, bytes(3), low, high, 3, 0) == rules.REJECT
    assert rules.label_free(old, new, low, high, 3, 0, 11) == rules.UNDECIDED
    assert rules.label_free(old, new, low, high, 3, 0, 10) == rules.ACCEPT
    assert rules.label_free(old, new, low, high, 0) == rules.UNDECIDED


def test_prior_and_labels_are_weighed_against_confidence():
    assert rules.evidence(-30, 3) == -160 and rules.evidence(30, 3) == 160
    assert rules.evidence(-30, 3, 10, 17) == 10
    assert rules.evidence(-30, 3, 0, 0, 3, 1, 80) == 0
    old, new = bytes((1, 2, 3)), bytes((1, 2, 4))
    low, high = bytes((90, 100, 100)), bytes((100, 110, 110))
    lost = rules.label_free(old, new, high, low, 3, -rules.ONE, 0, 5, 16)
    assert lost == rules.REJECT
    assert rules.label_free(old, new, high, low, 3, -rules.ONE, 0, 20, 16) == rules.ACCEPT


def test_labels_are_asked_only_where_the_models_differ():
    out = bytearray(4)
    assert rules.disagreements(bytes((1, 2, 3, 4)), bytes((1, 0, 3, 0)), 4, out) == 2
    assert list(out[:2]) == [1, 3]
    assert rules.with_labels(3, 1, rules.REJECT) == rules.ACCEPT
    assert rules.with_labels(1, 3, rules.ACCEPT) == rules.REJECT
    assert rules.with_labels(2, 2, rules.UNDECIDED) == rules.UNDECIDED
    assert rules.is_decided(3, 0, 2) and not rules.is_decided(3, 1, 2)
