# SPDX-License-Identifier: MIT
# As manifest.py, and with what replaces models: frozen bytecode costs no RAM.
include("manifest.py")  # noqa: F821
# opt=3 leaves the line numbers out: the flash is full.
package("acclimate", base_path="../../out/frozen/capsules", opt=3)  # noqa: F821
# The tests' model of NOR flash, which the 32 KB of RAM would not take beside them.
module("nor.py", base_path="../../host/acclimate_host/testing", opt=3)  # noqa: F821
