# SPDX-License-Identifier: MIT
"""What the Edge2Train paper has and Acclimate does not use: its Algorithm 1."""
