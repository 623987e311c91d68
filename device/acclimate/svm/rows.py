# SPDX-License-Identifier: MIT
"""Numbers of a row as items of a store: what each type holds, and a checked copy."""

RANGE = {"B": (0, 255), "b": (-128, 127), "h": (-32768, 32767)}
F32_MAX = 3.4028234e38
PIECE = 256  # numbers that Python looks at between two yields


def rows_at_once(d):
    """Rows of `d` features that Python looks at in one piece of work."""
    return max(1, PIECE // d)


def store_into(buf, at, row, code, shift):
    """Write one row to `buf[at:]`, rounding half away from zero where it is scaled.

    Nothing is cut or rounded in silence: what does not fit the storage raises `ValueError`.
    """
    try:
        _store_into(buf, at, row, code, shift)
    except TypeError:
        raise no_numbers(row) from None


def no_numbers(row):
    """The error of a row with something else in it than numbers."""
    return ValueError("row: expected numbers, got " + repr(row)[:40])


def _store_into(buf, at, row, code, shift):
    a, b = RANGE.get(code, (-F32_MAX, F32_MAX))
    scale = 2.0**shift
    for v in row:
        if v - v != 0:
            raise ValueError("row: expected finite numbers, got %s" % v)
        if shift:
            q = v * scale
            if -F32_MAX <= q <= F32_MAX:
                q = int(q + 0.5) if q >= 0 else -int(0.5 - q)
            if not a <= q <= b:
                raise ValueError("row: expected %s..%s, got %s" % (a / scale, b / scale, v))
            v = q
        elif code == "f":
            if not a <= v <= b:
                raise ValueError("row: expected float32 numbers, got %s" % v)
        elif v != int(v) or not a <= v <= b:
            raise ValueError("row: expected whole numbers %d..%d, got %s" % (a, b, v))
        else:
            v = int(v)
        buf[at] = v
        at += 1
