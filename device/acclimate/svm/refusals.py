# SPDX-License-Identifier: MIT
"""Errors for arguments that are no such thing at all; loaded only where one is raised."""


def expected(name, what, got):
    """The error of an argument: what was expected of it, and what came."""
    return ValueError("%s: expected %s, got %s" % (name, what, repr(got)[:40]))


def small(kernel, state, storage, scale, budget, kind):
    """State and storage of ``SVM(small=True)``, which has no choice of the rest."""
    given = kernel, state or "fixed", storage or "uint8", scale, budget, kind
    if given[:2] != ("linear", "fixed") or given[2] not in ("uint8", "int8") or any(given[3:]):
        raise ValueError(
            "small: expected kernel linear, state fixed, storage uint8 or int8, got %s" % (given,)
        )
    return given[1:3]
