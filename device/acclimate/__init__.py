# SPDX-License-Identifier: MIT
"""Acclimate on the device: models that keep learning on a microcontroller.

Nothing heavy is imported here; each feature is a submodule of its own
(``acclimate.svm``, ``acclimate.loop``, ...).
"""

__version__ = "0.1.0"
