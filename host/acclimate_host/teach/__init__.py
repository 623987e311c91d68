# SPDX-License-Identifier: MIT
"""Teach a board in front of you: it streams its sensor, you name what it saw, it trains itself."""
