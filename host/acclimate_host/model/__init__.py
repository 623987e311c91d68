# SPDX-License-Identifier: MIT
"""Networks as graphs: values, builder, differentiation, text."""
