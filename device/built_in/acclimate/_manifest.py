# SPDX-License-Identifier: MIT
"""Says which native modules are built into the firmware; frozen in place of the installer's."""

from acclimate import __version__

VERSION = __version__
NATIVE = {}
BUILT_IN = ("_codec", "_net_all", "_svm", "_svm_linear")
