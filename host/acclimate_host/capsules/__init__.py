# SPDX-License-Identifier: MIT
"""Capsules on the host: the format's single source, the builder and the delta encoder."""
