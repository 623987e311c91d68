# SPDX-License-Identifier: MIT
# Frozen into the firmware of the emulated ARM boards.
freeze("frozen", ("_boot.py",))  # noqa: F821
