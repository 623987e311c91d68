# SPDX-License-Identifier: MIT
"""Support vector machines that are trained, evaluated and used on the board.

>>> from acclimate.svm import SVM
>>> X = [[20, 0], [22, 1], [25, 0], [60, 9], [64, 8], [70, 9]]  # temperature, vibration
>>> y = [0, 0, 0, 1, 1, 1]  # 0 fine, 1 worn
>>> model = SVM(kernel="linear", C=1)
>>> model.fit(X, y)
SVM(linear, C=1): 2 classes, 2 features, 2 support vectors, 3 steps, converged
>>> model.predict([24, 1]), model.predict([66, 9])
(0, 1)
"""

from acclimate import _face

_NAMES = {
    "SVM": "acclimate.svm.machine",
    "PassiveAggressive": "acclimate.svm.online",
}


def __getattr__(name, load=_face("acclimate.svm", _NAMES)):  # noqa: B008  made once
    """A public name at its first use; where the large machine is not installed, `SVM` is small."""
    try:
        return load(name)
    except (ImportError, AttributeError):  # of a frozen face, which is no package
        if name != "SVM":
            raise
        from acclimate.svm.small import SVM as found

        return found
