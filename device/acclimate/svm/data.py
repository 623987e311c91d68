# SPDX-License-Identifier: MIT
"""Check training data and bring it into one flat buffer of the smallest fitting type.

Imported only while a model is being trained. A flat buffer whose items
already have the wanted type is used in place, so 5 KB of samples stay 5 KB. What takes long
is a generator that yields in between and returns its result.
"""

from array import array
from math import floor

from acclimate.svm.model import native
from acclimate.svm.rows import F32_MAX, PIECE, RANGE, rows_at_once, store_into

_CODE = {"uint8": "B", "int8": "b", "int16": "h", "float32": "f"}
_FAR = 16  # middles of features, squared, against their spans: from here on rows are moved


_store = getattr(native, "store", None)  # without them the same is done in Python
_widen = getattr(native, "widen", None)


def storage_code(name):
    """Array type code of a storage name; `ValueError` for a name that is not known."""
    try:
        return _CODE[name]
    except (KeyError, TypeError):
        raise ValueError(
            "storage: expected uint8, int8, int16 or float32, got " + repr(name)
        ) from None


def plain_labels(y):
    """False when `y` has labels that no byte holds: texts, or numbers outside 0..254."""
    try:
        if isinstance(y, (bytes, bytearray)) or not len(y):
            return True
    except TypeError:
        raise ValueError("y: expected a label for each row, got %r" % (y,)) from None
    try:
        return 0 <= min(y) and max(y) < 255
    except TypeError:
        return False


def classes_of(y):
    """Sorted distinct labels of `y` as bytes (labels: whole numbers 0..254), in pieces."""
    if isinstance(y, (bytes, bytearray)) and len(y) and max(y) < 255:
        classes = bytes(sorted(set(y)))  # a byte is a whole number
        yield
        return _at_least_two(classes)
    seen = bytearray(255)
    for i in range(len(y)):
        v = y[i]
        if isinstance(v, str) or not (0 <= v < 255) or v != int(v):
            raise ValueError("y[%d]: expected a label 0..254, got %s (--with labels)" % (i, v))
        seen[int(v)] = 1
        if not (i + 1) % PIECE:
            yield
    return _at_least_two(bytes(c for c in range(255) if seen[c]))


def _at_least_two(classes):
    if len(classes) < 2:
        raise ValueError("y: expected at least 2 classes, got %d" % len(classes))
    return classes


def shape_of(X, y, name="y"):
    """(rows, features, flat?) of `X`, which is a list of rows or a flat buffer.

    :param str name: what errors call `y`
    """
    try:
        n = len(y)
        total = len(X)
    except TypeError:
        raise ValueError("X, %s: expected rows and labels, got %r, %r" % (name, X, y)) from None
    if not n or not total:
        raise ValueError("X, %s: expected at least 2 rows, got %d and %d" % (name, total, n))
    flat = False
    try:
        d = len(X[0])
    except TypeError:
        flat = True
    if not flat:
        if total != n:
            counts = name, total, total, n
            raise ValueError("%s: expected %d labels for %d rows, got %d" % counts)
        if not d:
            raise ValueError("X row 0: expected at least 1 feature, got 0")
    else:
        d = total // n
        if d * n != total:
            raise ValueError("X: expected a multiple of %d items, got %d" % (n, total))
    if n > 65535 or d > 65535:
        raise ValueError("X: expected at most 65535 rows and features, got %d, %d" % (n, d))
    return n, d, flat


def check_row(row, i, d):
    """(min, max, whole numbers?) of one row; `ValueError` names the row."""
    try:
        if len(row) != d:
            raise ValueError("X row %d: expected %d features, got %d" % (i, d, len(row)))
        total = sum(row)
        whole = isinstance(total, int)
        if not whole:
            # A sum is finite unless an item is not, or it overflowed: look closer only then.
            if total - total != 0:
                for v in row:
                    if not -F32_MAX <= v <= F32_MAX:  # nor is what is no number
                        raise ValueError("X row %d: expected finite numbers, got %s" % (i, v))
            whole = True
            for v in row:
                if v != int(v):
                    whole = False
                    break
        lo = min(row)
        hi = max(row)
    except TypeError:
        raise ValueError("X row %d: expected numbers, got %s" % (i, repr(row)[:20])) from None
    if not -F32_MAX <= lo <= hi <= F32_MAX:
        raise ValueError("X row %d: expected float32 range, got %s..%s" % (i, lo, hi))
    return lo, hi, whole


def scan(X, n, d, flat):
    """(min, max, whole numbers?, (least, largest of each feature) or None), in pieces."""
    lo = hi = None
    if flat and not isinstance(X, (list, tuple)) and isinstance(X[0], int):
        for at in range(0, n * d, 8 * PIECE):  # a buffer of integers holds nothing else
            part = X[at : at + 8 * PIECE]
            lo = min(part) if lo is None else min(lo, min(part))
            hi = max(part) if hi is None else max(hi, max(part))
            yield
        return lo, hi, True, None
    whole = True
    pause = rows_at_once(d)
    spans = _Spans(d) if _widen is not None else None
    for i in range(n):
        row = X[i * d : i * d + d] if flat else X[i]
        w = -1 if spans is None else spans.take(row)
        if w < 0:
            if spans is not None:  # something to say about this row, or beyond the native code
                lo, hi = spans.limits(lo, hi)
                spans = None
            a, b, w = check_row(row, i, d)
            lo = a if lo is None or a < lo else lo
            hi = b if hi is None or b > hi else hi
        whole = whole and w
        if not (i + 1) % pause:
            yield
    if spans is not None:
        lo, hi = spans.limits(lo, hi)
        low, high = spans.low, spans.high
        if whole:
            lo, hi = int(lo), int(hi)
            low, high = [int(v) for v in low], [int(v) for v in high]
        return lo, hi, bool(whole), (low, high)
    return lo, hi, bool(whole), None


class _Spans:
    """Least and largest value of each feature, by native code."""

    def __init__(self, d):
        self.low = array("f", (F32_MAX for _ in range(d)))
        self.high = array("f", (-F32_MAX for _ in range(d)))
        self._row = array("f", bytes(4 * d))

    def take(self, row):
        """1: whole numbers, 0: real ones, -1: look yourself."""
        try:
            return _widen(self.low, self.high, row, self._row)
        except TypeError:  # no numbers
            return -1

    def limits(self, lo, hi):
        """Least and largest of all, when any row was taken."""
        a, b = min(self.low), max(self.high)
        return (lo, hi) if a > b else (a, b)


def smallest_code(lo, hi, whole, floats):
    """Type code for values lo..hi. Without `floats` fractions become scaled int16."""
    if whole:
        for code in "Bbh":
            a, b = RANGE[code]
            if a <= lo and hi <= b:
                return code
    return "f" if floats else "h"


def shift_for(code, lo, hi, whole, d):
    """Power of two that a value is multiplied with to enter an integer store.

    Scaled values leave room for a sum of `d` squares in 30 bits.
    """
    if code == "f":
        return 0
    a, b = RANGE[code]
    if whole:
        if lo < a or hi > b:
            raise ValueError("X: expected %d..%d for this storage, got %s..%s" % (a, b, lo, hi))
        return 0
    if lo < 0 <= a:
        raise ValueError("X: expected values >= 0 for uint8 storage, got %s" % lo)
    top = max(-lo, hi)
    b = min(b, int((2.0**30 / d) ** 0.5))
    shift = 0
    while shift < 24 and top * (2 << shift) <= b:
        shift += 1
    while shift > -24 and top * 2.0**shift > b:
        shift -= 1
    return shift or -1  # 0 stands for whole numbers


def code_of(X):
    """Type code of a buffer's items, or None where it does not tell."""
    have = getattr(X, "typecode", None) or getattr(X, "format", None)
    if not have and isinstance(X, array):
        have = repr(X[0:1])[7]  # MicroPython has no typecode, but prints it
    return have


def same_items(X, code):
    """True when the buffer `X` holds items of type `code` already."""
    if isinstance(X, (list, tuple, bytes, range)):
        return False  # bytes cannot change under us, but a native call wants a typed buffer
    if isinstance(X, bytearray):
        return code == "B"
    have = code_of(X)
    if have:
        return have == code or (code in "Bb" and have in "Bb") or (code == "h" and have == "H")
    # MicroPython's memoryview does not tell: size and kind of one item are enough, because
    # `code` was chosen so that every value fits it.
    size = len(bytes(X[0:1]))
    if isinstance(X[0], float):
        return code == "f" and size == 4
    return size == {"B": 1, "b": 1, "h": 2}.get(code)


def _check_products(code, top, d):
    if code == "f" and not top * 1.0 * top * d < F32_MAX / 4:
        raise ValueError("X: expected products in float32, got %s: use SVM(scale=True)" % top)


def _centre(low, high, whole, code, floats):
    """What subtracts the middles of the features, or None where the data lie near 0."""
    from acclimate.svm.scaled import Centre
    from acclimate.svm.scaler import far_from_zero

    d = len(low)
    if not far_from_zero(low, high, _FAR if floats or whole else 1):
        return None
    middle = [low[j] * 0.5 + high[j] * 0.5 for j in range(d)]
    if whole:
        middle = [floor(v + 0.5) for v in middle]  # also where the spans came as floats
    largest = max(-min(low), max(high))
    # Beyond 24 bits only integers are exact.
    if whole and (code == "h" or not floats or largest > 1 << 24) and largest < 2.1e9:
        top = max(max(high[j] - middle[j], middle[j] - low[j]) for j in range(d))
        if top <= 32767:
            return Centre("h", array("i", middle))
    middle = array("f", middle)
    top = max(max(high[j] - middle[j], middle[j] - low[j]) for j in range(d))
    if whole and largest > max(2.1e9, 65536 * top):  # boards have 24 bits for both
        raise ValueError("X: %d is too far from 0 for its range: subtract the least" % largest)
    _check_products(code, top, d)
    shift = shift_for(code, -top, top, False, d)
    return Centre(code, middle, shift)


def prepare_pieces(X, y, storage=None, scale=False, floats=True, centre=True, classes=None):
    """Check everything, in pieces; (buffer, code, shift, n, d, classes, scaler, warning).

    Nothing is changed when an exception leaves. `floats` tells whether a float32 store is
    welcome (a board with an FPU, or the pure Python path), `centre` whether rows may be moved,
    `classes` the labels where `y` holds none.
    """
    n, d, flat = shape_of(X, y)
    if classes is None:
        classes = yield from classes_of(y)
    code = None if storage is None else storage_code(storage)
    lo, hi, whole, spans = yield from scan(X, n, d, flat)
    if scale:
        from acclimate.svm.scaler import fit_pieces

        yield
        whole = whole and max(-lo, hi) < 2.1e9  # else no array holds the offsets
        scaler = yield from fit_pieces(X, n, d, flat, whole, floats)
        buf = yield from scaler.rows_pieces(X, n, flat)
        return buf, scaler.code, scaler.shift, n, d, classes, scaler, None
    if code is None:
        code = smallest_code(lo, hi, whole, floats)
        if code == "B" and flat and code_of(X) == "b":
            code = "b"  # rows will be of this type, too
    warning = None
    if code in "hf" or hi - lo > 100:
        from acclimate.svm.scaler import range_warning, ranges

        yield
        low, high = spans or (yield from ranges(X, n, d, flat))
        warning = range_warning(low, high)
        yield
        if centre and code in "hf":
            made = _centre(low, high, whole, code, floats)
            if made is not None:
                buf = yield from made.rows_pieces(X, n, flat)
                return buf, made.code, made.shift, n, d, classes, made, warning
    shift = shift_for(code, lo, hi, whole, d)
    _check_products(code, max(hi, -lo), d)
    if flat and not shift and same_items(X, code):
        return X, code, 0, n, d, classes, None, warning
    yield
    size = n * d * (4 if code == "f" else 2 if code == "h" else 1)
    try:
        buf = array(code, bytes(size))
    except MemoryError:
        from acclimate._heap import out_of_memory

        raise out_of_memory(size, "samples") from None
    pause = rows_at_once(d)
    for i in range(n):
        row = X[i * d : i * d + d] if flat else X[i]
        if shift or _store is None or not _store(buf, i * d, row, d):
            store_into(buf, i * d, row, code, shift)
        if not (i + 1) % pause:
            yield
    return buf, code, shift, n, d, classes, None, warning


def check_budget(m, n):
    """`fit` with a budget keeps all its rows, so they must fit it."""
    if n > m.budget:
        raise ValueError("X: expected at most budget = %d rows, got %d: use add()" % (m.budget, n))
