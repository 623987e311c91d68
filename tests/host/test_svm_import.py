# SPDX-License-Identifier: MIT
"""A fitted scikit-learn machine decides the same on the device."""

import numpy as np
import pytest

sklearn_svm = pytest.importorskip("sklearn.svm")
from sklearn.datasets import load_digits, load_iris, load_wine  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from acclimate.svm import SVM  # noqa: E402
from acclimate_host.model.import_sklearn import import_svm, largest_difference  # noqa: E402
from acclimate_host.model.importing import ModelImportError  # noqa: E402
from harness.errors import naming  # noqa: E402


def plain(row):
    return [float(v) for v in row]


@pytest.mark.case("I5")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("data", ["iris", "wine", "digits01"])
def test_decisions_and_labels_are_those_of_scikit_learn(kernel, data, tmp_path):
    if data == "digits01":
        X, y = load_digits(n_class=2, return_X_y=True)
    else:
        X, y = (load_iris if data == "iris" else load_wine)(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    fitted = sklearn_svm.SVC(kernel=kernel, C=2.0, coef0=0.5).fit(X[::2], y[::2])
    lines = []
    machine = import_svm(fitted, sample=X[1::2], report=lines.append)
    assert "largest difference" in lines[0]
    assert largest_difference(fitted, machine, X[1::2]) < 2e-3 * max(
        1, np.abs(fitted.decision_function(X)).max()
    )
    want = fitted.predict(X[1::2])
    assert [machine.predict(plain(r)) for r in X[1::2]] == want.tolist()
    machine.save(str(tmp_path / "m.svm"))
    again = SVM.load(str(tmp_path / "m.svm"))
    assert [again.predict(plain(r)) for r in X[1::2]] == want.tolist()


@pytest.mark.case("I6")
def test_unequal_support_vector_counts_reach_every_class():
    rng = np.random.default_rng(3)
    sizes = (61, 91, 9, 9)
    X = np.concatenate([rng.normal(3 * c, 1.0, (n, 2)) for c, n in enumerate(sizes)])
    y = np.repeat((4, 5, 9, 200), sizes)
    fitted = sklearn_svm.SVC(kernel="rbf", gamma=0.5).fit(X, y)
    assert len(set(fitted.n_support_)) > 1
    machine = import_svm(fitted)
    got = [machine.predict(plain(r)) for r in X]
    assert got == fitted.predict(X).tolist()
    assert set(got) == {4, 5, 9, 200}


@pytest.mark.case("I12")
def test_tied_votes_go_to_the_lowest_label_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)  # noise: pairs contradict each other
    fitted = sklearn_svm.SVC(kernel="rbf", gamma=1.0, decision_function_shape="ovo").fit(X, y)
    grid = rng.normal(size=(400, 2))
    signs = fitted.decision_function(grid) > 0
    tied = [tuple(s) in ((True, False, True), (False, True, False)) for s in signs]
    assert any(tied)
    machine = import_svm(fitted)
    assert [machine.predict(plain(r)) for r in grid] == fitted.predict(grid).tolist()


@pytest.mark.case("I11")
def test_linear_svc_is_imported():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    fitted = sklearn_svm.LinearSVC(C=1.0).fit(X, y)
    machine = import_svm(fitted)
    assert largest_difference(fitted, machine, X) < 1e-4
    assert [machine.predict(plain(r)) for r in X] == fitted.predict(X).tolist()


def test_integer_storage_takes_integer_rows():
    X, y = load_digits(n_class=2, return_X_y=True)
    fitted = sklearn_svm.SVC(kernel="rbf").fit(X[::2], y[::2])
    machine = import_svm(fitted, storage="uint8")
    row = bytearray(X[1].astype(np.uint8).tobytes())
    assert machine.predict(row) == y[1]
    with pytest.raises(ValueError, check=naming("uint8", "0..255")):
        import_svm(sklearn_svm.SVC().fit(X / 3, y), storage="uint8")


@pytest.mark.case("I11")
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda X, y: sklearn_svm.NuSVC().fit(X, y), "NuSVC"),
        (lambda X, y: sklearn_svm.SVC(kernel="sigmoid").fit(X, y), "sigmoid"),
        (lambda X, y: sklearn_svm.SVC().fit(X, (y + 1) << 40), "labels"),
    ],
)
def test_other_models_are_refused_with_a_list_of_what_is_supported(make, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelImportError, check=naming("expected", words)):
        import_svm(make(X, y))


def test_an_unfitted_model_is_refused():
    with pytest.raises(ModelImportError, match="fitted"):
        import_svm(sklearn_svm.SVC())
