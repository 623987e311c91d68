# SPDX-License-Identifier: MIT
# RUNTIMES = ("cpython", "desktop", "circuitpython")
"""The paper's Algorithm 1 finds what the solver finds; tried only where it is quick."""

from acclimate.svm import SVM


def test_algorithm_of_the_paper_finds_the_same_classes():
    X = [[i % 5, i // 5, (i * 3) % 7] for i in range(24)]
    y = [1 if r[0] + r[1] > 4 else 0 for r in X]
    for options in (dict(kernel="linear", C=1.0), dict(kernel="rbf", gamma=0.1, C=1.0)):
        m = SVM(solver="algorithm1", max_iter=300, **options).fit(X, y)
        smo = SVM(**options).fit(X, y)
        same = sum([m.predict(r) == smo.predict(r) for r in X])
        assert same >= 22, (options, same)
        assert m.n_iter >= 10


def test_algorithm_of_the_paper_can_be_stopped():
    X = [[i % 5, i // 5, (i * 3) % 7] for i in range(24)]
    y = [1 if r[0] + r[1] > 4 else 0 for r in X]
    m = SVM(solver="algorithm1", kernel="linear", C=1.0)
    count = 0
    for _ in m.fit_steps(X, y):
        count += 1
        if count == 1500:
            break
    assert not m._model and sum([m.predict(X[k]) == y[k] for k in range(len(y))]) >= 18
    assert not m.converged
