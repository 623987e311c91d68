# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "SVM needs 40 KB of RAM"}
"""The small machine has the numbers of the large one, bit for bit."""

import os

from acclimate.svm import SVM
from acclimate.svm import small as svm_small


def test_weights_steps_and_decisions_are_equal():
    for d in (7, 8):
        X = bytearray(20 * d)
        seed = 3
        for i in range(20 * d):
            seed = (seed * 1103 + 12345) & 0xFFFF
            X[i] = (seed >> 8) & 15
        y = bytes([3 if X[i * d + 2] + X[i * d + 4] > 14 else 1 for i in range(20)])
        small = svm_small.SVM(C=0.5)
        small.fit(X, y)
        large = SVM(C=0.5, small=True).fit(X, y)
        assert list(small.w) == list(large._model.pairs[0].w)
        assert small.n_iter == large.n_iter and small.n_support == large.n_support
        for i in range(20):
            row = X[i * d : i * d + d]
            assert abs(small.decision(row) - large.decision(row)) < 1e-6
            assert small.predict(row) == large.predict(row)
        files = []
        for m in (small, large):
            m.save("svm_small_test.svm")
            with open("svm_small_test.svm", "rb") as f:
                files.append(f.read())
            for kind in (svm_small.SVM, SVM):
                other = kind.load("svm_small_test.svm")
                assert other.predict(row) == large.predict(row)
                assert abs(other.decision(row) - large.decision(row)) < 1e-6
        os.remove("svm_small_test.svm")
        assert files[0] == files[1]
        assert small.report(X, y) == large.report(X, y)
        assert small.evaluate(X, y) == large.evaluate(X, y)
