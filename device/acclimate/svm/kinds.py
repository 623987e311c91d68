# SPDX-License-Identifier: MIT
"""Which kinds of machine there are beside classes: by name, and by the part of a model file."""

from acclimate.svm.oneclass import OneClass
from acclimate.svm.regression import Regression


def kind_of(m, kind):
    """The class of a kind, after what `m` was given is checked."""
    if kind not in ("one-class", "regression"):
        raise ValueError("kind: expected one-class, regression or None, got %r" % (kind,))
    if m.budget:
        raise ValueError("budget: expected 0 for kind=%r, got %s" % (kind, m.budget))
    if m.class_weight is not None:
        raise ValueError("class_weight: expected None for kind=%r, got one" % kind)
    found = OneClass if kind == "one-class" else Regression
    found.check(m)
    return found


def read(m, model, tag, numbers):
    """Answers of a kind, from the part of a model file."""
    kinds = {1: (OneClass, 2), 2: (Regression, 3)}
    kind, count = kinds.get(tag, (None, 0))
    if not kind or len(numbers) != count or len(model.pairs) != 1:
        raise ValueError("model file: expected a known part, got %d of %d" % (tag, len(numbers)))
    return kind.read(m, numbers)
