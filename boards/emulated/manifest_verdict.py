# SPDX-License-Identifier: MIT
# As manifest.py, with what replaces a small SVM and decides about it: it fits from flash only.
include("manifest.py")  # noqa: F821
package("acclimate", base_path="../../out/frozen/verdict", opt=3)  # noqa: F821
module("update_small_board.py", base_path="../../host/acclimate_host/demo", opt=3)  # noqa: F821
