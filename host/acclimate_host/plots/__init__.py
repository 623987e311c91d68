# SPDX-License-Identifier: MIT
"""Pictures, each kind in a file: matplotlib without a display, a step's graph as plain SVG."""
