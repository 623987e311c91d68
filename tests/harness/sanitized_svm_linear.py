# SPDX-License-Identifier: MIT
"""Train random problems on the smallest solver with sanitizers; run by tools/sanitized.sh.

usage: python sanitized_svm_linear.py LIBRARY SEED
"""

import random
import sys

from linear_core import LinearCore, compare

if __name__ == "__main__":
    core, generator = LinearCore(sys.argv[1]), random.Random(int(sys.argv[2]))
    for _ in range(150):
        compare(core, generator)
    print("150 problems, clean")
