# SPDX-License-Identifier: MIT
"""Energy-aware training schedules: problem, plan, evaluator and an exhaustive oracle."""
