# SPDX-License-Identifier: MIT
"""Instructions of the front end for sound on the emulated Cortex-M4F, beside CMSIS-DSP's.

Keys `frontend.*`, the mean of WINDOWS windows of a sound of 16 kHz:

- fft: the transform of 512 real samples of 16 bits, the code and flags of the module that ships
- fft_ratio: that over CMSIS-DSP's `arm_rfft_q15` of the same samples
- whole: a window as `acclimate.features.Frontend` makes it: 480 samples to 40 levels, with
  noise reduction and gain
- whole_ratio: that over CMSIS-DSP's `arm_mfcc_q15` of 512 samples with the same window and 40 mel
  filters, without its cosine transform; it has no noise reduction and no gain
- arithmetic: the largest error of each transform against numpy, in steps of the result

CMSIS_DSP=DIR names a copy of its source (github.com/ARM-software/CMSIS-DSP); all counts are then
of one run. Without it the counts recorded in RECORD stand, with their date and commit.
"""

import datetime
import json
import os

import numpy as np

from acclimate_host.model import frontend
from acclimate_host.paths import built, repository
from bench import common, net_board
from bench.net_cmsis import commit

RECORD = repository() / "bench" / "recorded" / "cmsis_dsp.json"
BOARD = "nrf52840"
SIZE, SAMPLES, STEP, BANDS, WINDOWS = 512, 480, 160, 40, 16
TARGETS = [
    ("frontend.fft_ratio", "<=", 1.2),
    ("frontend.whole_ratio", "<=", 1.2),
    ("frontend.fft", None, None),
    ("frontend.whole", None, None),
]
_CODE = """
import fft_ref, _frontend
parts, at = [], 0
for n in {lengths}:
    parts.append(flash[at:at + n])
    at += (n + 3) // 4 * 4
tables, sound, order, turns, splits = parts[:5]
work, state, row = bytearray(2052), bytearray({state}), array('H', bytes(80))
found = []
def timed(run, *args):
    t = T()
    status = run(*args)
    t = (T() - t) & 0x3fffffff
    if status:
        raise ValueError(status)
    return t
for step in range({windows}):
    window = bytearray(sound[step * 320:step * 320 + 960])
    full = bytearray(sound[step * 320:step * 320 + 1024])
    counts = [timed(fft_ref.nothing, order, turns, splits, full, work)]
    counts.append(timed(fft_ref.real, order, turns, splits, full, work))
    spectrum = bytes(work[:1028])
    counts.append(timed(_frontend.run, tables, state, window, row))
    theirs = b''
    if {dsp}:
        import dsp_ref
        if not step:
            dsp_ref.begin(*parts[5:])
        counts.append(timed(dsp_ref.real, bytearray(full), work))
        theirs = bytes(work[:1028])
        for i in range(960, 1024):
            full[i] = 0
        counts.append(timed(dsp_ref.mel, full, work))
    found.append((counts, spectrum, theirs, bytes(full)[:80]))
print(found)
"""


def measure(result):
    """Add `frontend` to the result of the bench of networks."""
    folder = os.environ.get("CMSIS_DSP")
    sound = _sound()
    rows, per_tick = _run(sound, bool(folder))
    counts = np.mean([row[0] for row in rows], 0) * per_tick
    fft, whole, *theirs = (round(float(count - counts[0])) for count in counts[1:])
    if folder:
        source = {"repository": "github.com/ARM-software/CMSIS-DSP", "commit": commit(folder)}
        source["date"] = datetime.date.today().isoformat()
        record = {"source": source, "fft": theirs[0], "whole": theirs[1]}
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
    record = json.loads(RECORD.read_text())
    result["frontend"] = {
        "fft": fft,
        "fft_ratio": round(fft / record["fft"], 3),
        "whole": whole,
        "whole_ratio": round(whole / record["whole"], 3),
        "cmsis_dsp": record | {"measured": "now" if folder else "recorded"},
        "arithmetic": {"ours": _error(sound, rows, 1)}
        | ({"cmsis_dsp": _error(sound, rows, 2)} if folder else {}),
    }


def _sound():
    """Noise that swells, and a whistle that rises, at 16 kHz."""
    at = np.arange(STEP * (WINDOWS - 1) + SIZE)
    noise = np.random.default_rng(1).normal(size=len(at)) * 3000 * np.abs(np.sin(at / 900))
    return (noise + 8000 * np.sin(at**2 / 3e4)).clip(-32768, 32767).astype("<i2")


def _run(sound, dsp):
    """Return (rows of counts and results for each window, instructions a tick)."""
    tables = frontend.log_mel()
    parts = [tables, sound.tobytes(), *(part.astype("<u2").tobytes() for part in _turns(tables))]
    natives = [common.build_module("fft_ref", net_board.ARCH[BOARD])]
    natives.append(built("native", net_board.ARCH[BOARD], "_frontend.mpy"))
    if dsp:
        parts += _filters(tables)
        natives.append(common.build_module("dsp_ref", net_board.ARCH[BOARD]))
    names = {
        "lengths": [len(part) for part in parts],
        "state": 4 * (2 * BANDS + SIZE + 1),
        "windows": WINDOWS,
        "dsp": dsp,
    }
    data = b"".join(part + bytes(-len(part) % 4) for part in parts)
    return net_board.run(BOARD, data, natives, _CODE, names)


def _numbers(tables):
    """Return the numbers of the tables behind head and window: see docs/features.md."""
    return np.frombuffer(tables, "<u2")[16 + SAMPLES :]


def _turns(tables):
    """Return order, turns and splits of the transform."""
    return np.split(_numbers(tables)[: 64 + 3 * SIZE // 4 + SIZE // 2], [64, 64 + 3 * SIZE // 4])


def _filters(tables):
    """Return the window and the mel filters of the same tables as CMSIS-DSP takes them."""
    window = np.zeros(SIZE, "<i2")
    window[:SAMPLES] = np.minimum(np.frombuffer(tables, "<i2")[16 : 16 + SAMPLES] * 8, 32767)
    numbers = _numbers(tables)[64 + 3 * SIZE // 4 + SIZE // 2 :].astype(int)
    at, counts = numbers[: 2 * (BANDS + 1)].reshape(-1, 2).T
    weights = np.split(
        numbers[2 * (BANDS + 1) :][: 2 * sum(counts)].reshape(-1, 2), np.cumsum(counts)
    )
    positions, lengths, found = [], [], []
    for band in range(BANDS):
        rising, falling = weights[band][:, 1], weights[band + 1][:, 0]
        positions.append(at[band] if counts[band] else at[band + 1])
        lengths.append(counts[band] + counts[band + 1])
        found += [np.minimum(part * 8, 32767) for part in (rising, falling)]
    whole = [np.array(part, "<u4").tobytes() for part in (positions, lengths)]
    return [window.tobytes(), *whole, np.concatenate(found).astype("<i2").tobytes()]


def _error(sound, rows, at):
    """Return the largest error of the spectra, each over the number of samples, in steps."""
    worst = 0.0
    for step, row in enumerate(rows):
        found = np.frombuffer(row[at], "<i2").reshape(-1, 2) @ [1, 1j]
        window = sound[STEP * step : STEP * step + SIZE].astype(float)
        worst = max(worst, np.abs(found - np.fft.rfft(window) / SIZE).max())
    return round(float(worst), 2)
