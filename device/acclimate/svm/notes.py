# SPDX-License-Identifier: MIT
"""Texts for what the user should know before a trained machine is used."""


def text(kind, m, n, error=0.0, top=0.0, fixed=False):
    """Note about a pair of n rows, with the next step.

    :param int kind: 1 capped, 2 one class, 3 alone, 4 and 5 imprecise, as svm_fit.h numbers them
    :param float error: of an answer
    :param float top: largest answer; 5: how far answers lie apart
    """
    if kind == 1:
        return "max_iter: stopped after %d steps: scale features, lower C or raise max_iter" % (
            m.max_iter
        )
    if kind == 2:
        return "C: one class is answered for every row: raise C%s or use class_weight" % (
            "" if m.kernel_name == "linear" else " or gamma"
        )
    if kind == 3:
        return "gamma: %d rows are support vectors that know only themselves: lower gamma" % n
    return "C: answers may be off by %.2g of %.2g: lower C, use scale=True%s" % (
        error,
        top,
        " or state='float'" if fixed else "",
    )


def texts(m, notes, bearable):
    """Texts of the notes of native code, one of each kind; `bearable` as in `imprecise`."""
    found, kinds = [], []
    for kind, n, square, largest, top in notes:
        error = square**0.5 * largest * 2.0**-24
        if min(kind, 4) not in kinds and (kind != 4 or not error <= bearable):
            kinds.append(min(kind, 4))
            found.append(text(kind, m, n, error, top))
    return found
