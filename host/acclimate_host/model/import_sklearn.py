# SPDX-License-Identifier: MIT
"""Fitted models of scikit-learn: an `SVC` or `LinearSVC` as the device's SVM, an `MLPClassifier`
as a float network.

    >>> model = import_svm(SVC(kernel="rbf").fit(X, y), sample=X[:20])   # doctest: +SKIP
    20 rows, largest difference of decision values: 3.6e-07
    >>> model.save("m.svm")                                              # doctest: +SKIP

The file is then loaded on the board with ``SVM.load("m.svm")``. Two classes decide as in
scikit-learn; more as `SVC` with ``decision_function_shape="ovo"``, votes and ties included.
"""

from array import array

import numpy as np

from acclimate.svm import SVM
from acclimate.svm import parameters as par
from acclimate.svm.model import CODES, LINEAR, Model, Pair

from .build import Builder
from .importing import ModelImportError
from .network import Network, check_values

_ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid", "identity": None}

# Factors of features that differ by more than this would cost a shared int8 scale too much.
_FOLDED_RATIO = 8.0


def import_mlp(model, name="mlp"):
    """Return the float Network of a fitted MLPClassifier, or of a pipeline that ends with one.

    The input has shape (features, 1, 1). A binary classifier, which has one output z, gets the
    two outputs 0 and z: their softmax is the probability that scikit-learn gives. A scaler is
    folded into the first layer, or becomes a layer of its own where its factors differ much.

    :raises ModelImportError: for other estimators, one that is not fitted, or labels that are
        not 0, 1, 2 and on: the board answers with the number of the output
    """
    scaler, model = _split(model)
    if not hasattr(model, "coefs_"):
        raise ModelImportError("model: expected a fitted MLPClassifier; call fit first")
    _check_labels(model.classes_)
    weights = [np.asarray(w, np.float64).T for w in model.coefs_]
    biases = [np.asarray(b, np.float64) for b in model.intercepts_]
    scaling = _scaling(scaler, weights[0].shape[1])
    if scaling is not None and scaling[0].max() <= _FOLDED_RATIO * scaling[0].min():
        biases[0] = biases[0] + weights[0] @ scaling[1]
        weights[0], scaling = weights[0] * scaling[0], None
    notes = _as_classes(model, weights, biases)
    return _built(name, model.activation, scaling, weights, biases, notes)


def _check_labels(classes):
    """Refuse labels that are not what the board answers: the numbers 0, 1, 2 and on."""
    classes = np.asarray(classes)
    numbers = classes.dtype.kind in "biuf"
    if not numbers or classes.tolist() != list(range(len(classes))):
        shown = ", ".join(map(str, classes.tolist()[:6]))
        raise ModelImportError(
            f"model: labels {shown}: the board answers 0 to {len(classes) - 1}; fit on these "
            "numbers (sklearn.preprocessing.LabelEncoder) and keep the encoder"
        )


def _split(model):
    """Return (scaler or None, classifier)."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    kinds = [type(step).__name__ for step in steps]
    if kinds[-1] != "MLPClassifier" or kinds[:-1] not in ([], ["StandardScaler"]):
        raise ModelImportError(
            f"model: expected MLPClassifier, with or without StandardScaler in front, "
            f"got {' + '.join(kinds)}"
        )
    return (steps[0] if len(steps) > 1 else None), steps[-1]


def _scaling(scaler, features):
    """Return (factors, shifts) of the features, or None without a scaler."""
    if scaler is None:
        return None
    scale = np.ones(features) if scaler.scale_ is None else scaler.scale_
    mean = np.zeros(features) if scaler.mean_ is None else scaler.mean_
    return 1 / scale, -mean / scale


def _as_classes(model, weights, biases):
    """Change the last layer to one output per class; return notes."""
    if model.out_activation_ == "softmax":
        return ()
    if len(model.classes_) != 2:
        raise ModelImportError("model: expected one label per sample, got several outputs")
    weights[-1] = np.vstack([np.zeros_like(weights[-1]), weights[-1]])
    biases[-1] = np.concatenate([[0.0], biases[-1]])
    return ("one output made two: 0 and z",)


def _built(name, activation, scaling, weights, biases, notes):
    features = weights[0].shape[1]
    build = Builder(name, (features, 1, 1))
    y, values = build.x, {}
    if scaling is not None:
        y = build.conv("scaler", y, features, 1, 1, features, False, 0)
        values["scaler.w"] = scaling[0][:, None, None, None].astype(np.float32)
        values["scaler.b"] = scaling[1].astype(np.float32)
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        layer = f"fc{i}"
        y = build.dense(layer, y, len(weight))
        values[layer + ".w"] = weight[:, :, None, None].astype(np.float32)
        values[layer + ".b"] = bias.astype(np.float32)
        function = _ACTIVATIONS[activation]
        if i == len(weights) - 1 or function is None:
            continue
        if function == "relu":
            build.clamp(y)
        else:
            y = build.lookup(f"t{i}", y, function)
    network = Network(build.finish(y), values, notes)
    check_values(network)
    return network


SUPPORTED = (
    "SVC with kernel linear, poly or rbf; LinearSVC with two classes; "
    "labels 0..254; class weights; any C, gamma, coef0; degree 1..9; dense data"
)


def _unsupported(what):
    return ModelImportError(f"model: expected {SUPPORTED}; got {what}")


def import_svm(fitted, sample=None, storage="float32", report=print):
    """Return an `acclimate.svm.SVM` that decides like `fitted`.

    :param fitted: fitted `SVC` or `LinearSVC`
    :param sample: rows on which both are compared; None: no comparison
    :param str storage: ``"float32"``, or an integer storage when all support vectors are whole
        numbers inside its range (smaller, and what integer rows on the board need)
    :param report: called with one line about the comparison
    :raises ModelImportError: not fitted, or of a kind that the text does not list
    :raises ValueError: support vectors that do not fit `storage`
    """
    kind = type(fitted).__name__
    if kind not in ("SVC", "LinearSVC"):
        raise _unsupported(kind)
    if not hasattr(fitted, "classes_"):
        raise ModelImportError("model: expected a fitted model, got one without classes_")
    classes = _labels(fitted.classes_)
    machine = (
        _from_svc(fitted, classes, storage)
        if kind == "SVC"
        else _from_linear(fitted, classes, storage)
    )
    if sample is not None:
        difference = largest_difference(fitted, machine, sample)
        report(f"{len(sample)} rows, largest difference of decision values: {difference:.1e}")
    return machine


def largest_difference(fitted, machine, sample):
    """Largest absolute difference of decision values over rows and pairs."""
    sample = np.asarray(sample)
    shape = getattr(fitted, "decision_function_shape", None)
    if shape == "ovr" and len(fitted.classes_) > 2:
        fitted.decision_function_shape = "ovo"
    try:
        want = fitted.decision_function(sample)
    finally:
        if shape is not None:
            fitted.decision_function_shape = shape
    got = np.array([machine.decision(_plain(row)) for row in sample])
    return float(np.abs(np.reshape(want, got.shape) - got).max())


def _plain(row):
    """A row as Python numbers, whole ones as int."""
    return [int(v) if v == int(v) else float(v) for v in row]


def _labels(classes):
    numbers = np.issubdtype(classes.dtype, np.number) and np.all(classes == np.round(classes))
    if not numbers:
        raise _unsupported(f"labels {list(classes)[:3]}")
    if min(classes) < 0 or max(classes) > 254 or len(classes) < 2:
        raise _unsupported(f"{len(classes)} labels {min(classes)}..{max(classes)}")
    return bytes(int(c) for c in classes)


def _feature(names, at):
    """What a person calls a feature."""
    return f"feature {str(names[at])!r}" if names is not None else f"feature {at}"


def _store(rows, storage, names=None):
    """Rows as a flat array of the storage's type; names: of the features, for the error."""
    from acclimate.svm.data import storage_code
    from acclimate.svm.parameters import RANGE

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


def _machine(model, kernel, fitted, gamma):
    machine = SVM(
        kernel,
        C=float(fitted.C),
        gamma=gamma,
        degree=getattr(fitted, "degree", 3),
        coef0=float(getattr(fitted, "coef0", 0.0)),
        state="float",
    )
    model.converged = not getattr(fitted, "fit_status_", 0)
    model.n_iter = int(np.sum(fitted.n_iter_))
    machine._take(model, None)
    return machine


def _weights(w, bias):
    return Pair(None, None, 0.0, None, array("f", [0.0, float(bias), *map(float, w)]))


def _from_linear(fitted, classes, storage):
    if len(classes) > 2:
        raise _unsupported(
            f"LinearSVC with {len(classes)} classes, one against the rest: fit a linear SVC"
        )
    d = fitted.coef_.shape[1]
    model = Model(classes, d, LINEAR, _store(np.zeros((1, d)), storage)[1])
    model.pairs.append(_weights(-fitted.coef_[0], -float(np.ravel(fitted.intercept_)[0])))
    return _machine(model, "linear", fitted, None)


def _from_svc(fitted, classes, storage):
    kernel = fitted.kernel
    if kernel not in ("linear", "poly", "rbf"):
        raise _unsupported(f"SVC with kernel {kernel!r}")
    if kernel == "poly" and not 1 <= fitted.degree <= 9:
        raise _unsupported(f"SVC with degree {fitted.degree}")
    if not isinstance(fitted.support_vectors_, np.ndarray):
        raise _unsupported("SVC fitted on sparse data")
    rows = np.asarray(fitted.support_vectors_, dtype=float)
    n, d = rows.shape
    x, code = _store(rows, storage, getattr(fitted, "feature_names_in_", None))
    kind = ("linear", "poly", "rbf").index(kernel)
    model = Model(classes, d, kind, code)
    model.n_support = n
    gamma = float(fitted._gamma)
    numbers = array("f", bytes(4 * par.PAR_COUNT))
    par.fill_float(
        numbers,
        d,
        CODES.index(code),
        kind,
        fitted.C,
        fitted.C,
        1e-3,
        1,
        gamma,
        float(fitted.coef0),
        int(fitted.degree),
    )
    # Two classes: scikit-learn turns the signs so that above 0 means the higher label.
    sign = -1.0 if len(classes) == 2 else 1.0
    ends = np.concatenate(([0], np.cumsum(fitted.n_support_)))
    p = 0
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            at = np.r_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
            first = fitted.dual_coef_[j - 1, ends[i] : ends[i + 1]]
            second = fitted.dual_coef_[i, ends[j] : ends[j + 1]]
            beta = sign * np.concatenate((first, second))
            bias = sign * float(fitted.intercept_[p])
            if kind == LINEAR:
                model.pairs.append(_weights(beta @ rows[at], bias))
            else:
                used = beta != 0
                model.pairs.append(
                    Pair(
                        array("h", at[used].tolist()),
                        array("f", beta[used].tolist()),
                        array("f", [bias])[0],
                        numbers,
                    )
                )
            p += 1
    model.x = None if kind == LINEAR else x
    return _machine(model, kernel, fitted, None if kind == LINEAR else gamma)
