# SPDX-License-Identifier: MIT
# As manifest.py, and with what learns: frozen bytecode runs from flash and costs no RAM.
include("manifest.py")  # noqa: F821
package("acclimate", base_path="../../out/frozen/learning")  # noqa: F821
module("on_board.py", base_path="../../host/acclimate_host/demo")  # noqa: F821
