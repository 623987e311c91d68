# SPDX-License-Identifier: MIT
"""The device's SVM is as good as scikit-learn's, with two classes and with ten."""

import pytest

pytest.importorskip("sklearn")
from bench import svm_accuracy  # noqa: E402

CORE = svm_accuracy.use_twin()


@pytest.mark.parametrize("kernel", svm_accuracy.KERNELS)
@pytest.mark.parametrize("name", svm_accuracy.NAMES)
def test_accuracy_equals_scikit_learn(name, kernel, monkeypatch):
    if name == "digits" and CORE == "python":
        X, y, test, truth = svm_accuracy.data(name)
        few = X[:300], y[:300], test[:100], truth[:100]  # Python takes a minute for all
        monkeypatch.setattr(svm_accuracy, "data", lambda _: few)
    result = svm_accuracy.one(name, kernel)
    assert result["accuracy"] == pytest.approx(result["scikit_learn"], abs=0.004)
    assert result["agree"] >= 0.99
    assert result["converged"]


@pytest.mark.parametrize("kernel", svm_accuracy.KERNELS)
def test_fixed_point_keeps_the_accuracy_on_iris(kernel):
    result = svm_accuracy.one("iris", kernel, state="fixed")
    assert result["accuracy"] == result["scikit_learn"]
