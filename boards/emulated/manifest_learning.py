# SPDX-License-Identifier: MIT
# As manifest.py, and with what learns: frozen bytecode runs from flash and costs no RAM.
include("manifest.py")  # noqa: F821
package(  # noqa: F821
    "acclimate",
    (
        "__init__.py",
        "_native.py",
        "_svm_par.py",
        "features.py",
        "loop.py",
        "svm.py",
        "svm_collect.py",
        "svm_data.py",
        "svm_model.py",
        "svm_train.py",
    ),
    base_path="../../device",
)
module("on_board.py", base_path="../../host/acclimate_host/demo")  # noqa: F821
