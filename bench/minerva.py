# SPDX-License-Identifier: MIT
"""A full firmware update beside capsule updates, on the emulated nRF52840 (Minerva's board).

The firmware update is a two-bank one: pages erased, words written and the bank's SHA-256 taken by
native code, then a reset, the boot of the real firmware, and the start of the application.
Instructions and flash operations are counted by the emulator. Seconds are a model: a cycle for
each instruction at 64 MHz, 85 ms for a page, 41 us for a word (maxima of the nRF52840's product
specification), and for the way here the rate and delay of capsule_apps. Energy is a model as well:
currents of the data sheet and, for the radio, of the paper's own device.
"""

import ast
import subprocess
import sys
import tempfile
from pathlib import Path

from acclimate_host import boards
from acclimate_host.capsules.delta import update
from acclimate_host.connect import open_board, package
from acclimate_host.connect.emulator import firmware
from bench import capsule_apps, capsule_board, common, minerva_acceptance, minerva_month

NAME, ARCH = "nrf52840", "armv7emsp"
PAGE = 4096
CLOCK_HZ = 64_000_000
ERASE_S, WORD_S = 0.085, 41e-6
CONNECT_AND_RATE = (capsule_apps.lte_delay_s, capsule_apps.lte_bytes_per_s)
RECEIVE_A, RADIO_V = 0.050, 3.7  # the paper's 50 mA; its battery is taken for one lithium cell
BATTERY_J = 30 * 3600  # the paper's 30 Wh
STORE_PAGES, BANK_PAGES = 24, 96
_FILE_AT = 0x100000 + (STORE_PAGES + BANK_PAGES) * PAGE
PARTS = ("store", "acceptance", "reservoir", "net")
# Seconds of the paper's full update (Table 2): connect, download, erase, write, reset, boot.
PAPER_DFU = {
    "powerblade": (0.664, 85.154, 5.364, 31.272, 0.084, 0.822),
    "gesturepod": (0.425, 69.288, 4.656, 30.876, 0.062, 0.511),
    "farmbeats": (0.374, 78.220, 5.235, 31.312, 0.035, 0.508),
}
TARGETS = [
    ("dfu.image_bytes", None, None),
    ("dfu.boot_instructions", None, None),
    ("dfu.start_instructions", None, None),
    ("swap.powerblade.full.instructions", None, None),
    ("speedup.most", ">=", 89),
    ("speedup.most_against_our_own", None, None),
    ("speedup.of_a_full_capsule_least", None, None),
    ("erase_model_error_most", "<=", 0.1),
    ("month.updates", "=", 30),
    ("month.resets", "=", 0),
    ("month.rejected", None, None),
    ("table5.rule.right", None, None),
]

_DFU = """
import gc
store = channel = None
gc.collect()
import qboard
import _codec
P, T = qboard.PAGE_BYTES, qboard.ticks
source = memoryview(qboard.Flash(qboard.RAW_START + {channel} * P, {pages} * P))
bank = qboard.Flash(qboard.RAW_START + {store} * P, {pages} * P)
there = memoryview(bank)
state = bytearray(_codec.SHA_BYTES)
def erase(k):
    bank.ioctl(6, k)
def write(k):
    bank.writeblocks(k, source[k * P:(k + 1) * P], 0)
def check(k):
    _codec.sha_update(state, there[k * P:(k + 1) * P], P)
def cost(step):
    total = 0
    for k in range({pages}):
        t = T()
        step(k)
        total += (T() - t & 0x3fffffff) // 16
    return total
w = qboard.wear()
_codec.sha_start(state)
found = [cost(erase), cost(write), cost(check)]
v = qboard.wear()
print(found + [v[0] - w[0], v[1] - w[1], there[:] == source[:]])
"""
_MAIN = """
import qboard
booted = qboard.ticks()
from acclimate import _native
import _codec
_native.register('codec', _codec)
from acclimate.flash import BlockFlash
from acclimate.store import Store, Wanted, WEIGHTS
from acclimate.reservoir import Reservoir
flash = BlockFlash(qboard.Flash(qboard.RAW_START, {store} * qboard.PAGE_BYTES))
store = Store(flash, Wanted(model=7, kind=2, key={key!r}), chunk_bytes=256, day_pages=0)
sample = Reservoir(64, 24)
weights = store.view(WEIGHTS) if store.state != 'empty' else None
started = qboard.ticks()
"""
_NOTE = """
import os
if 'times' not in os.listdir('/'):
    with open('/times', 'w') as file:
        file.write(repr([booted, started]))
"""
_SWAPS = """
import gc
import acclimate._store_update
channel = memoryview(qboard.Flash(qboard.RAW_START + {channel} * qboard.PAGE_BYTES, {bytes}))
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
    gc.collect()
    w, pieces = qboard.wear(), Pieces(a, b)
    store.swap_capsule(pieces, True)
    pieces.add()
    v = qboard.wear()
    return pieces.total, v[0] - w[0], v[1] - w[1]
"""


def image():
    """Return the monolithic image: the firmware's flash, with the application frozen behind it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "image.bin")
        command = ["arm-none-eabi-objcopy", "-O", "binary", str(firmware(NAME)), str(out)]
        subprocess.run(command, check=True)
        data = out.read_bytes()
    data += b"".join(package.build(ARCH, list(PARTS)).values())
    _, model = capsule_apps.capsule(capsule_apps.APPLICATIONS[0], 1, seed=1)
    whole = data + model + bytes(-(len(data) + len(model)) % PAGE)
    if len(whole) > BANK_PAGES * PAGE:
        raise SystemExit(f"the image has {len(whole)} bytes, a bank {BANK_PAGES * PAGE}")
    return whole


def to_channel(board, blob):
    """Write what has come over the air to its place in the flash file."""
    with open(board.emulator.flash, "r+b") as flash:
        flash.seek(_FILE_AT)
        flash.write(blob)


def install(board, main):
    """Bring the package, the native module and main.py to a board."""
    files = package.build(ARCH, list(PARTS))
    board.mkdir("/lib/acclimate")
    for name, data in files.items():
        board.put_bytes(data, f"/lib/acclimate/{name}")
    native = capsule_board.built("native", ARCH, "_codec.mpy").read_bytes()
    board.put_bytes(native, "/_codec.mpy")
    board.put_bytes(main.encode(), "/main.py")


def firmware_update(board, data):
    """Return instructions and flash operations of a full update of the emulated board."""
    to_channel(board, data)
    pages = len(data) // PAGE
    names = {"pages": pages, "channel": STORE_PAGES + BANK_PAGES, "store": STORE_PAGES}
    found = ast.literal_eval(board.exec(_DFU.format(**names), 300))
    if not found[5]:
        raise SystemExit("the bank differs from what was sent")
    board.reset()
    times = ast.literal_eval(board.exec("print(open('/times').read())", 60))
    unit = 1e9 / board.ticks()[1] / (1 << capsule_board.SHIFT)
    return {
        "image_bytes": len(data),
        "erase_instructions": round(16 * found[0] * unit),
        "write_instructions": round(16 * found[1] * unit),
        "verify_instructions": round(16 * found[2] * unit),
        "erases": found[3],
        "words": found[4],
        "boot_instructions": round(times[0] * unit),
        "start_instructions": round((times[1] - times[0]) * unit),
    }


def forms(app):
    """Return (base, {form: bytes}) of updates to content that has nothing in common with it."""
    old, base = capsule_apps.capsule(app, 1, seed=1)
    new, target = capsule_apps.capsule(app, 2, seed=2)
    parts = {"weights": {"WEIGHTS": new["WEIGHTS"]}, "operators": {"OPERATORS": new["OPERATORS"]}}
    made = {"full": target}
    for form, part in parts.items():
        made[form] = update(base, capsule_apps.sign({**old, **part}, 2))
    return base, made


def swaps(board):
    """Return {application: {form: bytes, instructions, erases, words}} of capsule updates."""
    blob, places = b"", {}
    for app in capsule_apps.APPLICATIONS:
        base, made = forms(app)
        for form, data in (("base", base), *made.items()):
            places[app.name, form] = (len(blob), len(blob) + len(data))
            blob += data + bytes(-len(data) % 4)
    to_channel(board, blob + bytes(-len(blob) % PAGE))
    size = -(-len(blob) // PAGE) * PAGE
    board.exec(_SWAPS.format(channel=STORE_PAGES + BANK_PAGES, bytes=size), 60)
    unit = 16e9 / board.ticks()[1] / (1 << capsule_board.SHIFT)
    result = {}
    for app in capsule_apps.APPLICATIONS:
        for form in ("full", "weights", "operators"):
            board.exec("store.swap_capsule(channel[%d:%d], True)" % places[app.name, "base"], 60)
            start, end = places[app.name, form]
            ticks, erases, words = ast.literal_eval(
                board.exec(f"print(list(count({start}, {end})))", 120)
            )
            result.setdefault(app.name, {})[form] = {
                "bytes": end - start,
                "instructions": round(ticks * unit),
                "erases": erases,
                "words": words,
            }
    return result


def seconds(size, instructions, erases, words):
    """Return the model's seconds of an update, on the way and on the board."""
    delay, rate = (part() for part in CONNECT_AND_RATE)
    air = delay + size / rate
    flash = erases * ERASE_S + words * WORD_S
    computing = instructions / CLOCK_HZ
    return {"air": air, "flash": flash, "computing": computing, "total": air + flash + computing}


def energy(times):
    """Return joules of the model's seconds."""
    sheet = boards.load("feather_nrf52840")
    volts = sheet.value("power.voltage_v")
    flash = volts * sheet.value("power.erase_current_a") * times["flash"]
    radio = RADIO_V * RECEIVE_A * times["air"]
    return radio + flash + sheet.energy_j(times["computing"])


def of_firmware(dfu, size):
    """Return what a full update of so many bytes takes, from the instructions of our own."""
    pages, share = -(-size // PAGE), size / dfu["image_bytes"]
    work = sum(dfu[key + "_instructions"] for key in ("erase", "write", "verify")) * share
    work += dfu["boot_instructions"] + dfu["start_instructions"]
    return seconds(size, work, pages, size // 4)


def compare(result):
    """Add seconds, joules and ratios of both ways for each application."""
    rows, dfu = {}, result["dfu"]
    for app in capsule_apps.APPLICATIONS:
        ours = of_firmware(dfu, app.firmware)
        row = {"our_dfu": {**ours, "joules": energy(ours)}}
        theirs = PAPER_DFU.get(app.name)
        if theirs:
            row["paper_dfu_s"] = sum(theirs)
            row["erase_s"], row["paper_erase_s"] = -(-app.firmware // PAGE) * ERASE_S, theirs[2]
        for form, swap in result["swap"][app.name].items():
            times = seconds(swap["bytes"], swap["instructions"], swap["erases"], swap["words"])
            row[form] = {**times, "joules": energy(times)}
            row[form]["times_our_dfu"] = ours["total"] / times["total"]
            row[form]["times_less_energy"] = row["our_dfu"]["joules"] / row[form]["joules"]
            if theirs:
                row[form]["times_paper_dfu"] = row["paper_dfu_s"] / times["total"]
        rows[app.name] = row
    result["compared"] = rows
    pairs = [(row[f], f) for row in rows.values() for f in ("full", "weights", "operators")]
    result["speedup"] = {
        "most": max(p.get("times_paper_dfu", 0) for p, _ in pairs),
        "most_against_our_own": max(p["times_our_dfu"] for p, _ in pairs),
        "of_a_full_capsule_least": min(p["times_our_dfu"] for p, f in pairs if f == "full"),
        "of_a_full_capsule_most": max(p["times_our_dfu"] for p, f in pairs if f == "full"),
        "least_energy_of_a_full_capsule": min(
            p["times_less_energy"] for p, f in pairs if f == "full"
        ),
    }
    timed = [row for row in rows.values() if "erase_s" in row]
    errors = [abs(row["erase_s"] / row["paper_erase_s"] - 1) for row in timed]
    result["erase_model_error_most"] = max(errors)


def month(result):
    """Daily updates for 30 days, and the same month with full updates."""
    found = minerva_month.measure()
    times = seconds(found["bytes"], found["instructions"], found["erases"], found["words"])
    delay = CONNECT_AND_RATE[0]()
    times["air"] += (found["updates"] - 1) * delay
    dfu = of_firmware(result["dfu"], result["dfu"]["image_bytes"])
    whole = {key: found["updates"] * value for key, value in dfu.items()}
    found["joules"], found["dfu_joules"] = energy(times), energy(whole)
    found["share_of_battery"] = found["joules"] / BATTERY_J
    found["dfu_share_of_battery"] = found["dfu_joules"] / BATTERY_J
    found["dfu_bytes"] = found["updates"] * result["dfu"]["image_bytes"]
    found["dfu_erases"] = found["updates"] * result["dfu"]["erases"]
    result["month"] = found


def main():
    result = {"model": " ".join(__doc__.split("\n\n")[1].split())}
    with open_board(NAME, icount=capsule_board.SHIFT) as board:
        main_py = _MAIN.format(store=STORE_PAGES, key=capsule_board.KEY)
        install(board, main_py + _NOTE)
        board.soft_reset()
        board.exec(main_py, 60)
        result["swap"] = swaps(board)
        result["dfu"] = firmware_update(board, image())
    compare(result)
    month(result)
    result["table5"] = minerva_acceptance.measure()
    print(common.write("minerva", result))
    return 1 if common.table("Minerva", result, TARGETS) else 0


if __name__ == "__main__":
    sys.exit(main())
