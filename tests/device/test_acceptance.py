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


CONFIDENCE_ONLY = (16, 0, 0, 0, 0)


def test_label_free_rule():
    old, new = bytes((1, 2, 3)), bytes((1, 2, 4))
    low, high = bytes((100, 100, 100)), bytes((120, 110, 100))

    def decided(*args, **options):
        return rules.label_free(*args, 3, weights=CONFIDENCE_ONLY, **options)

    assert decided(old, new, low, high) == rules.ACCEPT
    assert decided(old, new, high, low) == rules.REJECT
    assert decided(old, new, low, low) == rules.REJECT
    assert decided(old, bytes(3), low, high, floor=0) == rules.REJECT
    assert decided(old, new, low, high, margin=2561) == rules.UNDECIDED
    assert decided(old, new, low, high, margin=2560) == rules.ACCEPT
    assert decided(old, new, high, low, margin=2560) == rules.REJECT
    assert rules.label_free(old, new, low, high, 0) == rules.UNDECIDED


def test_spread_is_the_entropy_of_the_labels():
    # Entropy is log2(n) less the mean of log2(count): 8 rows, four labels twice each: 8 bits.
    assert rules._spread(bytes(8), 8) == -8 * 3 * 256
    assert rules._spread(bytes((1, 1, 2, 2, 3, 3, 4, 4)), 8) == -8 * 256
    assert rules._spread(bytes(range(8)), 8) == 0
    assert rules._spread(bytes((5, 1, 1, 5, 1, 5)), 6) == -6 * 405  # 1.585 bits
    assert rules._spread(bytes(range(128)), 128) == 0
    assert rules._spread(bytes(128), 128) == -128 * 7 * 256


def test_prior_and_labels_are_weighed_against_confidence():
    old, new = bytes((1, 2, 3)), bytes((1, 2, 4))
    low, high = bytes((90, 100, 100)), bytes((100, 110, 110))
    weights = (16, 8, 4, 20, 0)
    rise = 16 * 10 * 16
    assert rules.evidence(old, new, low, high, 3, weights) == rise
    assert rules.evidence(old, new, high, low, 3, weights) == -rise
    assert rules.evidence(old, new, high, low, 3, weights, 50) == -rise + 16 * 4 * 50
    assert rules.evidence(old, new, high, low, 3, weights, 0, 3, 1) == -rise + 16 * 2 * 20
    narrow = rules.evidence(old, bytes((1, 1, 1)), low, high, 3, weights)
    assert narrow == rise - 405 * 8
    assert rules.decide(1) == rules.ACCEPT and rules.decide(0) == rules.REJECT
    assert rules.decide(-5, 6) == rules.UNDECIDED


def test_labels_are_asked_only_where_the_models_differ():
    out = bytearray(4)
    assert rules.disagreements(bytes((1, 2, 3, 4)), bytes((1, 0, 3, 0)), 4, out) == 2
    assert list(out[:2]) == [1, 3]
    weights = (16, 8, 4, 20, 0)
    assert rules.is_decided(641, 2, weights) and not rules.is_decided(-640, 2, weights)


def test_one_sample_gives_the_same_numbers_everywhere():
    value, rows = 12345, []
    for _ in range(4):
        row = bytearray(100)
        for i in range(100):
            value = (value * 16807 + 12345) % 32749
            row[i] = value >> 3 & 255
        rows.append(row)
    old, new = (bytes(b % 5 for b in row) for row in rows[:2])
    found = (
        rules.dcg(old, new, rows[2], 100), rules.ndcg(old, new, rows[2], 100),
        rules._spread(old, 100), rules._spread(new, 100),
        rules.evidence(old, new, rows[2], rows[3], 100, (11, 64, 5, 40, 0), -20, 4, 1),
    )  # fmt: skip
    assert found == VECTOR, found


VECTOR = (-345905, -16521, -111326, -111128, -529)


def refuses(call, *arguments):
    try:
        call(*arguments)
    except ValueError as error:
        return "expected" in str(error)
    return False


def test_what_no_rule_can_use_is_refused_in_one_line():
    logits = array("h", (1, 2))
    assert refuses(rules.confidence, logits, 0, 256) and refuses(rules.confidence, logits, 3, 256)
    assert refuses(rules.confidence, logits, 2, 0) and refuses(rules.confidence, logits, 2, 65536)
    assert refuses(rules.confidence, logits, 2, "1") and refuses(rules.confidence, logits, 2, 1.5)
    ones = bytes(2)
    for temperatures in ((256, "1"), (256.5, 256)):
        rest = (None, 0, 0, 0, 0, temperatures)
        assert refuses(rules.evidence, ones, ones, ones, ones, 2, *rest)
    many = bytes(129)
    assert refuses(rules.dcg, many, many, many, 129) and refuses(rules._spread, many, 129)
    assert refuses(rules.ndcg, many, many, many, -1)
    assert refuses(rules.label_free, many, many, many, many, 129)
    assert refuses(rules.evidence, many, many, many, many, 0)
    assert refuses(rules._discount, 0) and refuses(rules._discount, 129)


class Waits:
    """A store whose waiting model answers all rows alike."""

    def __init__(self):
        self.told = []

    def waiting(self):
        return self

    def keep_verdict(self, verdict, score):
        self.told.append(verdict)

    def rollback(self):
        self.told.append("rolled back")


def test_what_no_byte_holds_is_no_answer_and_no_verdict():
    from acclimate.reservoir import Reservoir

    store, sample = Waits(), Reservoir(4, 1)
    for i in range(4):
        sample.offer((i,), i, 100)
    for answer in (65536, -1, 300 << 8 | 5, 1.0):
        try:
            rules.accept(store, sample, lambda model, row: answer)  # noqa: B023
        except ValueError as error:
            assert "predict" in str(error) and str(answer) in str(error)
        else:
            raise AssertionError(answer)
    for row in (4, -1):
        try:
            rules.accept(store, sample, lambda model, row: 1 << 8, labels={row: 1})
        except ValueError as error:
            assert "labels" in str(error) and str(row) in str(error)
        else:
            raise AssertionError(row)
    assert store.told == []
    assert rules.accept(store, sample, lambda model, row: 65535, labels={3: 255}) == 1
    assert store.told == [1]
