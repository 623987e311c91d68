# SPDX-License-Identifier: MIT
"""Rows for the tests of the small machine."""


def fill(X, n, d):
    """Write n whole-number rows whose feature 5 tells the label; returns the labels."""
    y = bytearray(n)
    seed = 3
    for i in range(n * d):
        seed = (seed * 1103 + 12345) & 0xFFFF
        X[i] = (seed >> 8) & 15
    for i in range(n):
        y[i] = 6 if i & 1 else 2
        X[i * d + 5] = (X[i * d + 5] >> 2) + (6 if i & 1 else 0)
    return y
