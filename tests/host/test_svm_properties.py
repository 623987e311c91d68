# SPDX-License-Identifier: MIT
"""Properties that hold for any data: optimality, balance, errors that change nothing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from acclimate.svm import SVM

ROWS = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50), st.integers(0, 2)),
    min_size=4,
    max_size=24,
).filter(lambda rows: len({r[2] for r in rows}) > 1)


def machine(kernel, state, **options):
    return SVM(kernel=kernel, gamma=0.01, degree=2, coef0=1.0, state=state, **options)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["linear", "poly", "rbf"]), st.sampled_from(["float", "fixed"]))
def test_training_ends_and_every_label_is_known(rows, kernel, state):
    X = [list(r[:2]) for r in rows]
    y = [r[2] for r in rows]
    m = machine(kernel, state, C=0.01, max_iter=2000).fit(X, y)
    assert m.gap == m.gap and m.gap >= 0
    for row in X:
        assert m.predict(row) in set(y)
        assert np.isfinite(m.decision(row)).all()


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_signed_coefficients_balance_and_stay_in_their_box(rows):
    X = [list(r[:2]) for r in rows]
    y = [min(r[2], 1) for r in rows]
    if len(set(y)) < 2:
        return
    m = machine("rbf", "float", C=2.0).fit(X, y)
    beta = m._model.pairs[0].beta
    assert abs(sum(beta)) < 1e-4
    assert max(map(abs, beta)) <= 2.0


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(0, 23), st.sampled_from([float("nan"), float("inf"), "x", None, []]))
def test_one_bad_value_is_refused_and_the_model_stays(rows, at, bad):
    X = [list(r[:2]) for r in rows]
    y = [r[2] for r in rows]
    m = machine("linear", "float", C=0.01, max_iter=500).fit(X, y)
    before = [m.decision(r) for r in X]
    broken = [list(r) for r in X]
    broken[at % len(X)][1] = bad
    try:
        m.fit(broken, y)
    except ValueError as e:
        assert "row %d" % (at % len(X)) in str(e)
    else:
        raise AssertionError("took " + repr(bad))
    assert [m.decision(r) for r in X] == before
