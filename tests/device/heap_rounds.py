# SPDX-License-Identifier: MIT
"""Objects that are made and dropped again and again leave the heap as it was."""

import gc


def check(use):
    """Twelve rounds take what two took: no module is loaded twice, nothing is kept."""
    sizes = [0] * 12
    for i in range(12):
        use()
        gc.collect()
        gc.collect()
        sizes[i] = gc.mem_alloc()
    assert sizes[-1] <= sizes[1], sizes
