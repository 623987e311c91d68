# SPDX-License-Identifier: MIT
"""What "On-Device Training Under 256KB Memory" does and Acclimate does better: its search."""
