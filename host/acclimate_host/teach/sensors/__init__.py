# SPDX-License-Identifier: MIT
"""Adapters for teaching: each is copied to the board and imported there as the sensor."""
