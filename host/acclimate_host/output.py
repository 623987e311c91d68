# SPDX-License-Identifier: MIT
"""What libraries written in C leave in their own buffer of standard output."""

import ctypes
import sys


def flush_libraries() -> None:
    """Write out C's buffers now, before file descriptor 1 means something else."""
    if sys.platform != "win32":
        ctypes.CDLL(None).fflush(None)
