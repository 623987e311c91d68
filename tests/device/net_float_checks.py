# SPDX-License-Identifier: MIT
"""What tests of float32 networks share."""

import struct


def close(a, b):
    n = len(a) // 4
    for x, y in zip(struct.unpack("<%df" % n, a), struct.unpack("<%df" % n, b)):  # noqa: B905
        if abs(x - y) > 1e-4 * max(1, abs(y)):
            return False
    return True
