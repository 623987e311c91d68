# SPDX-License-Identifier: MIT
"""The native solver of boards in the page: the same C, as WebAssembly over this memory.

Stands in for the native module `_svm`. JavaScript gives the functions as `js.acclimateCore`.
"""

from array import array

from js import acclimateCore as core
from uctypes import addressof

from acclimate import _native

_BYTES = (1, 1, 2, 4)  # of an item, by storage type
_XTYPE = 1  # its place in `par`

work_words = core.work_words
_start, _step, _collapse = core.start, core.step, core.collapse
_decide, _linear, _vote = core.decide, core.linear, core.vote
_bias = (array("i", [0]), array("f", [0]))
_bias_at = tuple(addressof(part) for part in _bias)


def _words(work):
    """Words of a solver's state: an array of them, or bytes."""
    return len(work) if isinstance(work, array) else len(work) >> 2


def _problem(work, X, rows, par):
    return (
        addressof(work),
        _words(work),
        addressof(X),
        len(X) * _BYTES[int(par[_XTYPE])],
        addressof(rows),
        len(rows),
        addressof(par),
        isinstance(par[0], float),
    )


def start(work, X, rows, par):
    return _start(*_problem(work, X, rows, par))


def step(work, X, rows, par, iterations):
    return _step(*_problem(work, X, rows, par), iterations)


def collapse(w, work, X, rows, par):
    return _collapse(*_problem(work, X, rows, par), addressof(w), 4 * len(w))


def decide(out, pos, beta, rows, X, x, par, bias):
    real = isinstance(par[0], float)
    _bias[real][0] = bias
    item = _BYTES[int(par[_XTYPE])]
    return _decide(
        addressof(beta),
        len(beta),
        addressof(X),
        len(X) * item,
        addressof(rows),
        len(rows),
        addressof(par),
        real,
        addressof(x),
        len(x) * item,
        _bias_at[real],
        addressof(out) + 4 * pos,
        isinstance(out[pos], float),
    )


def linear(out, pos, w, x, xtype):
    is_float = isinstance(w[0], float) + 2 * isinstance(out[pos], float)
    return _linear(
        addressof(w),
        4 * len(w),
        addressof(x),
        len(x) * _BYTES[xtype],
        xtype,
        is_float,
        addressof(out) + 4 * pos,
    )


def vote(out, classes):
    return _vote(addressof(out), classes)


def field(machine, box, out):
    """Decision values of a machine over float32 rows of two numbers, for a grid of points.

    :param box: ``array("f")``: x, y of the first point, the two steps, columns, lines
    :param out: ``array("f")`` that takes the grid of each pair of classes in turn; above 0 is a
        vote for the first class of a pair
    """
    model = machine._model
    if machine.scaler is not None:
        first = machine.scaler.row(box[:2])
        box = array("f", [first[0], first[1], box[2], box[3], box[4], box[5]])
    size = int(box[4]) * int(box[5])
    for p, pair in enumerate(model.pairs):
        at = addressof(out) + 4 * p * size
        if pair.w is not None:
            core.field_linear(addressof(pair.w), 4 * len(pair.w), addressof(box), at)
            continue
        _bias[1][0] = pair.bias
        problem = _problem(pair.beta, model.x, pair.rows, pair.par)
        core.field(*problem, _bias_at[1], addressof(box), at)


class _Module:
    """What `acclimate._native.load` gives: the functions above."""


for _name in ("work_words", "start", "step", "collapse", "decide", "linear", "vote"):
    setattr(_Module, _name, staticmethod(globals()[_name]))
_native.register("svm", _Module, "WebAssembly")
