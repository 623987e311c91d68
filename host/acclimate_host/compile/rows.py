# SPDX-License-Identifier: MIT
"""Order of int8 weight matrices in memory, "paired rows"; see native_modules/net/net_order.h."""

import numpy as np


def rows_bytes(rows, depth):
    """Return the bytes of a matrix of `rows` rows of `depth` int8 weights, with its filling."""
    return rows * (-(-depth // 4) * 4)


def pack_rows(matrix):
    """Return the bytes of an int8 matrix, one row per output channel, in the boards' order.

    >>> pack_rows(np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], np.int8)).hex()
    '0102030406070809050000000a000000'
    """
    matrix = np.asarray(matrix, np.int8)
    rows, depth = matrix.shape
    count, pairs = -(-depth // 4), rows // 2
    words = np.zeros((rows, count, 4), np.int8)
    words.reshape(rows, -1)[:, :depth] = matrix
    paired = words[: 2 * pairs].reshape(pairs, 2, count, 4).transpose(0, 2, 1, 3)
    return paired.tobytes() + words[2 * pairs :].tobytes()


def unpack_rows(data, rows, depth):
    """Return the int8 matrix (rows, depth) that `pack_rows` wrote.

    :raises ValueError: when `data` is not as long as such a matrix
    """
    size = rows_bytes(rows, depth)
    if len(data) != size:
        raise ValueError(f"data: expected {size} bytes for {rows} x {depth}, got {len(data)}")
    row, pairs = size // rows, rows // 2
    flat = np.frombuffer(data, np.int8)
    paired, alone = np.split(flat, [2 * pairs * row])
    paired = paired.reshape(pairs, row // 4, 2, 4).transpose(0, 2, 1, 3)
    matrix = np.concatenate([paired.reshape(2 * pairs, row), alone.reshape(-1, row)])
    return matrix[:, :depth]
