# SPDX-License-Identifier: MIT
"""What only reproduces the papers: their algorithms, their baselines and their claims."""
