# SPDX-License-Identifier: MIT
"""The native modules `_net`, `_net_train`, `_net_rare` and `_net_f32...` (native_modules/net)."""

from circuitpython_typing import ReadableBuffer, WriteableBuffer

def run(
    program: ReadableBuffer, arena: WriteableBuffer, input: ReadableBuffer, par: WriteableBuffer, /
) -> int:
    """Run a part of a program; a status. par: `array("i")`, as net.h has it."""
