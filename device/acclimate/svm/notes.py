# SPDX-License-Identifier: MIT
"""Texts for what the user should know before a trained machine is used."""


def text(kind, m, n, error=0.0, top=0.0, fixed=False):
    """Note about a pair of n rows, with the next step.

    :param int kind: 1 capped, 2 one class, 3 alone, 4 imprecise
    :param float error: of an answer
    :param float top: largest answer, or how far answers lie apart
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


def texts(m, notes, classes, fixed=False):
    """Texts of the notes of all pairs, one of each kind.

    :param notes: (kind, rows, error, top) of each pair that has one; of one class: its number
    """
    found, kinds = [], []
    for kind, n, error, top in notes:
        same = len([1 for other in notes if other[0] == kind and other[3] == top])
        if kind == 2:  # a label that another one always beats: the others are told apart
            same -= classes - 2
        elif kind == 3:
            same -= classes * (classes - 1) // 2 - 1
        if same > 0 and kind not in kinds and (kind < 4 or 2 not in kinds):
            kinds.append(kind)
            found.append(text(kind, m, n, error, top, fixed))
    return found


def of_native(notes, bearable):
    """The same notes from those of native code; `bearable` as in `single.imprecise`."""
    found = []
    for kind, n, square, largest, top, only in notes:
        error = square**0.5 * largest * 2.0**-24
        if only >= 0:
            found.append((2, n, 0, only))
        if kind and (kind != 4 or not error <= bearable):
            found.append((min(kind, 4), n, error, top))
    return found
