# SPDX-License-Identifier: MIT
"""One verification of Ed25519 on the emulated boards: `make bench NAME=ed25519`.

Instructions are those of `verify` over a capsule's signed header, SHA-512 included; bytes are
those of the native module's file.
"""

import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from acclimate_host.capsules.layout import HEADER
from acclimate_host.connect import open_board
from acclimate_host.paths import built
from bench.common import cortex_boards, table, write

SHIFT = 10
ARCH = {"nrf52840": "armv7emsp", "samd21": "armv6m"}
ROWS = [
    ("m4f.instructions", "<=", 2_200_000),
    ("m4f.bytes", "<=", 12_288),
    ("m0.instructions", "<=", 18_000_000),
    ("m0.bytes", "<=", 15_360),
    ("m4f.heap_bytes", None, None),
    ("m0.heap_bytes", None, None),
]
_LOAD = """
import gc
gc.collect()
_free = gc.mem_free()
import _ed25519, qboard
gc.collect()
print(_free - gc.mem_free())
"""
_COUNT = """
_d, _k = bytes.fromhex('{data}'), bytes.fromhex('{key}')
_t = qboard.ticks()
_good = _ed25519.verify(_d, {n}, _k, 0)
_t = qboard.ticks() - _t & 0x3fffffff
print(_good, _t)
"""


def measure(name):
    """Return a dictionary of instructions, bytes of the file and of heap on a board."""
    native = built("native", ARCH[name], "_ed25519.mpy").read_bytes()
    secret = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    message = bytes(range(HEADER.offset("signature")))
    data = (message + secret.sign(message)).hex()
    key = secret.public_key().public_bytes_raw().hex()
    with open_board(name, icount=SHIFT) as board:
        board.put_bytes(native, "/_ed25519.mpy")
        board.soft_reset()
        heap = int(board.exec(_LOAD, 60))
        good, ticks = board.exec(_COUNT.format(data=data, key=key, n=len(message)), 120).split()
        if good != "True":
            sys.exit(f"{name}: a good signature was refused")
        hz = board.ticks()[1]
    count = round(int(ticks) * 1e9 / hz / (1 << SHIFT))
    return {"instructions": count, "bytes": len(native), "heap_bytes": heap}


def main():
    result = {key: measure(name) for name, key in cortex_boards()}
    write("ed25519", result)
    return 1 if table("Ed25519", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
