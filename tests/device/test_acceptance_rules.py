# SPDX-License-Identifier: MIT
"""The borders of the acceptance rules, with numbers worked out by hand."""

# RUNTIMES = ("cpython", "desktop")

from acclimate import acceptance as a
from acclimate.acceptance import ACCEPT, ONE, REJECT, ROWS_MAX, UNDECIDED, WEIGHTS


def test_answers_and_scales_have_their_numbers():
    assert (ACCEPT, REJECT, UNDECIDED) == (1, 0, -1)
    assert (ONE, ROWS_MAX) == (32768, 128)
    assert WEIGHTS == (18, 64, 7, 256, 0)
    assert (a._MOST, a._FEW) == ((25, 90, 2, 256, 19), (8, 0, 2, 256, 0))


def test_discounts_of_all_ranks():
    assert [a._discount(rank) for rank in (1, 2, 3, 7, 15, 31, 63, 127, 128)] == [
        32768,
        20674,
        16384,
        10922,
        8192,
        6553,
        5461,
        4681,
        4673,
    ]
    every = [a._discount(rank) for rank in range(1, 129)]
    assert every == sorted(every, reverse=True)
    assert sum(every) == 820067


def test_ranks_are_1_to_128():
    for rank in (0, -1, 129):
        try:
            a._discount(rank)
        except ValueError as error:
            assert "rank" in str(error) and str(rank) in str(error)
        else:
            raise AssertionError(rank)


def test_without_a_word_both_models_have_the_same_temperature():
    """For users of most labels it counts: any difference would decide."""
    rows, sure = b"\1\2", b"\x40\x40"
    assert a.evidence(rows, rows, sure, sure, 2, classes=2) == 0
    assert a.label_free(rows, rows, sure, sure, 2, margin=1, classes=2) == UNDECIDED
    same = [(1, 64), (2, 64)]
    assert tried(rows, sure, same, margin=1, classes=2)[0] == UNDECIDED


def test_a_score_is_worked_out_by_hand():
    # confidence 9, 5, 5, 1: ranks 1, then 2 and 3 that share, then 4
    old, new, sure = b"\1\1\1\1", b"\1\1\2\1", bytes((9, 5, 5, 1))
    share = (20674 + 16384) // 2
    fourth = a._discount(4)
    assert a.dcg(old, new, sure, 4) == 32768 + 0 * share + fourth
    most = 32768 + 2 * share + fourth
    score = 32768 + fourth
    assert a.ndcg(old, new, sure, 4) == score * 32768 // most
    # the same the other way round
    assert a.dcg(old, b"\2\2\1\2", sure, 4) == -score
    assert a.ndcg(old, b"\2\2\1\2", sure, 4) == -(score * 32768 // most)


def test_what_the_old_model_was_surest_of_counts_most():
    old, sure = b"\1\1\1\1", bytes((200, 3, 60, 9))
    ranks = {0: 1, 2: 2, 3: 3, 1: 4}
    every = sum(a._discount(rank) for rank in (1, 2, 3, 4))
    for at, rank in ranks.items():
        new = bytearray(old)
        new[at] = 2
        score = every - 2 * a._discount(rank)
        assert a.dcg(old, new, sure, 4) == score
        size = abs(score) * 32768 // every
        assert a.ndcg(old, new, sure, 4) == (size if score >= 0 else -size)


def test_no_row_is_no_score():
    assert a.dcg(b"", b"", b"", 0) == 0 and a.ndcg(b"", b"", b"", 0) == 0
    # only the first n rows count
    assert a.dcg(b"\1\1", b"\1\2", b"\5\4", 1) == 32768
    assert a.ndcg(b"\1\1", b"\1\2", b"\5\5", 2) == 0


def test_rows_are_0_to_the_most_that_32_bits_hold():
    rows = bytes(ROWS_MAX + 1)
    assert a.ndcg(rows, rows, rows, ROWS_MAX) == ONE
    for call in (
        lambda n: a.dcg(rows, rows, rows, n),
        lambda n: a.ndcg(rows, rows, rows, n),
        lambda n: a.evidence(rows, rows, rows, rows, n),
        lambda n: a.label_free(rows, rows, rows, rows, n),
    ):
        for n in (-1, ROWS_MAX + 1):
            try:
                call(n)
            except ValueError as error:
                assert str(n) in str(error)
            else:
                raise AssertionError(n)


def test_the_order_of_the_rows_does_not_matter():
    old, new, sure = b"\1\1\1\1\2", b"\1\2\1\2\2", bytes((9, 5, 5, 1, 7))
    score, relative = a.dcg(old, new, sure, 5), a.ndcg(old, new, sure, 5)
    for order in ((4, 3, 2, 1, 0), (3, 0, 4, 2, 1), (2, 4, 1, 0, 3)):
        rows = [bytes([column[i] for i in order]) for column in (old, new, sure)]
        assert a.dcg(rows[0], rows[1], rows[2], 5) == score
        assert a.ndcg(rows[0], rows[1], rows[2], 5) == relative


def test_more_rows_than_a_column_has_are_refused_before_anything_is_written():
    two, three, out = bytes(2), bytes(3), bytearray(b"\x55\x55")
    for call in (
        lambda: a.dcg(two, three, three, 3),
        lambda: a.ndcg(three, two, three, 3),
        lambda: a.dcg(three, three, two, 3),
        lambda: a.evidence(three, three, two, three, 3),
        lambda: a.evidence(three, three, three, two, 3),
        lambda: a.evidence(three, three, three, three, 0),
        lambda: a.label_free(three, two, three, three, 3),
        lambda: a.disagreements(b"\1\1\1", b"\2\2\2", 3, out),
        lambda: a.disagreements(two, three, 3, bytearray(3)),
        lambda: a.disagreements(three, three, -1, bytearray(3)),
    ):
        try:
            call()
        except ValueError as error:
            assert "rows" in str(error)
        else:
            raise AssertionError("more rows than there are")
    assert out == b"\x55\x55"


def test_all_that_agree_or_differ_are_the_ends_of_the_scale():
    for n in (1, 2, 3, 50, 128):
        same, other = bytes(n), b"\1" * n
        for sure in (bytes(range(n)), bytes(n), b"\xff" * n):
            assert a.ndcg(same, same, sure, n) == ONE
            assert a.ndcg(same, other, sure, n) == -ONE


def test_gain_is_the_sum_of_the_first_rows():
    assert a._gain(b"\5\5\0", b"\7\4\xff", 2) == 1
    assert a._gain(b"\5", b"\7", 0) == 0 and a._gain(b"\xff", b"\0", 1) == -255


def test_spread_of_a_sample_by_hand():
    # -count x log2(count) x 256 of every label that is there more than once
    assert a._spread(b"\1\2\3\4", 4) == 0
    assert a._spread(b"\1\1", 2) == -2 * (32768 * 256 // 32768)
    assert a._spread(b"\3\1\3\1\1", 5) == -2 * 256 - 3 * (32768 * 256 // 20674)
    assert a._spread(b"\1\1\1\1", 3) == -3 * (32768 * 256 // 20674)
    assert a._spread(b"\1\1", 1) == 0 and a._spread(b"", 0) == 0


def test_evidence_adds_its_four_parts():
    labels, other = b"\1\2\1\2", b"\1\2\3\4"
    low, high = b"\0\0\0\0", bytes((10, 10, 10, 12))
    weights = (2, 3, 5, 7, 0)

    def found(old, new, before, after, **more):
        return a.evidence(old, new, before, after, 4, weights, **more)

    assert found(labels, labels, low, low) == 0
    assert found(labels, labels, low, high) == 42 * 16 // 4 * 2
    assert found(labels, labels, high, low) == -(42 * 16 // 4) * 2
    # two labels twice each: 4 x 256 less than four labels
    assert found(labels, other, low, low) == 4 * 256 // 4 * 3
    assert found(other, labels, low, low) == -(4 * 256 // 4) * 3
    assert found(labels, labels, low, low, prior=3) == 16 * 3 * 5
    assert found(labels, labels, low, low, prior=-3) == -16 * 3 * 5
    assert found(labels, labels, low, low, wins=3, losses=1) == 16 * 2 * 7
    assert found(labels, labels, low, low, wins=1, losses=3) == -16 * 2 * 7
    assert a.evidence(labels, labels, low, low, 4, wins=1) == 16 * 256
    assert a.evidence(labels, labels, low, low, 4, prior=1) == 16 * 7


def test_weights_follow_the_labels_that_the_answers_use():
    sure = b"\x40" * 5
    four, three, one = b"\1\2\3\4\1", b"\1\2\3\1\1", b"\1\1\1\1\1"

    def found(old, new, classes, **more):
        return a.evidence(old, new, sure, sure, 5, classes=classes, **more)

    # Four of five labels are most; it counts what either model answers, in the first n rows.
    for old, new in ((four, one), (one, four), (b"\1\2\2\1\1", b"\3\4\4\4\4")):
        spread = a._mean(a._spread(new, 5) - a._spread(old, 5), 5)
        assert found(old, new, 5) == spread * a._MOST[1] != 0
        assert found(old, new, 6) == 0  # few: the spread says nothing
        assert found(old, new, 0) == spread * WEIGHTS[1]
    assert found(three, one, 5) == 0 and found(three, one, 3) != 0
    assert a.evidence(one + b"\2", one + b"\2", sure, sure, 5, classes=2) == 0
    for classes in (0, 5, 200):  # a label weighs the same, so `is_decided` needs not know
        assert found(four, four, classes, wins=1) == 16 * 256
    assert a.label_free(four, one, sure, sure, 5, classes=5) == REJECT
    assert a.label_free(one, four, sure, sure, 5, classes=5) == ACCEPT
    assert a.label_free(one, four, sure, sure, 5, classes=9) == REJECT  # not above 0


def test_a_model_that_needs_a_higher_temperature():
    rows, sure = b"\1\2", b"\x40\x40"

    def found(before, after, weights=(0, 0, 0, 0, 1), **more):
        return a.evidence(rows, rows, sure, sure, 2, weights, temperatures=(before, after), **more)

    assert found(256, 512) == 256 and found(512, 256) == -256 and found(300, 300) == 0
    assert found(1, 65535) == 9 * 256 + (32768 << 8) // a._discount(126)
    assert found(1, 1) == 0 and found(1, 2) == 256 and found(128, 129) == 0 and found(1, 3) == 405
    # what is shipped heeds it for users of most labels
    assert found(256, 512, None, classes=2) == 256 * a._MOST[4] != 0
    assert found(256, 512, None, classes=9) == found(256, 512, None) == 0
    assert a.label_free(rows, rows, sure, sure, 2, classes=2, temperatures=(256, 512)) == ACCEPT


def test_what_cannot_be_is_refused():
    rows = b"\1\2"

    def message(**options):
        try:
            a.evidence(rows, rows, rows, rows, 2, **options)
        except ValueError as e:
            return str(e)

    for classes in (1, -1, 257):
        assert message(classes=classes) == "classes: expected 2 to 256, or 0, got %d" % classes
    assert message(classes=256) is None and message(classes=2) is None
    for wrong in ((0, 256), (256, 0), (256, 65536), (-1, 256), (256, (256, 256))):
        assert "temperature: expected 1 to 65535, got" in message(temperatures=wrong)
    assert message(temperatures=(1, 65535)) is None
    assert message(weights=(1, 2, 3, 4)) == "weights: expected 5 numbers, got 4"


def test_a_mean_is_rounded_towards_zero_on_both_sides():
    one, two = b"\1\1\1", b"\0\0\0"
    weights = (1, 0, 0, 0, 0)
    up = a.evidence(one, one, two, bytes((1, 0, 0)), 3, weights)
    down = a.evidence(one, one, bytes((1, 0, 0)), two, 3, weights)
    assert up == 5 and down == -5


def test_decisions_at_the_margin():
    assert a.decide(1) == ACCEPT and a.decide(0) == REJECT and a.decide(-1) == REJECT
    assert a.decide(4, 5) == UNDECIDED and a.decide(-4, 5) == UNDECIDED
    assert a.decide(5, 5) == ACCEPT and a.decide(-5, 5) == REJECT
    assert a.decide(0, 1) == UNDECIDED


def test_the_guard_rejects_below_its_floor_only():
    old, new = b"\1\1", b"\1\2"
    before, after = b"\5\5", b"\x40\x40"
    assert a.ndcg(old, new, before, 2) == 0
    weights = (1, 0, 1, 0, 0)

    def answer(**options):
        return a.label_free(old, new, before, after, 2, weights=weights, **options)

    assert answer() == ACCEPT
    assert answer(floor=0) == ACCEPT and answer(floor=1) == REJECT
    found = a.evidence(old, new, before, after, 2, weights)
    assert found == (0x40 - 5) * 16
    assert answer(margin=found) == ACCEPT and answer(margin=found + 1) == UNDECIDED
    assert answer(prior=-60) == REJECT
    # all that differ are at the lowest floor, which rejects nothing
    assert a.label_free(b"\1\1", b"\2\2", before, after, 2, weights=weights) == ACCEPT
    assert a.label_free(b"", b"", b"", b"", 0) == UNDECIDED
    assert a.label_free(b"\1", b"\1", b"\1", b"\2", 1) == ACCEPT


def test_two_equal_models_are_no_reason_to_change():
    old, sure = b"\1\2\3\1", bytes((9, 200, 40, 255))
    assert a.evidence(old, old, sure, sure, 4) == 0
    assert a.label_free(old, old, sure, sure, 4) == REJECT
    assert a.label_free(old, old, sure, sure, 4, prior=1) == ACCEPT
    assert a.label_free(old, old, sure, sure, 4, margin=1) == UNDECIDED
    assert tried(old, sure, zip(old, sure))[0] == REJECT  # noqa: B905
    assert tried(old, sure, zip(old, sure), prior=1)[0] == ACCEPT  # noqa: B905
    assert tried(old, sure, zip(old, sure), margin=1)[0] == UNDECIDED  # noqa: B905


class Sample:
    """A reservoir of rows of two bytes."""

    width = 2

    def __init__(self, predictions, confidences):
        self.predictions, self.confidences = predictions, confidences
        self.count = len(predictions)

    def row(self, i, row):
        row[0], row[1] = i, -i


class Tried:
    """Stands for a store with a model that waits; keeps what is done to it."""

    def __init__(self):
        self.done = []

    def waiting(self):
        return self

    def keep_verdict(self, verdict, score):
        self.done.append((verdict, score))

    def rollback(self):
        self.done.append("rollback")


def tried(old, sure, answers, **options):
    """(verdict, what was done to the store) for answers (label, confidence) of the new model."""
    store, answers, rows = Tried(), list(answers), []

    def predict(waiting, row):
        assert waiting is store
        rows.append((row[0], row[1]))
        label, confidence = answers[row[0]]
        return label << 8 | confidence

    verdict = a.accept(store, Sample(old, sure), predict, **options)
    assert rows == [(i, -i) for i in range(len(old))]
    return verdict, store.done


def test_a_verdict_is_kept_and_a_model_that_is_rejected_goes():
    old, sure = b"\1\2\3\1", bytes((9, 20, 40, 25))
    better = [(label, 250) for label in old]
    assert tried(old, sure, better) == (ACCEPT, [(ACCEPT, ONE)])
    worse = [(label, 1) for label in old]
    assert tried(old, sure, worse) == (REJECT, [(REJECT, ONE), "rollback"])
    other = [(9, 250)] + better[1:]
    score = a.ndcg(old, bytes(label for label, _ in other), sure, 4)
    assert tried(old, sure, other)[1][0][1] == score
    assert tried(old, sure, other, floor=score)[1] == [(ACCEPT, score)]
    assert tried(old, sure, other, floor=score + 1)[1] == [(REJECT, score), "rollback"]
    assert tried(old, sure, better, margin=1 << 20) == (UNDECIDED, [(UNDECIDED, ONE)])
    assert tried(old, sure, better, prior=-128, weights=(1, 1, 127, 1, 0))[0] == REJECT
    # one label of a row where the models differ may turn it
    same = [(9, sure[0])] + [(old[i], sure[i]) for i in (1, 2, 3)]
    for label, verdict in ((9, ACCEPT), (1, REJECT)):
        assert tried(old, sure, same, labels={0: label}, weights=(1, 0, 0, 999, 0))[0] == verdict
    surer = [(9, sure[0])] + [(old[i], sure[i] + 40) for i in (1, 2, 3)]
    for label, verdict in ((1, REJECT), (5, ACCEPT), (9, ACCEPT)):
        assert tried(old, sure, surer, labels={0: label}, weights=(1, 0, 0, 999, 0))[0] == verdict
    # where both are wrong, and where both are right, nobody wins
    for labels in ({0: 5}, {1: old[1]}, {}, None):
        assert tried(old, sure, same, labels=labels, weights=(1, 0, 0, 999, 0))[0] == REJECT
        found = tried(old, sure, same, labels=labels, weights=(1, 0, 0, 999, 0), margin=1)
        assert found[0] == UNDECIDED
    assert tried(b"", b"", []) == (UNDECIDED, [(UNDECIDED, 0)])


def test_an_answer_or_a_label_that_cannot_be_is_refused_and_keeps_no_verdict():
    old, sure = b"\1\2\3\1", bytes((9, 20, 40, 25))
    top = [(255, 255)] * 4  # the highest that an answer holds
    assert tried(old, sure, top, labels={3: 1})[1] != []

    def refused(answers, **options):
        store = Tried()
        try:
            a.accept(store, Sample(old, sure), lambda _, row: answers[row[0]], **options)
        except ValueError as error:
            assert store.done == []
            return str(error)
        raise AssertionError("expected ValueError")

    for wrong in (-1, 65536, 257.0, "258", None):
        assert refused([258, wrong, 258, 258]).startswith("predict: expected 0 to 65535, got")
    for row in (-1, 4, 1.0):
        assert refused([258] * 4, labels={row: 1}).startswith("labels: row: expected 0 to 3, got")


def test_rows_that_differ_are_listed():
    out = bytearray(b"\xff" * 4)
    assert a.disagreements(b"\1\2\3\4", b"\1\3\3\5", 4, out) == 2
    assert bytes(out) == b"\1\3\xff\xff"
    assert a.disagreements(b"\1\2\3\4", b"\1\3\3\5", 3, out) == 1
    assert a.disagreements(b"\1", b"\2", 1, out) == 1 and out[0] == 0


def test_labels_to_come_may_or_may_not_turn_the_evidence():
    assert a.is_decided(16 * 256 * 2 + 1, 2) and not a.is_decided(16 * 256 * 2, 2)
    assert a.is_decided(-16 * 256 * 2 - 1, 2) and not a.is_decided(-16 * 256 * 2, 2)
    assert a.is_decided(1, 0) and not a.is_decided(0, 0)
    assert a.is_decided(16 * 52 + 1, 1, (6, 64, 1, 52, 0)) and not a.is_decided(
        16 * 52, 1, (6, 64, 1, 52, 0)
    )


def test_confidence_of_logits_by_hand():
    def one(*logits, temperature=256):
        found = a.confidence(logits, len(logits), temperature)
        return found >> 8, found & 255

    assert one(7) == (0, 255)
    assert one(5, 5) == (0, 128)  # 127.5, rounded up
    assert one(0, 32767) == (1, 255)
    assert one(5, 5, 5) == (0, 85)
    # the second differs by 256 x ln 2: half as likely
    assert one(0, -178)[1] == 170 and one(-178, 0) == (1, 170)
    assert one(0, -356, temperature=512)[1] == 170
    assert one(0, -1, temperature=1)[1] == one(0, -256)[1]
    assert one(0, -32768, temperature=65535)[1] == 159  # 255 / (1 + 2 ** (-369 / 512))
    assert one(0, -107)[1] == 154  # 255 / (1 + e ** (-107 / 256)) = 153.8
    assert one(0, -773, -773, -773, -773)[1] == 213  # 255 / (1 + 4 e ** (-773 / 256)) = 213.3
    # only the first n count
    assert a.confidence((5, 9), 1, 256) == 255
    for n, temperature in ((0, 256), (3, 256), (2, 0), (2, 65536), (2, -1)):
        try:
            a.confidence((5, 9), n, temperature)
        except ValueError:
            continue
        raise AssertionError((n, temperature))


def test_powers_of_two_by_hand():
    table = (32768, 30048, 27554, 25268, 23170, 21247, 19484, 17867, 16384)
    for eighth in range(8):
        assert a._power(32 * eighth) == table[eighth]
        assert a._power(256 + 32 * eighth) == table[eighth] >> 1
        assert a._power(15 * 256 + 32 * eighth) == table[eighth] >> 15
        between = table[eighth] - ((table[eighth] - table[eighth + 1]) * 31 >> 5)
        assert a._power(32 * eighth + 31) == between
    assert a._power(15 * 256 + 255) == 0 and a._power(15 * 256) == 1
    assert a._power(16 * 256) == a._power(100000) == 0
