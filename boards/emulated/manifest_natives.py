# SPDX-License-Identifier: MIT
# As manifest.py, with what a builder of firmware includes.
include("manifest.py")  # noqa: F821
include("../../device/manifest_natives.py")  # noqa: F821
# A test compares what this one makes in flash with what it makes in the heap.
module("static_kinds.py", base_path="../../tests/host", opt=3)  # noqa: F821
