# SPDX-License-Identifier: MIT
"""The main job on real input: a model meets a new user and learns on the board."""
