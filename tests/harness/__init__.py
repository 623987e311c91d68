# SPDX-License-Identifier: MIT
"""What the tests share: the runtimes, and how a device test file runs on each of them."""
