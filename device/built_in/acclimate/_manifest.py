# SPDX-License-Identifier: MIT
"""Registers the native modules of the firmware; frozen in place of the installer's manifest.

The loader imports it when it looks for its first native module.
"""

import _codec
import _frontend
import _net_all
import _svm
import _svm_linear

from acclimate import __version__, _native

try:
    import _svm_fit  # not with SVM_NO_FLOAT
except ImportError:
    _svm_fit = None
VERSION = __version__
NATIVE = {}
for _name, _module in (
    ("codec", _codec),
    ("frontend", _frontend),
    ("net_all", _net_all),
    ("net_rare", _net_all),  # which has all instructions
    ("svm", _svm),
    ("svm_linear", _svm_linear),
):
    _native.register(_name, _module, "built in")
if _svm_fit:
    _native.register("svm_fit", _svm_fit, "built in")
for _name in ("ed25519", "xchacha"):  # with Monocypher's source alone
    try:
        _native.register(_name, __import__("_" + _name), "built in")
    except ImportError:
        pass
