# SPDX-License-Identifier: MIT
"""Run network programs and plain kernels on an emulated board and count their instructions."""

from acclimate_host.compile.program_format import HEADER
from acclimate_host.connect import count_network
from acclimate_host.connect.count_network import ARCH, SHIFT, module, modules, run

__all__ = ["ARCH", "SHIFT", "instructions", "module", "modules", "plain", "run"]

_PLAIN = """
import net_ref
parts, at = [], 0
for n in {lengths}:
    parts.append(flash[at:at + n])
    at += (n + 3) // 4 * 4
x, y = pattern({input_bytes}), bytearray({outputs})
if {ratio}:
    ratio = array('H', [{ratio}] * {outputs})
    sums, gx = array('i', [0] * {input_bytes}), bytearray(len(x))
    g = pattern(len(y))
    t = T()
    net_ref.gradient(parts[0], g, parts[1], ratio, sums, gx)
else:
    t = T()
    net_ref.{function}(parts[0], x, *parts[1:], y)
print([(T() - t) & 0x3fffffff, checksum(y)])
"""


def instructions(name, program, training=False, native=None, at_once=False):
    """Return ([(opcode, instructions of the board)], checksums): see `count_network`."""
    steps, checksums = count_network.instructions(name, program, training, native, at_once)
    code = program.code[HEADER.bytes :]
    return [(code[at], count) for at, count in steps], checksums


def plain(name, kind, parts, sizes, native, ratio=0):
    """Return (instructions, checksum of the outputs) of a kernel of bench/native/net_ref.

    :param parts: bytes by name, as `net_layers.plain` gives them
    :param sizes: (elements of the input, of the output)
    :param ratio: not 0: the gradient of the input, with this ratio for each channel
    """
    data = b"".join(part + bytes(-len(part) % 4) for part in parts.values())
    names = {
        "lengths": [len(part) for part in parts.values()],
        "input_bytes": sizes[0],
        "outputs": sizes[1],
        "function": "depthwise" if kind == "depthwise" else "conv",
        "ratio": ratio,
    }
    (ticks, checksum), per_tick = run(name, data, [native], _PLAIN, names)
    return round(ticks * per_tick), checksum
