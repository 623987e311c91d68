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

from acclimate.svm import SmallSVM  # noqa: E402
from acclimate.svm import small as svm_small  # noqa: E402


def test_digits_sized_training_fits():  # case: K9
    if not svm_small.native:
        return "takes too long in Python"
    y = fill(X, N, D)
    m = SmallSVM(arena=ARENA)
    assert m.bytes_needed(N) <= len(ARENA)
    assert m.fit(X, y)
    row = bytearray(D)
    for i in range(N):
        row[:] = X[i * D : i * D + D]
        assert m.predict(row) == y[i]
