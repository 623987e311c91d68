# SPDX-License-Identifier: MIT
"""The page of playground/, served on this computer: to play with, and to teach a board."""
