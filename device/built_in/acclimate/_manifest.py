# SPDX-License-Identifier: MIT
"""Says which native modules are built into the firmware; frozen in place of the installer's."""

from acclimate import __version__

VERSION = __version__
NATIVE = {}
# native module -> the one that has what it does
BUILT_IN = {name: name for name in ("_codec", "_net_all", "_svm", "_svm_linear")}
BUILT_IN["_net_rare"] = "_net_all"
