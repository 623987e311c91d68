# SPDX-License-Identifier: MIT
"""The four applications of the Minerva paper as capsules: bytes, time on the air, instructions.

Sizes, full firmware updates and their download times over LTE-M are the paper's (Tables 1 and 4,
KB of 1000 bytes). Our LTE-M times are predicted: the rate of the paper's own full downloads, and a
connection's delay from the logs of two of its capsules. For LoRa it is the time on the air by
Semtech's formula, for the paper's firmware too, as it gives none. Nothing was sent by radio.
"""

import ast
import base64
import math
import random
from dataclasses import dataclass

from acclimate_host.capsules.build import build, head_bytes
from acclimate_host.capsules.delta import patch, update
from acclimate_host.connect import open_board
from acclimate_host.paths import built
from bench import capsule_board


@dataclass(frozen=True)
class Application:
    name: str
    weights: int
    operators: int
    firmware: int  # the paper's full update
    download_s: float | None  # of that, over LTE-M
    hash_ms: float  # SHA-256 and copy on the nRF52840 at 64 MHz
    copy_ms: float
    weights_s: tuple | None = None  # least and most seconds of its capsules over LTE-M, from logs
    operators_s: tuple | None = None


APPLICATIONS = (
    Application("powerblade", 18_930, 1_390, 266_740, 85.2, 31.49, 0.28),
    Application("sportsanalytics", 31_480, 390, 550_530, None, 48.96, 0.44),
    Application("gesturepod", 6_720, 520, 214_910, 69.3, 11.20, 0.10),
    Application("farmbeats", 5_470, 530, 264_530, 78.2, 9.28, 0.08, (1.7, 2.7), (0.6, 1.0)),
)
_LORA_BYTES = 222  # payload of one message at data rate 5 (EU868, SF7)


def lte_bytes_per_s():
    """Return the rate of the paper's downloads."""
    timed = [a for a in APPLICATIONS if a.download_s]
    return sum(a.firmware for a in timed) / sum(a.download_s for a in timed)


def lte_delay_s():
    """Return what the paper's capsules took beyond their bytes: the mean of its logs."""
    found = [
        sum(times) / 2 - count / lte_bytes_per_s()
        for a in APPLICATIONS
        for times, count in ((a.weights_s, a.weights), (a.operators_s, a.operators))
        if times
    ]
    return sum(found) / len(found)


def lora_s(count):
    """Return seconds on the air for so many bytes: SF7, 125 kHz, coding 4/5, with LoRaWAN."""
    total = 0.0
    while count > 0:
        payload = min(_LORA_BYTES, count) + 13
        symbols = 8 + max(0, math.ceil((8 * payload - 28 + 44) / 28) * 5)
        total += (12.25 + symbols) * 2**7 / 125_000
        count -= _LORA_BYTES
    return total


def capsule(app, version, seed=None):
    """A capsule of these sizes; with a seed the content is random, else a pattern."""
    draw = random.Random(seed)
    pattern = bytes(range(256)) * (app.weights // 256 + 1)
    sections = {
        name: pattern[:n] if seed is None else draw.randbytes(n)
        for name, n in (("WEIGHTS", app.weights), ("OPERATORS", app.operators))
    }
    return sections, sign(sections, version)


def sign(sections, version):
    return build(sections, "NETWORK", 7, version, key=capsule_board.KEY)


def updates(app):
    """Return {form: bytes} of updates to content that has nothing in common with the old."""
    old, base = capsule(app, 1, seed=1)
    new, target = capsule(app, 2, seed=2)

    def with_new(name):
        return update(base, sign({**old, name: new[name]}, 2))

    _, one_range = patch(
        base, head_bytes(base) + 1000, new["WEIGHTS"][:256], lambda sections: sign(sections, 2)
    )
    return {
        "full": len(target),
        "weights_only": len(with_new("WEIGHTS")),
        "operators_only": len(with_new("OPERATORS")),
        "patch_of_256_bytes": len(one_range),
    }


def bytes_and_times():
    """Return {application: numbers} beside those of the paper."""
    rate, delay, result = lte_bytes_per_s(), lte_delay_s(), {}
    for app in APPLICATIONS:
        sizes = updates(app)
        result[app.name] = {
            "bytes": sizes,
            "overhead_bytes": sizes["full"] - app.weights - app.operators,
            "lte_m_s": {form: round(delay + n / rate, 2) for form, n in sizes.items()},
            "lora_sf7_air_s": {form: round(lora_s(n), 1) for form, n in sizes.items()},
            "paper": {
                "full_firmware_bytes": app.firmware,
                "full_firmware_lte_m_s": app.download_s,
                "weights_bytes": app.weights,
                "operators_bytes": app.operators,
                "weights_lte_m_s": app.weights_s,
                "operators_lte_m_s": app.operators_s,
                "hash_cycles": round(app.hash_ms * 64_000),
                "copy_cycles": round(app.copy_ms * 64_000),
                "full_firmware_lora_sf7_air_s": round(lora_s(app.firmware), 1),
            },
        }
    return result


_SETUP = """
import gc, qboard
from acclimate import _native
import _codec
_native.register('codec', _codec)
from binascii import a2b_base64 as u
from acclimate.flash import BlockFlash
from acclimate.store import CapsuleError
from acclimate.store import Wanted
from acclimate.store import Store
flash = BlockFlash(qboard.Flash(qboard.RAW_START, {pages} * qboard.PAGE_BYTES))
store = Store(flash, Wanted(model=7, kind=2, key={key!r}), chunk_bytes={chunk}, day_pages=0)
T = qboard.ticks
M = 0x3fffffff
P = bytes(range(256))
def fill(n):
    while n:
        k = min(256, n)
        store.write(P if k == 256 else P[:k], k)
        n -= k
def app(head, weights, pad, operators, end):
    try:
        store.stage(head, len(head), True)
    except CapsuleError as error:
        return error.reason
    store.write(head, len(head))
    fill(weights)
    if pad:
        store.write(bytes(pad), pad)
    fill(operators)
    if end:
        store.write(bytes(end), end)
    store.finish()
    gc.collect()
    total = 0
    t = T()
    for _ in store.checker.steps(store.incoming, store.slots.start(store.journal.slot)):
        total += (T() - t & M) // 16
        t = T()
    store.checker.authentic(store.incoming, store.wanted)
    total += (T() - t & M) // 16
    t = T()
    store.trial()
    store.confirm()
    return total, (T() - t & M) // 16
"""


def on_board(name):
    """Return {application: instructions to verify and to activate} on an emulated board."""
    pages = {"nrf52840": 24, "samd21": 64}[name]
    chunk, elf = capsule_board.CHUNK_BYTES[name], None
    if name in capsule_board.ELF:
        elf = built(*capsule_board.ELF[name])
    result = {}
    with open_board(name, icount=capsule_board.SHIFT, elf=elf) as board:
        capsule_board.install(board, name)
        board.soft_reset()
        board.exec(_SETUP.format(pages=pages, chunk=chunk, key=capsule_board.KEY), 60)
        _, hz = board.ticks()
        per_tick = 16e9 / hz / (1 << capsule_board.SHIFT)
        for app in APPLICATIONS:
            _, data = capsule(app, 1)
            head = base64.b64encode(data[: head_bytes(data)]).decode()
            pad = -(head_bytes(data) + app.weights) % 4
            end = len(data) - (head_bytes(data) + app.weights + pad + app.operators)
            text = board.exec(
                f"print(repr(app(u('{head}'), {app.weights}, {pad}, {app.operators}, {end})))", 120
            )
            found = ast.literal_eval(text)
            if isinstance(found, str):
                result[app.name] = {"refused": found}
                continue
            verify, activate = (round(ticks * per_tick) for ticks in found)
            result[app.name] = {
                "verify_instructions": verify,
                "activate_instructions": activate,
                "bytes": len(data),
            }
    return result
