# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM; small=True is for 32 KB"}
"""A model survives its file bit for bit; a damaged file never becomes a model."""

import os

from acclimate.svm import SVM

PATH = "svm_io_test.bin"
X = [[0, 0], [0, 1], [1, 0], [1, 1], [7, 7], [7, 8], [8, 7]]
Y = [0, 1, 1, 0, 9, 9, 9]


def raises(kind, words, call, *args):
    try:
        call(*args)
    except kind as e:
        for word in words:
            assert word in str(e), str(e)
        return
    raise AssertionError("no " + kind.__name__)


def remove():
    try:
        os.remove(PATH)
    except OSError:
        pass


def test_loaded_model_decides_the_same_bits():  # case: H4
    for kernel in ("linear", "poly", "rbf"):
        m = SVM(kernel=kernel, C=10, gamma=0.5, degree=2, coef0=1).fit(X, Y)
        m.save(PATH)
        other = SVM.load(PATH)
        for row in X:
            assert list(other.decision(row)) == list(m.decision(row))
            assert other.predict(row) == m.predict(row)
        assert repr(other) == repr(m)
    remove()


def test_every_damaged_byte_and_every_cut_is_refused():
    SVM(kernel="rbf", C=10, gamma=0.5).fit(X[:4], Y[:4]).save(PATH)
    with open(PATH, "rb") as f:
        good = f.read()
    bad = bytearray(good)
    for i in range(len(good)):
        bad[i] ^= 1 << (i & 7)
        with open(PATH, "wb") as f:
            f.write(bad)
        bad[i] = good[i]
        raises(ValueError, [PATH, "expected"], SVM.load, PATH)
    for size in range(0, len(good), 3):
        with open(PATH, "wb") as f:
            f.write(good[:size])
        raises(ValueError, [PATH, "expected"], SVM.load, PATH)
    with open(PATH, "wb") as f:
        f.write(good + b"\0")
    raises(ValueError, ["expected %d bytes" % len(good)], SVM.load, PATH)
    remove()


def test_own_checksum_equals_the_known_value():
    from acclimate.svm import file as svm_io

    assert svm_io.crc32(b"123456789") == 0xCBF43926
    assert svm_io.crc32(b"56789", svm_io.crc32(b"1234")) == 0xCBF43926


def test_an_unfitted_model_is_not_saved():
    raises(ValueError, ["fitted"], SVM().save, PATH)
