# SPDX-License-Identifier: MIT
"""What a whole update takes on an emulated board: bytes of heap and instructions.

The heap is filled up but for one hole of so many bytes, and the update is tried: the smallest
hole with which it succeeds is what it needs beyond the Store object.
"""

import ast
import base64

from acclimate_host.connect import open_board, package
from acclimate_host.paths import built

SHIFT = 10
KEY = bytes(range(1, 33))
# Journal and slots, then the place that stands for the channel (in pages of the board).
REGION_PAGES = {"samd21": 40, "nrf52840": 8}
CHUNK_BYTES = {"samd21": 64, "nrf52840": 256}
ELF = {"samd21": ("firmware", "samd21-capsules", "firmware.elf")}
ARCH = {"samd21": "armv6m", "nrf52840": "armv7emsp"}

_SETUP = """
import gc, qboard
from acclimate import _native
import _codec
_native.register('codec', _codec)
from acclimate.flash import BlockFlash
from acclimate.store import Wanted
from acclimate.store import Store
from acclimate.store import Updater
{imports}
P = qboard.PAGE_BYTES
channel = memoryview(qboard.Flash(qboard.RAW_START + {region} * P, {channel} * P))
flash = BlockFlash(qboard.Flash(qboard.RAW_START, {region} * P))
store = Store(flash, Wanted(model=7, kind=1, key={key!r}), chunk_bytes={chunk}, day_pages=0)
"""
_TRY = """
def trial(a, b, free):
    store.swap_capsule(channel[:{base}], True)
    gc.collect()
    hole, ballast, size = bytearray(free), None, 512
    while size >= 16:
        try:
            ballast = (ballast, bytearray(size))
        except MemoryError:
            size //= 2
    hole = None
    gc.collect()
    try:
        store.swap_capsule(channel[a:b], True)
        fits = store.head.version == 2
    except MemoryError:
        fits = False
    while ballast:
        ballast = ballast[0]
    gc.collect()
    return fits
def need(a, b):
    free = 64
    while not trial(a, b, free):
        free += 64
    return free
"""
_NEED = "print([need({base}, {base} + {target}), need({base} + {target}, {end})])"
_FITS = "print(trial({base} + {target}, {end}, {free}))"
# The clock has 30 bits, so a long update is counted piece by piece.
_COUNT = """
T = qboard.ticks
class Pieces:
    def __init__(self, a, b):
        self.a, self.b, self.total, self.t = a, b, 0, T()
    def readinto(self, buffer):
        n = min(len(buffer), self.b - self.a)
        buffer[:n] = channel[self.a:self.a + n]
        self.a += n
        self.add()
        return n
    def add(self):
        t = T()
        self.total += (t - self.t & 0x3fffffff) // 16
        self.t = T()
def count(a, b):
    store.swap_capsule(channel[:{base}], True)
    gc.collect()
    pieces = Pieces(a, b)
    store.swap_capsule(pieces, True)
    pieces.add()
    return pieces.total
def check():
    t = T()
    store.checker.intact(store.head, store.slots.start(store.active))
    store.checker.authentic(store.head, store.wanted)
    return ((T() - t) & 0x3fffffff) // 16
print([count({base}, {base} + {target}), count({base} + {target}, {end}), check()])
"""
_SHA = """
s = bytearray(_codec.SHA_BYTES)
d = channel[:2048]
def run(n):
    _codec.sha_start(s)
    t = qboard.ticks()
    _codec.sha_update(s, d, n)
    return (qboard.ticks() - t) & 0x3fffffff
run(64)
print([run(1024), run(2048)])
"""


def names_of(name, base, target, end):
    """Return what the programs below need to know of a board and of what lies in its channel."""
    return {
        "base": base,
        "target": target,
        "end": end,
        "key": KEY,
        "region": REGION_PAGES[name],
        "chunk": CHUNK_BYTES[name],
        "imports": "import acclimate._store_update",
        "channel": -(-end // (1024 if name == "samd21" else 4096)),
    }


def measure(name, base, target, update):
    """Return a dictionary of bytes and instructions for the three containers."""
    blob = base + target + update
    names = names_of(name, len(base), len(target), len(blob))
    elf = built(*ELF[name]) if name in ELF else None
    with open_board(name, icount=SHIFT, elf=elf) as board:
        prepare(board, name, blob, names)
        board.exec(_TRY.format(**names), 30)
        whole_bytes, update_bytes = ast.literal_eval(board.exec(_NEED.format(**names), 300))
        _, hz = board.ticks()

        def instructions(ticks):
            return round(ticks * 1e9 / hz / (1 << SHIFT))

        whole, delta, check = ast.literal_eval(board.exec(_COUNT.format(**names), 120))
        one, two = ast.literal_eval(board.exec(_SHA, 30))
        return {
            "peak_ram_bytes": max(whole_bytes, update_bytes),
            "peak_ram_whole_bytes": whole_bytes,
            "peak_ram_update_bytes": update_bytes,
            "instructions_whole": instructions(whole * 16),
            "instructions_update": instructions(delta * 16),
            "instructions_verify": instructions(check * 16),
            "sha256": round((instructions(two) - instructions(one)) / 1024, 2),
        }


def update_fits(board, name, base, target, update, free):
    """Whether an open board applies the update with so many bytes of heap free."""
    blob = base + target + update
    names = names_of(name, len(base), len(target), len(blob))
    prepare(board, name, blob, names)
    board.exec(_TRY.format(**names), 30)
    return board.exec(_FITS.format(**names, free=free), 60) == "True\n"


def install(board, name, more=()):
    """Bring the native module, and the package where it is not frozen, to a board."""
    native = built("native", ARCH[name], "_codec.mpy").read_bytes()
    board.put_bytes(native, "/_codec.mpy")
    if name not in ELF:
        board.mkdir("/lib/acclimate")
        parts = ["store", *more]
        for file, data in package.build(ARCH[name], parts, pure=True).items():
            board.put_bytes(data, f"/lib/acclimate/{file}")


def prepare(board, name, blob, names, more=()):
    """Bring all parts, and the blob into the channel; make the store."""
    install(board, name, more)
    board.soft_reset()
    board.exec(
        "import qboard\nfrom binascii import a2b_base64 as u\nP = qboard.PAGE_BYTES\n"
        f"f = qboard.Flash(qboard.RAW_START + {names['region']} * P, "
        f"{names['channel']} * P)"
    )
    blob += bytes(-len(blob) % 4)
    for at in range(0, len(blob), 256):
        text = base64.b64encode(blob[at : at + 256]).decode()
        board.exec(f"f.writeblocks({at} // P, u('{text}'), {at} % P)")
    board.soft_reset()
    # One by one: no text, and nothing left over, lies in the heap while the store takes its place.
    for line in _SETUP.format(**names).strip().split("\n"):
        board.exec(line + "\ngc.collect()", 60)
