# SPDX-License-Identifier: MIT
"""Models of hardware for tests, and for images that are made before there is a board."""
