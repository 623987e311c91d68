# SPDX-License-Identifier: MIT
# Freeze the device package: include("THIS_REPOSITORY/device/manifest.py") in a board's manifest.
package("acclimate", base_path=".", opt=3)  # noqa: F821
