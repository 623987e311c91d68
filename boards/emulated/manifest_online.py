# SPDX-License-Identifier: MIT
# As manifest.py, and with what learns in 20 KB: from files it would not fit.
include("manifest.py")  # noqa: F821
package("acclimate", base_path="../../out/frozen/online", opt=3)  # noqa: F821
