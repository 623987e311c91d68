# SPDX-License-Identifier: MIT
"""The outputs of a network as real numbers: its scale and zero point are applied here.

    net.predict(x)
    print(real_outputs(net))            # a list of floats, one for each output
"""

import struct

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_OUTPUT_ZERO = const(58)
_P_OUTPUT_SCALE = const(64)
# program: end


def real_outputs(net):
    """Return what the stored outputs of the latest pass mean (Net or FloatNet)."""
    stored, program = net.outputs(), net._program
    if net._dtype:
        return list(struct.unpack("<%df" % (len(stored) // 4), bytes(stored)))
    scale = struct.unpack("<f", bytes(program[_P_OUTPUT_SCALE : _P_OUTPUT_SCALE + 4]))[0]
    zero = program[_P_OUTPUT_ZERO]
    zero -= 256 if zero > 127 else 0
    return [((byte - 256 if byte > 127 else byte) - zero) * scale for byte in stored]
