# SPDX-License-Identifier: MIT
"""Finds what does a plain training at once: an extra, which a board may not have."""

from acclimate.svm.model import has_floats

_found = None  # False: it was looked for in vain


def plain():
    """`plain.train`, or None; with a solver in Python there is none, either."""
    global _found
    if not has_floats():
        return None
    if _found is None:
        try:
            from acclimate.svm.plain import fitting, train

            _found = fitting is not None and train
        except ImportError:
            _found = False
    return _found
