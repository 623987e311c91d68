# SPDX-License-Identifier: MIT
"""Which parts of a network are trained on the board, and what that costs."""
