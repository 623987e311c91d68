# SPDX-License-Identifier: MIT
"""Fitted models of scikit-learn: an `SVC` or `LinearSVC` as the device's SVM, an `MLPClassifier`
as a float network.

    >>> model = import_svm(SVC(kernel="rbf").fit(X, y), sample=X[:20])   # doctest: +SKIP
    20 rows, largest difference of decision values: 3.6e-07
    >>> model.save("m.svm")                                              # doctest: +SKIP

The file is then loaded on the board with ``SVM.load("m.svm")``. Two classes decide as in
scikit-learn; more as `SVC` with ``decision_function_shape="ovo"``, votes and ties included.
"""

import numpy as np

from .build import Builder
from .import_svm import import_svm, largest_difference, standard_scaling
from .importing import ModelImportError
from .network import Network, check_values

__all__ = ["import_mlp", "import_svm", "largest_difference"]

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
    mean, scale = standard_scaling(scaler, features)
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
