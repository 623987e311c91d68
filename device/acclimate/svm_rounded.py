# SPDX-License-Identifier: MIT
"""Weights of the float state as integers.

A board that works in fixed point does without this file.
"""

from array import array
from math import floor


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
    q[1] = floor(w[1] * 2.0**shift + 0.5)
    for k in range(d):
        v = floor(w[2 + k] * 2.0**shift + 0.5)
        if k & 1:
            q[2 + (k >> 1)] = (q[2 + (k >> 1)] & 0xFFFF) | (v << 16)
        else:
            q[2 + (k >> 1)] = v & 0xFFFF
    return q
