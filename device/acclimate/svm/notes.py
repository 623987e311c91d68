# SPDX-License-Identifier: MIT
"""Texts for what the user should know before a trained machine is used."""


def text(kind, m, n, square=0.0, unit=0.0, top=0.0, fixed=False, share=1.0):
    """Note about a pair of n rows, with the next step; None where all is well.

    :param int kind: 1 capped, 2 one class, 3 alone, 4 imprecise, as svm_fit.h numbers them
    :param float square: sum of the squared coefficients
    :param float unit: error of a kernel value
    :param float top: largest answer
    :param float share: of the error that is bearable where a label is asked for
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
    error = square**0.5 * unit
    if error <= (0.0075 if m.kernel_name == "poly" else 0.01) * top * share:  # a power's add up
        return None
    return "C: answers may be off by %.2g of %.2g: lower C, use scale=True%s" % (
        error,
        top,
        " or state='float'" if fixed else "",
    )


def texts(m, notes):
    """Texts of the notes of native code, one of each kind."""
    found, kinds = [], []
    for kind, n, square, largest, top in notes:
        one = text(kind, m, n, square, largest * 2.0**-24, top)
        if one and kind not in kinds:
            kinds.append(kind)
            found.append(one)
    return found
