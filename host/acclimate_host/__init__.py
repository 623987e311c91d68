# SPDX-License-Identifier: MIT
"""Acclimate on the host: compile, plan, install, serve and watch models that learn on a board."""

from acclimate import __version__

__all__ = ["__version__"]
