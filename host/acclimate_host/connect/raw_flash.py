# SPDX-License-Identifier: MIT
"""Bytes in the raw flash of an emulated board, read in place by what is measured."""

import base64

from acclimate_host.connect.emulator import PERSISTENT

START = {"nrf52840": 0x21100000, "samd21": 0x50000}
_IN_FILE = {"rv32": 0x900000}  # of others:
_IN_FILE_OF_MOST = 0x100000
_CHUNK_BYTES = 256
_OPEN = """
import qboard
from binascii import a2b_base64 as u
f = qboard.Flash({start}, {size})
p = qboard.PAGE_BYTES
"""


def write(board, name, blob):
    """Write `blob` to the start of board `name`'s raw flash."""
    blob += bytes(-len(blob) % 4)
    if name in PERSISTENT:  # its flash is a file of this computer
        with open(board.emulator.flash, "r+b") as flash:
            flash.seek(_IN_FILE.get(name, _IN_FILE_OF_MOST))
            flash.write(blob)
        return
    board.exec(_OPEN.format(start=START[name], size=max(65536, -(-len(blob) // 4096) * 4096)))
    for at in range(0, len(blob), _CHUNK_BYTES):
        text = base64.b64encode(blob[at : at + _CHUNK_BYTES]).decode()
        board.exec(f"f.writeblocks({at} // p, u('{text}'), {at} % p)")
