# SPDX-License-Identifier: MIT
"""A model's file field by field: what comes back, and what is refused though its sum is right."""

# RUNTIMES = ("cpython", "desktop")

import io
import os
import struct

from acclimate.svm import SVM
from acclimate.svm import file as svm_file

PATH = "svm_file_rules.bin"
X = [[0, 0], [0, 1], [1, 0], [1, 1], [7, 7], [7, 8], [8, 7]]
Y = [0, 1, 1, 0, 9, 9, 9]
# Places in the header: see FILE_HEAD.
KIND, CODE, D, N, CLASSES, DEGREE, FLAGS = 5, 6, 8, 10, 16, 17, 18


def saved(m):
    m.save(PATH)
    with open(PATH, "rb") as file:
        data = bytearray(file.read())
    os.remove(PATH)
    return data


def trained(kernel="rbf", x=X, y=Y, **options):
    options.setdefault("gamma", 0.5)
    return SVM(kernel=kernel, C=10, degree=2, coef0=1, **options).fit(x, y)


def pair_at(data):
    """Where the first pair begins: behind the labels and the rows of bytes."""
    return 48 + (data[N] * data[D] + 3 & ~3)


def load(data):
    return SVM.load(io.BytesIO(bytes(data)))


def changed(data, at, *values):
    """The file with other bytes, and the right sum."""
    data = bytearray(data)
    data[at : at + len(values)] = bytes(values)
    data[-4:] = struct.pack("<I", svm_file.crc32(bytes(data[:-4])))
    return data


def refusal(data):
    try:
        load(data)
    except ValueError as error:
        return str(error)
    return None


def with_word(data, number, value, code="<f"):
    """The file with another parameter of its first pair."""
    return changed(data, pair_at(data) + 8 + 4 * number, *words(value, code))


def words(value, code="<i"):
    return tuple(struct.pack(code, value))


def test_all_that_a_model_has_comes_back():
    far = [[a + 300, b + 900] for a, b in X]
    for m in (
        trained(),
        trained("linear"),
        trained("poly"),
        trained(state="fixed"),
        trained("linear", state="fixed"),
        trained("linear", far),
        trained("linear", far, state="fixed"),
        trained(x=far, scale=True),
        trained(budget=9),
        trained(gamma=None),
    ):
        other = load(saved(m))
        for name in ("kernel_name", "C", "degree", "coef0", "budget", "_scale", "gamma"):
            assert getattr(other, name) == getattr(m, name), name
        for name in ("classes", "kind", "code", "shift", "d", "scaled", "fixed", "n_iter"):
            assert getattr(other._model, name) == getattr(m._model, name), name
        assert other._model.converged == m._model.converged
        assert other._model.n_support == m._model.n_support
        assert abs(other._model.gap - m._model.gap) < 1e-6
        assert (other.scaler is None) == (m.scaler is None)
        for row in X if m.scaler is None else far:
            assert list(other.decision(row)) == list(m.decision(row))
        if m.budget:
            assert list(other.samples.labels) == list(m.samples.labels)
            # both draw the same samples from now on
            assert other.samples.seed == m.samples.seed == m._model.n_iter & 0xFFFF


def test_what_did_not_converge_comes_back_as_that():
    m = trained(max_iter=1)
    assert m._model.converged is False and load(saved(m))._model.converged is False


def test_both_go_on_with_the_same_draws():
    m = trained(budget=7)
    for row in ([1, 7], [2, 6], [3, 5]):  # one gives way for each
        m.add(row, 9)
    other = load(saved(m))
    assert m.samples.seed == other.samples.seed == m._model.n_iter & 0xFFFF


def test_a_fixed_linear_model_has_half_a_word_for_each_feature():
    for d, count in ((1, 3), (2, 3), (3, 4), (4, 4), (5, 5)):
        x = [[v[0]] * (d - 1) + [v[1]] for v in X]
        m = trained("linear", x, state="fixed")
        good = saved(m)
        assert good[pair_at(good) + 6] == count, d
        other = load(good)
        assert [other.predict(row) for row in x] == [m.predict(row) for row in x]


def test_a_stream_stays_open_and_a_file_is_closed():
    data = saved(trained())
    stream = io.BytesIO(bytes(data))
    SVM.load(stream)
    assert stream.seek(0) == 0 and stream.read(4) == b"ACSV"


def test_items_are_padded_to_words():
    for code, count, size in (
        ("B", 0, 0),
        ("B", 1, 4),
        ("b", 4, 4),
        ("B", 5, 8),
        ("h", 1, 4),
        ("f", 1, 4),
        ("i", 2, 8),
    ):
        reader = svm_file._Reader(io.BytesIO(bytes(16)), 16)
        assert len(reader.get(code, count)) == count and reader.left == 16 - size
        assert len(reader.stream.read()) == reader.left
    for m in (trained(), trained(x=X[:5], y=Y[:5]), trained("linear")):
        assert len(saved(m)) % 4 == 0


def test_a_header_that_no_model_has_is_refused():
    good = saved(trained())
    assert refusal(changed(good, KIND, good[KIND])) is None
    for at, value in (
        (KIND, 3),
        (CODE, ord("x")),
        (CODE, 0),
        (D, 0),
        (CLASSES, 0),
        (CLASSES, 1),
        (DEGREE, 0),
        (DEGREE, 10),
    ):
        assert "known kernel" in refusal(changed(good, at, value)), (at, value)
    assert "format 1, got 2" in refusal(changed(good, 4, 2))
    for at, value in ((D, 3), (N, 200), (CLASSES, 4), (FLAGS, good[FLAGS] | 8), (FLAGS, 2 | 1)):
        assert refusal(changed(good, at, value)), (at, value)


def test_a_pair_is_like_the_header():
    good = saved(trained())
    assert good[pair_at(good) + 6 : pair_at(good) + 8] == b"\0\0"
    assert "0 words, got 1" in refusal(changed(good, pair_at(good) + 6, 1))
    for number, value in ((0, 3.0), (1, 9.0), (2, 1.0), (0, 0.0)):
        assert "parameters like the header's" in refusal(with_word(good, number, value)), number
    assert "gamma >= 0" in refusal(with_word(good, 9, -0.5))
    assert refusal(with_word(good, 9, 0.0)) is None
    for number in (-2, 10):  # the bias, and a parameter
        for value in (float("nan"), float("inf"), -float("inf")):
            assert "finite" in refusal(with_word(good, number, value))
    assert "degree 2" in refusal(with_word(saved(trained("poly")), 3, 3.0))


def test_rows_of_a_pair_are_those_that_there_are():
    good = saved(trained())
    count = good[pair_at(good) + 4]
    at = pair_at(good) + 8 + 4 * 16
    rows = len(load(good)._model.x) // 2
    assert 0 < count <= rows
    for row in (rows, 200, -rows - 1, -200):
        assert "expected a row" in refusal(changed(good, at, *words(row, "<h"))), row
    for row in (rows - 1, -rows):
        assert refusal(changed(good, at, *words(row, "<h"))) is None


def test_shifts_of_a_fixed_model_are_those_that_a_training_writes():
    good = saved(trained(state="fixed"))
    for number, low, high in (
        (6, -150, 150),
        (9, 0, 32767),
        (10, -300, 300),
        (13, 0, 62),
        (14, 0, 1023),
        (15, -1000, 1000),
    ):
        for value, is_good in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
            found = refusal(with_word(good, number, value, "<i"))
            assert (found is None) is is_good, (number, value, found)
    assert good[KIND] == 2


def test_weights_of_a_linear_model_are_as_many_as_features():
    for state, m in (("float", trained("linear")), ("fixed", trained("linear", state="fixed"))):
        good = saved(m)
        at = pair_at(good)
        wanted = good[at + 6]
        assert wanted == 2 + (1 if state == "fixed" else 2)
        for count in (0, wanted - 1, wanted + 1):
            assert "%d words, got %d" % (wanted, count) in refusal(changed(good, at + 6, count))
        if state == "fixed":
            for shift, is_good in ((-200, True), (200, True), (-201, False), (201, False)):
                found = refusal(changed(good, at + 8, *words(shift)))
                assert (found is None) is is_good, (shift, found)
        else:
            assert "finite" in refusal(changed(good, at + 12, *words(float("nan"), "<f")))


def test_a_section_that_is_cut_is_refused():
    good = saved(trained())
    for n in range(44, len(good) - 8, 4):
        cut = bytearray(good[:n]) + bytes(4)
        cut[12:16] = bytes(words(len(cut), "<I"))
        assert refusal(changed(cut, 0, *b"ACSV")), n


def test_how_a_machine_learns_is_checked():
    data = saved(trained(budget=20, tol=0.5, max_iter=99))
    at = bytes(data).find(b"[0.5, 99, null]")
    assert at > 0 and load(data).max_iter == 99
    for wrong in (
        b"[0.5, 99, nul!]",
        b"{0.5, 99, null]",
        b"[0.5, 99]      ",
        b"[-.5, 99, null]",
        b"[0.5, -9, null]",
        b"[0.5, 99, [1]] ",
        b"[0.5, 99, 1234]",
        b'["0", 99, null]',
        b"\xff0.5, 99, null]",
    ):
        assert "how it learns" in refusal(changed(data, at, *wrong)), wrong
