# SPDX-License-Identifier: MIT
"""Cut the emulated nRF52840 while its firmware replaces a model; boot it again; look.

The emulator ends in the middle of an erase or program of its file-backed flash, at a step that
spreads over the whole update. The oracle reads the flash file itself.
"""

import ast
import tempfile
from pathlib import Path

from acclimate_host.connect import open_board, package
from acclimate_host.connect import why_not as board_missing
from acclimate_host.errors import AcclimateError, BoardGone
from bench import powercut_cases as cases
from bench.powercut_oracle import model_of

PAGE_BYTES = 4096
REGION_PAGES = 4
_RAW_OFFSET = 0x100000  # of the raw region in the flash file
_BOOT = """
import qboard
from acclimate.flash import BlockFlash
from acclimate.store import Wanted
from acclimate.store import Store
flash = BlockFlash(qboard.Flash(qboard.RAW_START, {size}))
store = Store(flash, Wanted(model=7, kind=1, key={key!r}), max_boots=60, chunk_bytes=64)
"""
_SWAP = """
from acclimate.store import Updater
with open('/{name}.bin', 'rb') as file:
    data = file.read()
if data[:4] == b'AUPD':
    updater = Updater(store, True)
    updater.feed(data, len(data))
    updater.finish()
else:
    start = store.stage(data, len(data), True)
    store.write(memoryview(data)[start:], len(data) - start)
    store.finish()
store.trial()
store.confirm()
"""
_ANSWER = """
h = bytearray(store.head.total if store.active is not None else 0)
if h: flash.readinto(store.slots.start(store.active), h)
print(h.hex())
"""


def why_not():
    """Return why the board part cannot run here, or None."""
    return board_missing("nrf52840")


def run(cuts):
    """Cut `cuts` updates on the board; return the counts."""
    count = {"cuts": 0, "lost": 0, "mixed": 0, "unbootable": 0, "old": 0, "new": 0}
    models = {"old": cases.OLD, "new": cases.NEW, "update": cases.UPDATE}
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "flash.bin")
        with open_board("nrf52840", flash=image) as board:
            _install(board, models)
            _boot(board)
            board.exec(_SWAP.format(name="old"), 30)
            start = image.read_bytes()
            steps = _steps(board, image)
            for number in range(cuts):
                _restore(board, image, start)
                step = 1 + number * (steps - 1) // max(1, cuts - 1)
                source = "update" if number % 3 == 2 else "new"
                if _cut(board, source, step, number % 2 == 1):
                    count["cuts"] += 1
                    _judge(board, image, count)
    return count


def _install(board, models):
    for name, data in package.build("armv7emsp", ["store"], pure=True).items():
        board.mkdir("/lib/acclimate")
        board.put_bytes(data, f"/lib/acclimate/{name}")
    for name, data in models.items():
        board.put_bytes(data, f"/{name}.bin")


def _boot(board):
    board.exec(_BOOT.format(size=REGION_PAGES * PAGE_BYTES, key=cases.KEY), 30)


def _steps(board, image):
    """Return how many steps one update takes: 256 bytes of an erase, or a word."""
    before = board.exec("print(qboard.wear())")
    board.exec(_SWAP.format(name="new"), 30)
    after = board.exec("print(qboard.wear())")
    (e0, w0), (e1, w1) = ast.literal_eval(before), ast.literal_eval(after)
    return (e1 - e0) * (PAGE_BYTES // 256) + (w1 - w0)


def _restore(board, image, start):
    """Put the flash back to the old model; the file is the board's memory."""
    board.kill()
    image.write_bytes(start)
    board.reset()


def _cut(board, source, step, torn):
    """Start an update that is cut; False when it ended before the cut."""
    _boot(board)
    try:
        board.exec(f"qboard.cut({step}, {torn})" + _SWAP.format(name=source), 30)
    except BoardGone:
        return True
    return False


def _judge(board, image, count):
    raw = image.read_bytes()[_RAW_OFFSET : _RAW_OFFSET + REGION_PAGES * PAGE_BYTES]
    wanted = model_of(raw, PAGE_BYTES, cases.KEY)
    try:
        board.reset()
        _boot(board)
        found = bytes.fromhex(board.exec(_ANSWER, 30).strip()) or None
    except AcclimateError as error:
        count["unbootable"] += 1
        print("unbootable:", error)
        return
    if found is None:
        count["lost"] += 1
    elif found not in (cases.OLD, cases.NEW) or found != wanted:
        count["mixed"] += 1
    else:
        count["old" if found == cases.OLD else "new"] += 1
