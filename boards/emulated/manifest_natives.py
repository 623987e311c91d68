# SPDX-License-Identifier: MIT
# As manifest.py, with what a builder of firmware includes.
include("manifest.py")  # noqa: F821
include("../../device/manifest_natives.py")  # noqa: F821
