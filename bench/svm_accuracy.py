# SPDX-License-Identifier: MIT
"""Accuracy of the device's SVM beside scikit-learn's `SVC` on four public data sets.

`python -m bench.svm_accuracy` writes out/bench/svm_accuracy.json; `table()` is for others.
Rows are split 70/30 by a fixed permutation. Wine and breast cancer are standardised, iris is
in whole millimetres, digits are whole numbers 0..16.
"""

import sys

import numpy as np

from bench import common

KERNELS = {
    "linear": {},
    "rbf": {},
    "poly": {"degree": 3, "coef0": 1.0},
}
NAMES = ("iris", "wine", "breast_cancer", "digits")


def use_twin():
    """Train with the C core when it is built; return the name of what is used."""
    from acclimate.svm import model as svm_model
    from acclimate_host.twin import svm as twin_svm

    svm_model.use(twin_svm.load())
    return "python" if svm_model.native is None else "c"


def data(name):
    """(training rows, labels, test rows, labels) of one data set."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, "load_" + name)(return_X_y=True)
    order = np.random.default_rng(42).permutation(len(y))
    X, y = X[order], y[order]
    cut = int(0.7 * len(y))
    if name == "iris":
        X = np.round(X * 10)
    elif name != "digits":
        X = StandardScaler().fit(X[:cut]).transform(X)
    return X[:cut], y[:cut], X[cut:], y[cut:]


def plain(X):
    """Rows for the device: whole numbers in the smallest type, else float32."""
    from array import array

    X = np.asarray(X)
    if (X == np.round(X)).all():
        return bytearray(X.astype(np.uint8).tobytes())
    return array("f", X.astype(np.float32).ravel().tolist())


def one(name, kernel, state="float", C=1.0):
    """Accuracies of both on one data set with one kernel, and the labels they agree on."""
    from sklearn.svm import SVC

    from acclimate.svm import SVM

    X, y, test, truth = data(name)
    theirs = SVC(kernel=kernel, C=C, **KERNELS[kernel]).fit(X, y)
    gamma = None if kernel == "linear" else float(theirs._gamma)
    ours = SVM(kernel=kernel, C=C, gamma=gamma, state=state, **KERNELS[kernel])
    ours.fit(plain(X), y.tolist())
    flat = plain(test)
    d = X.shape[1]
    labels = np.array([ours.predict(flat[i * d : i * d + d]) for i in range(len(truth))])
    want = theirs.predict(test)
    return {
        "accuracy": float((labels == truth).mean()),
        "scikit_learn": float((want == truth).mean()),
        "agree": float((labels == want).mean()),
        "test_rows": len(truth),
        "support": ours.n_support,
        "converged": ours.converged,
    }


def table(names=NAMES, kernels=tuple(KERNELS), state="float"):
    """{data set: {kernel: result of `one`}}."""
    return {name: {kernel: one(name, kernel, state) for kernel in kernels} for name in names}


def summary():
    """`table` of the float state with the core in use and the smallest share of same labels."""
    core = use_twin()
    result = table()
    same = min(r["agree"] for kernels in result.values() for r in kernels.values())
    return {"core": core, "same_labels": same, **result}


def main():
    core = use_twin()
    result = {"core": core, "float": table(), "fixed": table(("iris", "digits"), state="fixed")}
    for state in ("float", "fixed"):
        print(f"{state} state ({core} core)      device  scikit-learn  same labels  vectors")
        for name, kernels in result[state].items():
            for kernel, r in kernels.items():
                print(
                    f"  {name:14} {kernel:8} {r['accuracy']:9.4f} {r['scikit_learn']:13.4f}"
                    f" {r['agree']:12.4f} {r['support']:8d}"
                )
    common.write("svm_accuracy", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
