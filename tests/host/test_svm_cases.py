# SPDX-License-Identifier: MIT
"""Failures that users of other SVM libraries reported, as tests of this one."""

from array import array

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from acclimate.svm import SVM  # noqa: E402


def noise(seed, n=40, d=3, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, classes, n)


@pytest.mark.case("I2")
@pytest.mark.parametrize("state", ["float", "fixed"])
@pytest.mark.parametrize("C", [0.001, 1.0, 1e4])
def test_training_ends_at_a_tolerance_that_numbers_cannot_reach(C, state):
    X, y = noise(1)
    m = SVM(kernel="rbf", C=C, gamma=0.5, tol=1e-9, max_iter=20000, state=state)
    m.fit(X.tolist(), y.tolist())
    assert m.n_iter <= 20000 and m.gap < 0.1
    assert isinstance(m.converged, bool)


@pytest.mark.case("I3")
def test_raw_breast_cancer_ends_with_a_warning_and_scales_well(capsys):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    m = SVM(C=1.0, max_iter=500).fit(X.tolist(), y.tolist())
    assert m.n_iter <= 500
    assert "scale=True" in m.warning and "scale=True" in capsys.readouterr().out
    scaled = SVM(C=1.0, scale=True).fit(X.tolist(), y.tolist())
    assert scaled.converged and scaled.n_iter < 2000
    assert scaled.evaluate(X.tolist(), y.tolist()) > 0.97


@pytest.mark.case("I10")
def test_raw_sensor_counts_up_to_65535_are_learned_with_the_scaler():
    rng = np.random.default_rng(4)
    y = np.arange(20) % 2
    X = np.stack([rng.integers(0, 65536, 20), 500 + 100 * y, rng.integers(0, 4000, 20)], 1)
    m = SVM(scale=True, C=10.0).fit(X.tolist(), y.tolist())
    assert m.evaluate(X.tolist(), y.tolist()) == 1.0


@pytest.mark.case("I8")
def test_class_weights_are_those_of_scikit_learn():
    X = np.concatenate([noise(s, n)[0] + s for s, n in ((0, 61), (1, 91), (2, 9), (3, 9))])
    y = np.repeat(np.arange(4), (61, 91, 9, 9))
    for weight in ({2: 8.0, 3: 8.0}, "balanced"):
        want = SVC(kernel="rbf", gamma=0.3, class_weight=weight).fit(X, y)
        m = SVM(kernel="rbf", gamma=0.3, class_weight=weight, tol=1e-3)
        m.fit(X.tolist(), y.tolist())
        got = [m.predict(r) for r in X.tolist()]
        assert np.mean(got == want.predict(X)) > 0.99
        assert "recall" in m.report(X.tolist(), y.tolist())


def test_ties_and_votes_are_those_of_scikit_learn():
    X, y = noise(5, 60, 2, 3)
    want = SVC(kernel="rbf", gamma=1.0, tol=1e-6).fit(X, y)
    m = SVM(kernel="rbf", gamma=1.0, tol=1e-5).fit(X.tolist(), y.tolist())
    grid = np.random.default_rng(6).normal(size=(300, 2))
    got = np.array([m.predict(r) for r in grid.tolist()])
    assert np.mean(got == want.predict(grid)) > 0.99


@pytest.mark.case("H2")
def test_large_integers_are_exact_counters():
    m = SVM(storage="int16").fit([[32767], [-32768]], [0, 1])
    assert m.predict([32767]) == 0 and m.predict([-32768]) == 1
    with pytest.raises(ValueError, match="32767"):
        SVM(storage="int16").fit([[32768], [0]], [0, 1])


@pytest.mark.case("H3")
def test_mean_of_many_values_stays_exact():
    from acclimate.svm import scaler as svm_scaler
    from acclimate.svm.parameters import run

    X = array("f", [1000.25, 1000.75] * 50000)
    scaler = run(svm_scaler.fit_pieces(X, 100000, 1, True, False))
    assert scaler.offset[0] == pytest.approx(1000.5, abs=1e-3)
    assert scaler.divisor[0] == pytest.approx(0.25, rel=1e-3)


@pytest.mark.case("H8")
def test_products_beyond_float32_keep_the_last_good_model():
    m = SVM(state="float").fit([[0.5], [1.5]], [0, 1])
    before = m.decision([0.7])
    with pytest.raises(ValueError, match="scale=True"):
        m.fit([[3e38], [-3e38], [1e30]], [0, 1, 0])
    assert m.decision([0.7]) == before


@pytest.mark.case("H7")
def test_a_scaled_weight_is_applied_with_its_scale():
    """Integer models decide in the caller's units, not in those of the store."""
    X, y = noise(7, 60)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    a = SVM(state="float", storage="float32").fit(X.tolist(), y.tolist())
    b = SVM(state="fixed", storage="int16").fit(X.tolist(), y.tolist())
    for row in X.tolist():
        assert b.decision(row) == pytest.approx(a.decision(row), abs=0.02)
