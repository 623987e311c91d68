# SPDX-License-Identifier: MIT
# As manifest.py, in a firmware that has the C modules built in (native_modules/micropython.mk).
include("manifest.py")  # noqa: F821
package("acclimate", files=("_manifest.py",), base_path="built_in", opt=3)  # noqa: F821
