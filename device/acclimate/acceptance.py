# SPDX-License-Identifier: MIT
"""Does the board agree to a new model? Integer arithmetic only, the same on board and host.

    score = ndcg(old, new, confidence, n)                       # agreement, -32768 to 32768
    answer = label_free(old, new, old_conf, new_conf, n)        # ACCEPT, REJECT or UNDECIDED
    found = evidence(old, new, old_conf, new_conf, n, wins=3, losses=1)
    answer = decide(found)                                      # with labels, where there are

UNDECIDED: keep the old model and go on collecting. Only rows where the models differ can change
the accuracy, so only those are worth a label (``disagreements``). Predictions and confidences
are bytes; a confidence is calibrated (``confidence`` does it with the capsule's temperature).
What each rule is worth was measured: docs/acceptance.md.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable, Sequence

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

ACCEPT = 1
REJECT = 0
UNDECIDED = -1
ONE = 32768
ROWS_MAX = 128
# Of the mean rise of confidence, the spread of labels, the prior, one label, and what the
# temperature rose. The first was fitted on ten people with a watch; the others on the people of
# three data sets, where the answers use most of the labels, and where they use few.
WEIGHTS = (18, 64, 7, 256, 0)
_MOST = (25, 90, 2, 256, 19)
_FEW = (8, 0, 2, 256, 0)

# 32768 / log2(rank + 1), rank from 1 to 128: high bytes, low bytes.
_HIGH = (
    b"\x80\x50\x40\x37\x31\x2d\x2a\x28\x26\x25\x23\x22\x21\x20\x20\x1f"
    b"\x1e\x1e\x1d\x1d\x1c\x1c\x1b\x1b\x1b\x1a\x1a\x1a\x1a\x19\x19\x19"
    b"\x19\x18\x18\x18\x18\x18\x18\x17\x17\x17\x17\x17\x17\x17\x16\x16"
    b"\x16\x16\x16\x16\x16\x16\x16\x15\x15\x15\x15\x15\x15\x15\x15\x15"
    b"\x15\x15\x15\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14"
    b"\x14\x14\x14\x13\x13\x13\x13\x13\x13\x13\x13\x13\x13\x13\x13\x13"
    b"\x13\x13\x13\x13\x13\x13\x13\x13\x13\x12\x12\x12\x12\x12\x12\x12"
    b"\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12\x12"
)
_LOW = (
    b"\x00\xc2\x00\x20\x84\x98\xaa\x61\x88\x00\xb4\x97\x9e\xc3\x00\x50"
    b"\xb2\x21\x9d\x24\xb4\x4b\xea\x90\x3b\xeb\xa0\x59\x15\xd6\x99\x5f"
    b"\x28\xf4\xc2\x92\x63\x37\x0d\xe4\xbc\x96\x72\x4e\x2c\x0b\xeb\xcc"
    b"\xad\x90\x74\x58\x3d\x23\x0a\xf1\xd9\xc2\xab\x95\x7f\x6a\x55\x41"
    b"\x2d\x19\x06\xf4\xe2\xd0\xbe\xad\x9d\x8c\x7c\x6c\x5d\x4e\x3f\x30"
    b"\x22\x14\x06\xf8\xeb\xdd\xd0\xc4\xb7\xab\x9f\x93\x87\x7b\x70\x64"
    b"\x59\x4e\x44\x39\x2e\x24\x1a\x10\x06\xfc\xf3\xe9\xe0\xd6\xcd\xc4"
    b"\xbb\xb2\xaa\xa1\x98\x90\x88\x80\x77\x6f\x67\x60\x58\x50\x49\x41"
)


def _discount(rank):
    """Return 32768 / log2(rank + 1), rounded down, for rank 1 to 128."""
    if not 1 <= rank <= ROWS_MAX:
        raise ValueError("rank: expected 1 to %d, got %d" % (ROWS_MAX, rank))
    return _HIGH[rank - 1] << 8 | _LOW[rank - 1]


def dcg(old: "ReadableBuffer", new: "ReadableBuffer", confidence: "ReadableBuffer", n: int) -> int:
    """Return the paper's score in 1/32768: +discount where both agree, -discount elsewhere.

    Ranks go by falling confidence of the old model; equal confidences share the mean of their
    discounts, so that the order of the rows does not matter. No sample gives 0.
    """
    return _scores(old, new, confidence, n)[0]


def _scores(old, new, confidence, n):
    """Return dcg and its highest value."""
    _rows(n, old, new, confidence)
    keys = [confidence[i] << 1 | (old[i] == new[i]) for i in range(n)]
    keys.sort(reverse=True)
    score = most = at = 0
    while at < n:
        first, total, agree = at, 0, 0
        while at < n and keys[at] >> 1 == keys[first] >> 1:
            agree += 1 if keys[at] & 1 else -1
            at += 1
            total += _discount(at)
        share = total // (at - first)
        score += share * agree
        most += share * (at - first)
    return score, most


def ndcg(
    old: "ReadableBuffer", new: "ReadableBuffer", confidence: "ReadableBuffer", n: int
) -> int:
    """Return dcg over its highest value, as -32768 (all differ) to 32768 (all agree)."""
    score, most = _scores(old, new, confidence, n)
    if not most:
        return 0
    # In two steps, so that no product leaves 30 bits.
    sign = 1 if score >= 0 else -1
    whole = abs(score) * 128 // most
    rest = abs(score) * 128 - whole * most
    return sign * (whole * 256 + rest * 256 // most)


def _gain(old_confidence, new_confidence, n):
    """Return the sum of what the calibrated confidence rose, in 1/255 of a row."""
    total = 0
    for i in range(n):
        total += new_confidence[i] - old_confidence[i]
    return total


def _spread(predictions, n):
    """Return n times the entropy of the predicted labels in 1/256 bit, less a constant of n.

    A model that has gone blind for some labels spreads its answers less.
    """
    _rows(n, predictions)
    labels = [predictions[i] for i in range(n)]
    labels.sort()
    total = at = 0
    while at < n:
        first = at
        while at < n and labels[at] == labels[first]:
            at += 1
        if at - first > 1:
            # log2(count) is 32768 over the discount of the rank before.
            total -= (at - first) * ((ONE << 8) // _discount(at - first - 1))
    return total


def evidence(
    old: "ReadableBuffer",
    new: "ReadableBuffer",
    old_confidence: "ReadableBuffer",
    new_confidence: "ReadableBuffer",
    n: int,
    weights: "Sequence[int] | None" = None,
    prior: int = 0,
    wins: int = 0,
    losses: int = 0,
    classes: int = 0,
    temperatures: "Sequence[int]" = (256, 256),
) -> int:
    """Return what speaks for the new model; below 0: against it.

    :param old: predicted labels of n rows, n > 0; :param old_confidence: calibrated, 0 to 255.
    :param weights: (of the mean rise of confidence, of the spread, of the prior, of a label, of
        the temperature). None: by how many of the labels the answers use.
    :param prior: signed byte that came with the capsule: the server's own change of accuracy in
        1/255. :param wins: labels that only the new model gave rightly, losses: only the old one.
    :param classes: how many labels the models know, 0: not told.
    :param temperatures: of the old and of the new model, as `confidence` takes them. A model that
        needs a higher one was found to be less right than it says.
    """
    if n < 1:
        raise ValueError("rows: expected 1 to %d, got %d" % (ROWS_MAX, n))
    _rows(n, old, new, old_confidence, new_confidence)
    before, after = temperatures
    warmer = _octaves(after) - _octaves(before)
    weights = weights or _weights(old, new, n, classes)
    if len(weights) != 5:
        raise ValueError("weights: expected 5 numbers, got %d" % len(weights))
    of_confidence, of_spread, of_prior, of_label, of_temperature = weights
    total = _mean(_gain(old_confidence, new_confidence, n) * 16, n) * of_confidence
    total += _mean(_spread(new, n) - _spread(old, n), n) * of_spread
    total += warmer * of_temperature
    return total + 16 * (prior * of_prior + (wins - losses) * of_label)


def _weights(old, new, n, classes):
    """Return the weights for a user of most labels, or of few, by the answers of both models.

    Where a user meets few labels, a model that spreads its answers less is no worse.
    """
    if not classes:
        return WEIGHTS
    if not 1 < classes <= 256:
        raise ValueError("classes: expected 2 to 256, or 0, got %s" % classes)
    used = set(old[:n])
    used.update(new[:n])
    return _MOST if 5 * len(used) >= 4 * classes else _FEW


def _octaves(temperature):
    """Return 256 x log2 of a temperature."""
    _whole("temperature", temperature, 65535, 1)
    whole = 0
    while temperature > 128:
        temperature >>= 1
        whole += 256
    return whole + ((ONE << 8) // _discount(temperature - 1) if temperature > 1 else 0)


def _rows(n, *columns):
    most = ROWS_MAX
    for column in columns:
        most = min(most, len(column))
    if not 0 <= n <= most:
        raise ValueError("rows: expected 0 to %d, got %d" % (most, n))


def _whole(name, value, most, least=0):
    """Refuse what is no whole number of the range: buffers of boards cut it."""
    try:
        good = least <= value <= most and not isinstance(value, float)
    except TypeError:  # no number
        good = False
    if not good:
        raise ValueError("%s: expected %d to %d, got %s" % (name, least, most, value))


def _mean(total, n):
    """Divide, rounding towards 0: the same for a model and its mirror image."""
    return total // n if total >= 0 else -(-total // n)


def decide(found: int, margin: int = 0) -> int:
    """Return ACCEPT when the evidence is above 0, REJECT, or UNDECIDED within the margin."""
    if margin and abs(found) < margin:
        return UNDECIDED
    return ACCEPT if found > 0 else REJECT


def label_free(
    old: "ReadableBuffer",
    new: "ReadableBuffer",
    old_confidence: "ReadableBuffer",
    new_confidence: "ReadableBuffer",
    n: int,
    floor: int = -ONE,
    margin: int = 0,
    prior: int = 0,
    weights: "Sequence[int] | None" = None,
    classes: int = 0,
    temperatures: "Sequence[int]" = (256, 256),
) -> int:
    """Decide without labels: by confidence, spread and the server's prior, within a guard.

    :param floor: ndcg below it rejects: the models are too far apart. :param margin: evidence
        that is asked for; within it on either side the answer is UNDECIDED. Others: as in
        ``evidence``.
    """
    rule = (floor, margin, prior, weights, classes, temperatures)
    return _judged(old, new, old_confidence, new_confidence, n, rule)[0]


def _judged(old, new, old_confidence, new_confidence, n, rule, labels=()):
    """Return (verdict, ndcg); rule: floor, margin, prior, ...; labels: {row: label}."""
    floor, margin, prior, weights, classes, temperatures = rule
    score = ndcg(old, new, old_confidence, n)
    if not n:
        return UNDECIDED, score
    if score < floor:
        return REJECT, score
    wins = losses = 0
    for i in labels:
        _whole("labels: row", i, n - 1)
        wins += new[i] == labels[i] != old[i]
        losses += old[i] == labels[i] != new[i]
    rest = (weights, prior, wins, losses, classes, temperatures)
    found = evidence(old, new, old_confidence, new_confidence, n, *rest)
    return decide(found, margin), score


def accept(
    store: "Any",
    sample: "Any",
    predict: "Callable[[Any, Any], int]",
    floor: int = -ONE,
    margin: int = 0,
    prior: int = 0,
    weights: "Sequence[int] | None" = None,
    labels: dict[int, int] | None = None,
    classes: int = 0,
    temperatures: "Sequence[int]" = (256, 256),
) -> int:
    """Try the waiting model on the sample; keep the verdict, and refuse the model or not.

    Return ACCEPT (``store.trial()`` is next), REJECT (it is refused, and remembered: it is not
    pulled again) or UNDECIDED (it waits on). Verdict and ndcg stay in the journal, see
    ``Store.verdict``. Other arguments as in ``label_free``.

    :param sample: a Reservoir with the answers of the model in use.
    :param predict: takes the waiting model (it reads as a Store does) and a row, an array('b');
        returns prediction x 256 + confidence. :param labels: {row of the sample: its label}, what
        somebody told about rows where the models differ; None: nothing is known.
    :raises StoreError: no model waits. :raises FlashError: the verdict cannot be kept.
    :raises ValueError: an answer or a row of a label that cannot be; no verdict is kept then.
    """
    from array import array

    waiting, n = store.waiting(), sample.count
    row, new, confidences = array("b", bytes(sample.width)), bytearray(n), bytearray(n)
    for i in range(n):
        sample.row(i, row)
        answer = predict(waiting, row)
        _whole("predict", answer, 65535)
        new[i], confidences[i] = answer >> 8, answer & 255
    old, sure = sample.predictions, sample.confidences
    rule = (floor, margin, prior, weights, classes, temperatures)
    verdict, score = _judged(old, new, sure, confidences, n, rule, labels or ())
    waiting.keep_verdict(verdict, score)
    if verdict == REJECT:
        store.rollback()
    return verdict


def disagreements(
    old: "ReadableBuffer", new: "ReadableBuffer", n: int, out: "WriteableBuffer"
) -> int:
    """Write the rows where the models differ to out; return how many: only these need labels.

    :param out: of n places or more.
    """
    _rows(n, old, new, out)
    count = 0
    for i in range(n):
        if old[i] != new[i]:
            out[count] = i
            count += 1
    return count


def is_decided(found: int, left: int, weights: "Sequence[int]" = WEIGHTS) -> bool:
    """Tell whether so many labels still to come cannot change the sign of the evidence."""
    return abs(found) > 16 * left * weights[3]


def confidence(logits: "Sequence[int] | ReadableBuffer", n: int, temperature: int) -> int:
    """Return (place of the highest << 8) | its softmax in 1/255; logits and temperature in 1/256.

    :param logits: integers, -32768 to 32767. :param temperature: 1 to 65535; 256 is 1.0.
    """
    if not 0 < n <= len(logits):
        raise ValueError("logits: expected 1 to %d, got %d" % (len(logits), n))
    _whole("temperature", temperature, 65535, 1)
    best = 0
    for i in range(1, n):
        if logits[i] > logits[best]:
            best = i
    total = 0
    for i in range(n):
        total += _power((logits[best] - logits[i]) * 369 // temperature)
    return best << 8 | (255 * ONE + total // 2) // total


def _power(x):
    """Return 32768 x 2 ** -(x / 256), x >= 0, with an error below 40."""
    rest = x & 255
    at = rest >> 5
    high, low = _POWERS[at], _POWERS[at + 1]
    return high - ((high - low) * (rest & 31) >> 5) >> (x >> 8)


_POWERS = (32768, 30048, 27554, 25268, 23170, 21247, 19484, 17867, 16384)
