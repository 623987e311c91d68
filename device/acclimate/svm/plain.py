# SPDX-License-Identifier: MIT
"""A training without options in one native object: the same model as `train` makes in pieces."""

from array import array

from acclimate._native import load
from acclimate.svm.model import CODES, KERNELS, LINEAR, Model, Pair

_ARRAYS = (array, "b", "B", "h", "f", "i")  # what native code makes its results with
_STORAGE = ("int8", "uint8", "int16", "float32")


def fitting():
    """The native module, an extra, or None."""
    return load("svm_fit")


def train(m, X, y):
    """Train `m`; False, with nothing changed, where only the way in pieces can or may complain."""
    core = fitting()
    if core is None or m._scale or m.budget or m.class_weight is not None or m._open:
        return False
    if m.arena is not None or m.gram is not None:
        return False
    kind = KERNELS.index(m.kernel_name)
    xtype = _STORAGE.index(m.storage) if m.storage else -1
    try:
        options = (kind, xtype, m.C, m.gamma, m.coef0, m.degree, m.tol, m.max_iter)
        run = core.fit(X, y, _ARRAYS, options)
        found = None
        while run and found is None:
            found = run()
    except (TypeError, ValueError, MemoryError):
        return False
    if not found:
        return False
    classes, d, xtype, x, pairs, n_iter, gap, converged, n_support, notes = found
    # A model of the same shape is filled anew: making one takes longer than a small training.
    model, code = m._model, CODES[xtype]
    if (
        not model
        or model.answer
        or model.sigmoids
        or model.shape != (classes, d, kind, code, 0, False, False)
    ):
        model = Model(classes, d, kind, code)
        for _ in pairs:
            model.pairs.append(Pair(None, None, 0, None))
    model.x = x
    p = 0
    for pair in model.pairs:
        if kind == LINEAR:
            pair.w, pair.bias, pair.rounded = pairs[p]
        else:
            pair.rows, pair.beta, pair.bias, pair.par = pairs[p]
        p += 1
    model.n_iter, model.gap = n_iter, gap
    model.converged, model.n_support = converged, n_support
    if notes:
        from acclimate.svm.collect import BEARABLE
        from acclimate.svm.notes import of_native, texts

        notes = texts(m, of_native(notes, BEARABLE[kind]), len(classes))
    if model is m._model:  # all that `_take` would change
        m.predict = m._native = m._call = model.native_call(m._predict, None)
        m.n_iter, m.gap = n_iter, gap
        m.converged, m.n_support = converged, n_support
    else:
        m._take(model, None)
    if notes or m.warning or m._job:
        m._tell(notes)
    return True
