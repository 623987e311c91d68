# SPDX-License-Identifier: MIT
"""Fitted machines of scikit-learn as the device's `SVM`: kernel machines, linear classifiers,
one-class and regression, alone or behind a scaler; see `SUPPORTED`.

A linear classifier with one function for each class becomes the differences of them, one for each
pair: the class with the largest function wins all its pairs.
"""

import warnings
from array import array
from itertools import combinations

import numpy as np

from acclimate.svm import SVM
from acclimate.svm import parameters as par
from acclimate.svm.labels import Labels
from acclimate.svm.model import CODES, LINEAR, Model, Pair
from acclimate.svm.oneclass import OneClass
from acclimate.svm.probability import Sigmoids
from acclimate.svm.regression import Regression
from acclimate.svm.scaled import Centre, Scaler
from acclimate.svm.single import CLASSES

from .importing import ModelImportError

SUPPORTED = (
    "SVC, OneClassSVM or SVR with kernel linear, poly or rbf, LinearSVC, LogisticRegression or "
    "SGDClassifier, alone or in a Pipeline behind a StandardScaler or MinMaxScaler; "
    "any number of classes; class weights; any C, gamma, coef0; degree 1..9; dense data"
)
_LINEAR_KINDS = ("LinearSVC", "LogisticRegression", "SGDClassifier")
_KERNEL_KINDS = ("SVC", "OneClassSVM", "SVR")
_KERNELS = ("linear", "poly", "rbf")


def _unsupported(what):
    return ModelImportError(f"model: expected {SUPPORTED}; got {what}")


def import_svm(fitted, sample=None, storage="float32", report=print):
    """Return an `acclimate.svm.SVM` that answers like `fitted`; see `SUPPORTED`.

    A scaler in front is folded into the weights of a linear machine (with float32 storage its
    offsets are subtracted first, which keeps rows far from 0 exact), and comes along otherwise.
    Probabilities come along where `fitted` has them.

    :param fitted: fitted estimator, or Pipeline
    :param sample: rows on which both are compared; None: no comparison
    :param str storage: ``"float32"``, or an integer storage when all support vectors are whole
        numbers inside its range (smaller, and what integer rows on the board need)
    :param report: called with one line about the comparison
    :raises ModelImportError: not fitted, or of a kind that the text does not list
    :raises ValueError: support vectors that do not fit `storage`
    """
    scaling, last = _split(fitted)
    kind = type(last).__name__
    if not hasattr(last, "coef_" if kind in _LINEAR_KINDS else "support_vectors_"):
        raise ModelImportError("model: expected a fitted model, got one without coefficients")
    make = _from_linear if kind in _LINEAR_KINDS else _from_kernel
    machine = make(last, scaling, storage)
    if sample is not None:
        difference = largest_difference(fitted, machine, sample)
        report(f"{len(sample)} rows, largest difference of decision values: {difference:.1e}")
    return machine


def _split(fitted):
    """((offsets, divisors) of the features or None, last step) of an estimator or Pipeline."""
    steps = [step for _, step in getattr(fitted, "steps", [("", fitted)])]
    kinds = [type(step).__name__ for step in steps]
    if kinds[-1] not in _LINEAR_KINDS + _KERNEL_KINDS or len(steps) > 2:
        raise _unsupported(" + ".join(kinds))
    if len(steps) == 1:
        return None, steps[0]
    scaler = steps[0]
    if not hasattr(scaler, "scale_") and kinds[0] in ("StandardScaler", "MinMaxScaler"):
        raise ModelImportError(f"model: expected a fitted {kinds[0]}; call fit first")
    if kinds[0] == "StandardScaler":
        return standard_scaling(scaler, scaler.n_features_in_), steps[1]
    if kinds[0] == "MinMaxScaler" and not scaler.clip:
        return (-scaler.min_ / scaler.scale_, 1 / scaler.scale_), steps[1]
    if kinds[0] == "MinMaxScaler":
        kinds[0] += "(clip=True)"
    raise _unsupported(" + ".join(kinds))


def standard_scaling(scaler, d):
    """(means, deviations) that a fitted StandardScaler takes off and divides by."""
    mean = scaler.mean_ if scaler.with_mean else np.zeros(d)  # it knows means it does not use
    return mean, scaler.scale_ if scaler.with_std else np.ones(d)


def largest_difference(fitted, machine, sample):
    """Largest absolute difference of decision values (of a regression: answers) over rows."""
    sample = np.asarray(sample)
    want = _reference(fitted, sample)
    got = np.array([machine.decision(_plain(row)) for row in sample])
    return float(np.abs(np.reshape(want, got.shape) - got).max())


def _reference(fitted, sample):
    """What the device's decision values should be: one for each pair of classes."""
    last = getattr(fitted, "steps", [("", fitted)])[-1][1]
    if isinstance(getattr(last, "classes_", None), np.ndarray) and len(last.classes_) > 2:
        if type(last).__name__ in _LINEAR_KINDS:
            values = fitted.decision_function(sample)
            pairs = combinations(range(len(last.classes_)), 2)
            return np.stack([values[:, i] - values[:, j] for i, j in pairs], 1)
        shape, last.decision_function_shape = last.decision_function_shape, "ovo"
        try:
            return fitted.decision_function(sample)
        finally:
            last.decision_function_shape = shape
    regression = type(last).__name__ == "SVR"
    return fitted.predict(sample) if regression else fitted.decision_function(sample)


def _plain(row):
    """A row as Python numbers, whole ones as int."""
    return [int(v) if v == int(v) else float(v) for v in row]


def _labels(classes):
    """(class numbers as bytes, `Labels` or None) for scikit-learn's sorted classes."""
    if len(classes) < 2 or len(classes) > 255:
        raise _unsupported(f"{len(classes)} labels")
    values = classes.tolist()
    if all(isinstance(v, (int, float)) and v == int(v) for v in values):
        values = [int(v) for v in values]
        if 0 <= min(values) and max(values) < 255:
            return bytes(values), None
        if -(2**31) <= min(values) and max(values) < 2**31:
            return bytes(range(len(values))), Labels(values)
    elif all(isinstance(v, str) and "\0" not in v for v in values):
        return bytes(range(len(values))), Labels(values)
    raise _unsupported(f"labels {values[:3]}")


def _feature(names, at):
    """What a person calls a feature."""
    return f"feature {str(names[at])!r}" if names is not None else f"feature {at}"


def _store(rows, storage, names=None):
    """Rows as a flat array of the storage's type; names: of the features, for the error."""
    from acclimate.svm.data import storage_code
    from acclimate.svm.rows import RANGE

    code = storage_code(storage)
    if code == "f":
        return array("f", np.asarray(rows, np.float32).ravel().tolist()), code
    low, high = RANGE[code]
    bad = np.argwhere((rows != np.round(rows)) | (rows < low) | (rows > high))
    if len(bad):
        row, at = bad[0]
        raise ValueError(
            f"{_feature(names, at)}: storage {storage} takes whole numbers {low}..{high}, "
            f"got {rows[row, at]:g}: use float32"
        )
    return array(code, rows.astype(int).ravel().tolist()), code


def _machine(model, kernel, fitted, gamma=None, scaler=None, **kind):
    machine = SVM(
        kernel,
        C=1.0 if kind.get("kind") == "one-class" else float(getattr(fitted, "C", 1.0)),
        gamma=gamma,
        degree=getattr(fitted, "degree", 3),
        coef0=float(getattr(fitted, "coef0", 0.0)),
        scale=hasattr(scaler, "divisor"),
        state="float",
        **kind,
    )
    model.converged = not getattr(fitted, "fit_status_", 0)
    model.n_iter = int(np.sum(getattr(fitted, "n_iter_", 0)))
    machine._take(model, scaler)
    return machine


def _weights(w, bias, scaling, centred):
    """A pair of weights over rows as they come; with `centred` their offsets are gone already."""
    if scaling is not None:
        offset, divisor = scaling
        w = np.asarray(w) / divisor
        bias = bias if centred else bias - float(w @ offset)
    return Pair(None, None, 0.0, None, array("f", [0.0, float(bias), *map(float, w)]))


def _linear_model(classes, functions, scaling, storage):
    """(Model, scaler or None) of (weights, bias) for each pair."""
    d = len(functions[0][0])
    code = _store(np.zeros((1, d)), storage)[1]
    centre = None
    if code == "f" and scaling is not None and np.any(scaling[0]):
        centre = Centre("f", array("f", np.asarray(scaling[0], np.float32).tolist()))
        offset = np.array(centre.offset, float)  # what rounding leaves of it goes to the bias
        rest = scaling[0] - offset
        functions = [(w, b - float(w / scaling[1] @ rest)) for w, b in functions]
    model = Model(classes, d, LINEAR, code, 0, centre is not None)
    for w, bias in functions:
        model.pairs.append(_weights(w, bias, scaling, centre is not None))
    return model, centre


def _from_linear(fitted, scaling, storage):
    classes, answer = _labels(fitted.classes_)
    w, b = fitted.coef_, np.ravel(fitted.intercept_) * np.ones(len(fitted.coef_))
    if len(classes) == 2:
        functions = [(-w[0], -b[0])]
    else:
        functions = [(w[i] - w[j], b[i] - b[j]) for i, j in combinations(range(len(classes)), 2)]
    model, centre = _linear_model(classes, functions, scaling, storage)
    model.answer = answer
    if type(fitted).__name__ == "LogisticRegression":
        model.sigmoids = Sigmoids(array("f", [-1.0, 0.0] * len(functions)), len(classes) > 2)
    return _machine(model, "linear", fitted, None, centre)


def _from_kernel(fitted, scaling, storage):
    kernel = fitted.kernel
    if kernel not in _KERNELS:
        raise _unsupported(f"{type(fitted).__name__} with kernel {kernel!r}")
    if kernel == "poly" and not 1 <= fitted.degree <= 9:
        raise _unsupported(f"{type(fitted).__name__} with degree {fitted.degree}")
    if not isinstance(fitted.support_vectors_, np.ndarray):
        raise _unsupported(f"{type(fitted).__name__} fitted on sparse data")
    kind = {}
    classes, answer = CLASSES, None
    if type(fitted).__name__ == "SVC":
        classes, answer = _labels(fitted.classes_)
        pairs = _svc_pairs(fitted)
    else:
        beta, bias = fitted.dual_coef_[0], float(np.ravel(fitted.intercept_)[0])
        if type(fitted).__name__ == "OneClassSVM":
            kind, answer = {"kind": "one-class", "nu": float(fitted.nu)}, OneClass()
        else:
            kind = {"kind": "regression", "epsilon": float(fitted.epsilon)}
            answer, bias = Regression(1.0, array("f", [bias])[0]), 0.0
        pairs = [(np.arange(len(beta)), beta, bias)]
    rows = np.asarray(fitted.support_vectors_, dtype=float)
    if kernel == "linear":
        functions = [(beta @ rows[at], bias) for at, beta, bias in pairs]
        _check_rows(rows, scaling, storage, getattr(fitted, "feature_names_in_", None))
        model, scaler = _linear_model(classes, functions, scaling, storage)
        gamma = None
    else:
        model, scaler, gamma = _stored_model(fitted, classes, rows, pairs, scaling, storage)
    model.n_support = len(rows)
    model.answer = answer
    model.sigmoids = _platt(fitted, len(classes))
    return _machine(model, kernel, fitted, gamma, scaler, **kind)


def _check_rows(rows, scaling, storage, names):
    """Refuse a storage that does not hold what was trained on, though weights stand for it."""
    if scaling is not None:
        rows = np.round(rows * scaling[1] + scaling[0], 6)  # as they came, without rounding errors
    _store(rows, storage, names)


def _svc_pairs(fitted):
    """[(row numbers, coefficients, bias)] of each pair of classes."""
    # Two classes: scikit-learn turns the signs so that above 0 means the higher label.
    sign = -1.0 if len(fitted.classes_) == 2 else 1.0
    ends = np.concatenate(([0], np.cumsum(fitted.n_support_)))
    found = []
    for p, (i, j) in enumerate(combinations(range(len(fitted.classes_)), 2)):
        at = np.r_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
        first = fitted.dual_coef_[j - 1, ends[i] : ends[i + 1]]
        second = fitted.dual_coef_[i, ends[j] : ends[j + 1]]
        beta = sign * np.concatenate((first, second))
        found.append((at, beta, sign * float(fitted.intercept_[p])))
    return found


def _stored_model(fitted, classes, rows, pairs, scaling, storage):
    """(Model, scaler or None, gamma) of a kernel machine over its support vectors."""
    d = rows.shape[1]
    x, code = _store(rows, storage, getattr(fitted, "feature_names_in_", None))
    scaler = None
    if scaling is not None:
        if code != "f":
            raise _unsupported(f"a scaler before kernel {fitted.kernel} with storage {storage}")
        scaler = Scaler("f", *(array("f", map(float, part)) for part in scaling))
    kind = _KERNELS.index(fitted.kernel)
    gamma = float(fitted._gamma)
    numbers = array("f", bytes(4 * par.PAR_COUNT))
    cost = float(getattr(fitted, "C", 1.0))
    coef0, degree = float(fitted.coef0), int(fitted.degree)
    par.fill_float(numbers, d, CODES.index(code), kind, cost, cost, 1e-3, 1, gamma, coef0, degree)
    model = Model(classes, d, kind, code, 0, scaler is not None)
    model.x = x
    for at, beta, bias in pairs:
        used = beta != 0
        chosen, signed = array("h", at[used].tolist()), array("f", beta[used].tolist())
        model.pairs.append(Pair(chosen, signed, array("f", [bias])[0], numbers))
    return model, scaler, gamma


def _platt(fitted, classes):
    """Sigmoids of ``SVC(probability=True)``, or None."""
    if getattr(fitted, "probability", False) is not True:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these fields go away
        a, b = fitted.probA_, fitted.probB_
    b = -b if classes == 2 else b  # decision values of two classes have the other sign
    return Sigmoids(array("f", np.stack([a, b], 1).ravel().tolist()))
