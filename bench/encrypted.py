# SPDX-License-Identifier: MIT
"""What it takes a board to read an encrypted object: `make bench NAME=encrypted`.

Instructions for each KiB of an object, by `acclimate.pull.encrypted.unlock`, page by page as a
pull calls it: authenticated, then decrypted in place. Beside it SHA-256 over the same bytes, which
each capsule takes as well. On the SAMD21 the native module alone is called: a pull from files does
not fit there.
"""

import sys

from acclimate_host.capsules.encryption import seal
from acclimate_host.capsules.layout import ENCRYPTED, SEALED_PAGE
from acclimate_host.connect import merge, open_board
from acclimate_host.connect.install import install
from acclimate_host.paths import built
from bench.common import cortex_boards, table, write

SHIFT = 10
ARCH = {"nrf52840": "armv7emsp", "samd21": "armv6m"}
KEY = bytes(range(32))
PAGES = 4
ROWS = [
    ("m4f.instructions_per_kib", None, None),
    ("m4f.of_sha256", None, None),
    ("m0.instructions_per_kib", None, None),
    ("m0.of_sha256", None, None),
    ("m4f_pure.instructions_per_kib", None, None),
    ("bytes.armv7emsp", None, None),
    ("bytes.armv6m", None, None),
]
_PACKAGE = "from acclimate.pull.encrypted import unlock\n"
_ALONE = "from _xchacha import unlock\n"
_COUNT = """
import qboard
_head, _key = bytes.fromhex('{head}'), bytes.fromhex('{key}')
_nonce = bytearray(24)
_nonce[:20] = _head[{nonce}:]
unlock(bytearray(16), 0, _key, _nonce, b'')  # the module is loaded once
_good = _total = 0
for _i in range({pages}):
    with open('/object', 'rb') as _file:
        _file.seek(_i * {page})
        _page = bytearray(_file.read({page}))
    _nonce[20] = _i
    _t = qboard.ticks()
    _good += unlock(_page, {plain}, _key, _nonce, _head)
    _total += (qboard.ticks() - _t & 0x3fffffff) >> 4
print(_good, _total)
"""
_SHA = """
import _codec
_s = bytearray(_codec.SHA_BYTES)
_codec.sha_start(_s)
_t = qboard.ticks()
_codec.sha_update(_s, _page, {plain})
print((qboard.ticks() - _t & 0x3fffffff) >> 4)
"""


def measure(name, pure=False):
    """Return {"instructions_per_kib": number, "of_sha256": ratio} of a board."""
    plain = b"ACAP" + bytes(i * 7 & 255 for i in range(PAGES * SEALED_PAGE - 4))
    sealed = seal(plain, KEY)
    head, body = sealed[: ENCRYPTED.bytes], sealed[ENCRYPTED.bytes :]
    sizes = {"pages": PAGES, "page": SEALED_PAGE + 16, "plain": SEALED_PAGE}
    code = _COUNT.format(head=head.hex(), key=KEY.hex(), nonce=ENCRYPTED.offset("nonce"), **sizes)
    folder = built("native", ARCH[name])
    with open_board(name, icount=SHIFT) as board:
        if name == "nrf52840":
            install(board, ["pull.encrypted"], yes=True, extras=("encrypted",), pure=pure)
            first = merge.layout(ARCH[name]).for_board(_PACKAGE)
        else:
            board.put_bytes((folder / "_xchacha.mpy").read_bytes(), "/_xchacha.mpy")
            first = _ALONE
        board.put_bytes((folder / "_codec.mpy").read_bytes(), "/_codec.mpy")
        board.put_bytes(body, "/object")
        board.soft_reset()
        good, ticks = map(int, board.exec(first + code, 600).split())
        if good != PAGES:
            sys.exit(f"{name}: {good} of {PAGES} good pages were taken")
        sha = int(board.exec(_SHA.format(**sizes), 60))
        hz = board.ticks()[1]
    per_tick = 16 * 1e9 / hz / (1 << SHIFT)
    kib = PAGES * SEALED_PAGE / 1024
    count = ticks * per_tick / kib
    return {
        "instructions_per_kib": round(count),
        "of_sha256": round(count / (sha * per_tick * 1024 / SEALED_PAGE), 2),
    }


def main():
    result = {key: measure(name) for name, key in cortex_boards()}
    if "m4f" in result:
        result["m4f_pure"] = measure("nrf52840", pure=True)
    files = {arch: built("native", arch, "_xchacha.mpy") for arch in ARCH.values()}
    result["bytes"] = {a: path.stat().st_size for a, path in files.items() if path.is_file()}
    write("encrypted", result)
    return 1 if table("Encrypted objects", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
