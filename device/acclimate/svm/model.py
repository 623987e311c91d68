# SPDX-License-Identifier: MIT
"""A trained machine: one decision function per pair of classes over a shared sample store.

All that a board needs to predict. The arithmetic is the native module's where it loads and
`acclimate.svm.solver`'s elsewhere, with the same results.
"""

from array import array
from math import floor

from acclimate._native import load

LINEAR, POLY, RBF = 0, 1, 2
KERNELS = ("linear", "poly", "rbf")
_BUFFERS = array, memoryview
CODES = "bBhf"  # array type codes in the order of the solver's storage types


def missing(extra):
    """The error of what needs a file that a plain install leaves out."""
    return ImportError("%s: a file is missing: acclimate install --with %s" % (extra, extra))


def _native_core():
    """The native solver module, or None."""
    return load("svm")


def python_core():
    """The solver in Python."""
    from acclimate.svm import solver

    return solver


def _can(core, fixed):
    """Ask a native module with a tiny row whether its build has this state."""
    if core is None:
        return False
    code = "i" if fixed else "f"
    par = array(code, (1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0))
    x = array("b", (0,))
    out = array(code, (0,))
    return core.decide(out, 0, out, array("h", (0,)), x, x, par, 0) >= 0


native = _native_core()
_cores = {}
_floats = None


def core_for(fixed):
    """The solver for the fixed or the float state: native where it loads and has that state."""
    if fixed not in _cores:
        core = native
        if native is not None and fixed and not _can(native, fixed):
            core = load("svm_q16")  # boards with an FPU have the fixed state in a file of its own
        _cores[fixed] = core if _can(core, fixed) else python_core()
    return _cores[fixed]


def has_floats():
    """True when the native module has the float state."""
    global _floats
    if _floats is None:
        _floats = _can(native, False)
    return _floats


def uses_fixed(state):
    """True when the state is fixed point: asked for, or all that the native module has."""
    if state is None:
        return native is not None and not has_floats()
    return state == "fixed"


def use(core):
    """Make `core` the native solver from now on (None: Python); for hosts and tests."""
    global native, _floats
    native = core
    _floats = None
    _cores.clear()


def integer_weights(w, d, code="b"):
    """Collapsed float weights as the integer row of the fixed state: `linear` is then integer.

    For rows of bytes of type `code`. Returns array("i"): shift, bias, int16 pairs; the decision
    is `linear` / 2**shift, rounded to 15 bits of the largest weight.
    """
    x_top = 255 if code == "B" else 128
    largest = total = 0.0
    for k in range(d):
        v = abs(w[2 + k])
        largest = max(largest, v)
        total += v
    shift = 0
    room = abs(w[1]) + total * x_top
    while shift < 40 and largest * 2.0 ** (shift + 1) < 32766 and room * 2.0**shift < 1 << 28:
        shift += 1
    while largest * 2.0**shift > 32766 or room * 2.0**shift > 1 << 29:
        shift -= 1
    q = array("i", bytes(4 * (2 + (d + 1) // 2)))
    q[0] = shift
    q[1] = _nearest(w[1] * 2.0**shift)
    for k in range(d):
        v = _nearest(w[2 + k] * 2.0**shift)
        if k & 1:
            q[2 + (k >> 1)] = (q[2 + (k >> 1)] & 0xFFFF) | (v << 16)
        else:
            q[2 + (k >> 1)] = v & 0xFFFF
    return q


def _nearest(v):
    """Whole number nearest to v, a half up: without a sum that float32 would round."""
    whole = floor(v)
    return whole + (v - whole >= 0.5)


class Pair:
    """Decision function of one pair: `w` (linear), or rows of the store with signed alphas."""

    def __init__(self, rows, beta, bias, par, w=None):
        self.rows = rows
        self.beta = beta
        self.bias = bias
        self.par = par
        self.w = w
        self.rounded = None  # linear over bytes: the weights as integers


class Model:
    """Decision functions of all pairs (i, j), i < j, over `classes` (sorted labels).

    A row enters in the units of the store: the caller's numbers times 2 ** shift. `scaled` says
    that a scaler in front does that already.
    """

    _known = None  # the latest buffer of real numbers

    def __init__(self, classes, d, kind, code, shift=0, scaled=False, fixed=False):
        self.shape = (classes, d, kind, code, shift, scaled, fixed)
        self.classes = classes
        self.d = d
        self.kind = kind
        self.code = code
        self.shift = shift
        self.scaled = scaled
        self.fixed = fixed
        self.x = None
        self.pairs = []
        self.answer = None  # what makes an answer of a class number or value, where it is no label
        self.sigmoids = None  # what makes probabilities of decision values, after calibrate()
        self.n_iter = self.n_support = 0
        self.gap = 0.0
        self.converged = False
        k = len(classes)
        self.core = core_for(fixed)
        self._xtype = CODES.index(code)
        self._row = array(code, bytes(d * (1, 1, 2, 4)[self._xtype]))
        self._rounded = not fixed and kind == LINEAR and code in "bB"
        self._whole = fixed or self._rounded  # raw decision values are integers
        self._out = array("i" if self._whole else "f", bytes(2 * k * (k - 1)))

    def settle(self):
        """Make ready to predict: rows of bytes are weighed in integers, on every runtime alike."""
        if self._rounded:
            for pair in self.pairs:
                if pair.rounded is None:
                    pair.rounded = integer_weights(pair.w, self.d, self.code)

    def native_call(self, slow, scaler):
        """What answers a row in one native call, or None; `slow` is called where that cannot."""
        make = getattr(self.core, "model", None)
        offset = None
        if scaler is not None:
            offset = getattr(scaler, "offset", None) if self.code == "f" else None
            if offset is None or hasattr(scaler, "divisor"):
                return None
        if make is None or self.shift:
            return None
        x = None if self.kind == LINEAR else self.x
        whole = 1 if self._whole else 0
        head = (self.d, self._xtype, whole, self.classes, self._out, self._row, offset, x)
        if self.kind == LINEAR:
            return make(slow, head, [pair.rounded or pair.w for pair in self.pairs])
        parts = []
        for pair in self.pairs:
            bias = array("i" if self.fixed else "f", (pair.bias,))
            parts.extend((pair.beta, pair.rows, pair.par, bias))
        return make(slow, head, parts)

    def _enter(self, row):
        """`row` as the solver takes it: as it is when its type is right, or a checked copy."""
        try:
            count = len(row)
        except TypeError:
            from acclimate.svm.rows import no_numbers

            raise no_numbers(row) from None
        if count != self.d:
            raise ValueError("row: expected %d features, got %d" % (self.d, count))
        if self.scaled:
            return row
        kind = type(row)
        if not self.shift:
            if kind is bytearray or kind is bytes:
                if self.code == "B":
                    return row
            elif kind is array or kind is memoryview:
                # MicroPython does not tell the type; the native module checks the size.
                have = getattr(row, "typecode", None) or getattr(row, "format", None)
                if have == self.code or (have is None and self._holds(row)):
                    return row
        return self._copy(row)

    def _holds(self, row):
        """Whether the numbers of an array of unknown type are those of the store's type."""
        code = self.code
        if code == "f" and row is self._known:  # a look at a real number would allocate
            return True
        if isinstance(row[0], float):
            self._known = row
            return code == "f"
        top = 127 if code == "b" else 255 if code == "B" else 32767
        return code != "f" and max(row) <= top and min(row) >= (0 if top == 255 else ~top)

    def _copy(self, row):
        """`row`, checked, in a buffer of the store's type that the next call reuses."""
        from acclimate.svm.rows import store_into  # only rows of another type need it

        store_into(self._row, 0, row, self.code, 0 if self.scaled else self.shift)
        return self._row

    def values(self, row):
        """Raw decision values of all pairs, in a buffer that the next call reuses."""
        return self.values_into(self._out, self._enter(row))

    def values_into(self, out, row):
        """Decision values of all pairs for a row that is in the units and of the type of the
        store already: numbers whose margin is 1 where `out` is ``array("f")``, else raw ones.
        """
        p = 0
        for pair in self.pairs:
            self._decide(out, p, pair, row)
            p += 1
        return out

    def _decide(self, out, p, pair, row):
        """out[p] = decision value of a pair: a real number where `out` holds such."""
        core = self.core
        if pair.w is None:
            bad = core.decide(out, p, pair.beta, pair.rows, self.x, row, pair.par, pair.bias)
        else:
            w = pair.w if pair.rounded is None else pair.rounded
            bad = core.linear(out, p, w, row, self._xtype)
        if not bad:
            return
        if bad > 0:
            raise ValueError("row: expected finite numbers, got others or too large")
        if bad == -2 and row is not self._row:
            return self._decide(out, p, pair, self._copy(row))  # items of another size
        raise ValueError(
            "row: expected %d items of type '%s', got others (status %d)"
            % (self.d, self.code, bad)
        )

    def decision(self, row, out=None):
        """Values with the signs of scikit-learn; see `SVM.decision`."""
        count = len(self.pairs)
        to = array("f", bytes(4 * count)) if out is None else out
        try:
            if len(to) < count or not isinstance(to, _BUFFERS):
                raise TypeError
            to[0] = 0.5  # which only what holds real numbers takes
        except (TypeError, ValueError):
            from acclimate.svm.refusals import expected

            raise expected("out", "array('f') of %d" % count, out) from None
        self.values_into(to, self._enter(row))
        if count > 1:
            return to
        self.core.vote(to, -1)  # scikit-learn's sign for two classes, without a float object
        return to[0] if out is None else to

    def predict(self, row):
        """Label with most votes; the lowest label wins a tie (the rule of libsvm)."""
        out = self.values(row)
        if self._whole and len(self.classes) == 2:
            return self.classes[0 if out[0] > 0 else 1]
        return self.classes[self.core.vote(out, len(self.classes))]
