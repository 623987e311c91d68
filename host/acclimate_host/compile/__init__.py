# SPDX-License-Identifier: MIT
"""From a differentiated graph to an order of nodes and one arena."""
