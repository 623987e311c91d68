# SPDX-License-Identifier: MIT
"""Registers the native modules of the firmware; frozen in place of the installer's manifest.

The loader imports it when it looks for its first native module. ACCLIMATE_MODULES chooses which
modules a firmware has, and Ed25519 comes with Monocypher's source alone.
"""

from acclimate import __version__, _native

VERSION = __version__
NATIVE = {}
for _name, _file in (
    ("codec", "_codec"),
    ("ed25519", "_ed25519"),
    ("frontend", "_frontend"),
    ("net_all", "_net_all"),
    ("net_rare", "_net_all"),  # which has all instructions
    ("svm", "_svm"),
    ("svm_fit", "_svm_fit"),  # not with SVM_NO_FLOAT
    ("svm_linear", "_svm_linear"),
    ("xchacha", "_xchacha"),
):
    try:
        _native.register(_name, __import__(_file), "built in")
    except ImportError:
        pass
