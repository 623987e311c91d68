# SPDX-License-Identifier: MIT
"""Pipelines of scikit-learn answer the same on a board, with two and with three classes."""

import numpy as np
import pytest

sklearn_svm = pytest.importorskip("sklearn.svm")
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.linear_model import LogisticRegression, SGDClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler  # noqa: E402
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM  # noqa: E402

from acclimate.svm import model as svm_model  # noqa: E402
from acclimate_host.connect import open_board, package, why_not  # noqa: E402
from acclimate_host.model.import_sklearn import import_svm, largest_difference  # noqa: E402
from acclimate_host.model.importing import ModelImportError  # noqa: E402
from harness.errors import naming  # noqa: E402
from harness.runtimes import ARCHS, must_run  # noqa: E402

SHOWN = 6  # rows whose answers a board prints
MAKES = (
    lambda: make_pipeline(StandardScaler(), SVC(gamma=0.5)),
    lambda: make_pipeline(MinMaxScaler(), SVC(kernel="poly", C=5)),
    lambda: make_pipeline(StandardScaler(with_mean=False), SVC(kernel="linear")),
    lambda: make_pipeline(MinMaxScaler((-1, 1)), LinearSVC()),
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    lambda: make_pipeline(StandardScaler(), SGDClassifier(random_state=1)),
    lambda: make_pipeline(StandardScaler(), OneClassSVM(nu=0.2, gamma=0.5)),
    lambda: make_pipeline(MinMaxScaler(), SVR(epsilon=0.05)),
    lambda: make_pipeline(StandardScaler(with_std=False), SVR(kernel="linear")),
    lambda: LogisticRegression(max_iter=5000),
)
ON_BOARD = """
from acclimate.svm import SVM
rows = ROWS
for k in range(COUNT):
    m = SVM.load("m%d.svm" % k)
    print([m.predict(row) for row in rows])
"""
PROBABILITIES = 'print([round(p, 4) for p in SVM.load("m4.svm").predict_proba(rows[0])])\n'


def rows_of(classes, labels):
    """Iris with one column far from 0, its labels otherwise, split into halves."""
    X, y = load_iris(return_X_y=True)
    X[:, 1] += 1000
    X, y = np.float32(X[y < classes]).astype(float), y[y < classes]
    y = y if labels is None else np.array(labels)[y]
    return X[::2], y[::2], X[1::2]


@pytest.fixture(autouse=True)
def in_python():
    """The limits below are those of Python's numbers, whatever core another test has loaded."""
    before = svm_model.native
    svm_model.use(None)
    yield
    svm_model.use(before)


@pytest.fixture(scope="module", params=["desktop", "nrf52840"])
def board(request):
    """A board with the SVM and the extras that the models need."""
    reason = why_not(request.param)
    if reason:
        (pytest.fail if must_run() else pytest.skip)(f"{request.param}: {reason}")
    names = ["svm", "svm.single", "svm.labels", "svm.probability"]
    with open_board(request.param) as board:
        board.mkdir(f"{board.lib}/acclimate")
        for name, data in package.build(ARCHS[request.param], names).items():
            board.put_bytes(data, f"{board.lib}/acclimate/{name}")
        yield board


@pytest.mark.parametrize("classes, labels", [(2, None), (3, ["a", "b", "c"]), (3, [-1, 500, 7])])
def test_pipelines_answer_on_a_board_what_scikit_learn_answers(board, classes, labels, tmp_path):
    X, y, tests = rows_of(classes, labels)
    shown = tests[:: len(tests) // SHOWN]
    want = []
    for make in MAKES:
        fitted = make()
        number = isinstance(fitted, SVR) or "svr" in getattr(fitted, "named_steps", {})
        fitted.fit(X, X[:, 2] if number else y)
        machine = import_svm(fitted, report=None)
        top = max(1, np.abs(_values(fitted, tests)).max())
        assert largest_difference(fitted, machine, tests) < 1e-4 * top, fitted
        machine.save(str(tmp_path / "m.svm"))
        name = f"{board.root.rstrip('/')}/m{len(want)}.svm"
        board.put_bytes((tmp_path / "m.svm").read_bytes(), name)
        want.append(fitted.predict(shown).tolist())
    program = ON_BOARD.replace("ROWS", repr(shown.tolist())).replace("COUNT", str(len(want)))
    lines = board.exec(f"import os\nos.chdir({board.root!r})\n" + program + PROBABILITIES, 60)
    found = [eval(line) for line in lines.splitlines()]
    for answers, right in zip(found, want, strict=False):
        assert answers == (right if isinstance(right[0], str) else pytest.approx(right, abs=1e-3))
    shares = MAKES[4]().fit(X, y).predict_proba(shown[:1])[0].tolist()
    assert found[-1] == pytest.approx(shares, abs=2e-3)


def _values(fitted, tests):
    decide = getattr(fitted, "decision_function", fitted.predict)
    return decide(tests)


def test_probabilities_of_an_svc_come_along():
    X, y, tests = rows_of(3, None)
    for classes in (2, 3):
        x, labels = X[y < classes], y[y < classes]
        with pytest.warns(FutureWarning) if _warns() else _nothing():
            fitted = SVC(probability=True, random_state=0).fit(x, labels)
        machine = import_svm(fitted)
        found = np.array([machine.predict_proba(row) for row in tests.tolist()])
        assert np.abs(found - fitted.predict_proba(tests)).max() < 0.01


def _warns():
    import sklearn

    return tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_what_a_scaler_may_not_do_is_refused():
    X, y, _ = rows_of(3, None)
    for fitted, words in (
        (make_pipeline(Normalizer(), SVC()).fit(X, y), "Normalizer"),
        (make_pipeline(MinMaxScaler(clip=True), SVC()).fit(X, y), "clip=True"),
        (make_pipeline(StandardScaler(), MinMaxScaler(), SVC()).fit(X, y), "MinMaxScaler"),
        (SVR(kernel="sigmoid").fit(X, X[:, 0]), "sigmoid"),
    ):
        with pytest.raises(ModelImportError, check=naming("expected", words)):
            import_svm(fitted)
    fitted = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    with pytest.raises((ModelImportError, ValueError), check=naming("storage int8")):
        import_svm(fitted, storage="int8")
    with pytest.raises(ModelImportError, check=naming("fit")):
        import_svm(make_pipeline(StandardScaler(), SVC()))


def test_a_linear_pipeline_takes_integer_rows_of_any_storage():
    X, y, _ = rows_of(3, None)
    x = np.round(X - X.min(0)).astype(int)
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    machine = import_svm(fitted, storage="uint8")
    assert [machine.predict(bytearray(row.tolist())) for row in x] == fitted.predict(x).tolist()


def test_a_linear_pipeline_refuses_a_storage_that_does_not_hold_its_rows():
    X = np.array([[1, 5], [2, 40000], [3, 7], [4, 9]])
    fitted = make_pipeline(StandardScaler(), SVC(kernel="linear", C=1e6)).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, check=naming("feature 1", "int16", 40000)):
        import_svm(fitted, storage="int16")
    X[1, 1] = 300
    machine = import_svm(fitted.fit(X, [0, 0, 1, 1]), storage="int16")
    assert [machine.predict(row) for row in X.tolist()] == [0, 0, 1, 1]
