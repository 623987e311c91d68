# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21-pure": "the solver in Python needs more than 32 KB of RAM"}
"""The small linear machine: digits-sized training beside its samples in 32 KB of RAM."""

from acclimate import _native

# Big blocks first: native code, samples, solver state; then the many small ones.
SMALLER = "svm_linear"
_native.load(SMALLER)
N, D = 84, 64
X = bytearray(N * D)
ARENA = bytearray(1400)

from small_rows import fill  # noqa: E402

from acclimate.svm import small as svm_small  # noqa: E402


def test_digits_sized_training_fits():  # case: K9
    if not svm_small.native:
        return "takes too long in Python"
    y = fill(X, N, D)
    m = svm_small.SVM(arena=ARENA)
    assert m.bytes_needed(N) <= len(ARENA)
    assert m.fit(X, y).converged
    row = bytearray(D)
    for i in range(N):
        row[:] = X[i * D : i * D + D]
        assert m.predict(row) == y[i]
    m.arena = None
    del globals()["ARENA"], globals()["X"]  # a file is written when training is over
    before = m.decision(row)
    m.save("svm_32k_test.svm")
    other = svm_small.SVM.load("svm_32k_test.svm")
    assert other.decision(row) == before and other.n_support == m.n_support
