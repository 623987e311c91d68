# SPDX-License-Identifier: MIT
"""A month of daily updates on the emulated nRF52840, each judged by the board itself.

A linear int8 classifier of handwritten digits (scikit-learn's) learns from more images each day.
On three days its labels were shuffled: a model that should be refused. The program on the board
runs through, without a reset; each day it meets 20 inputs, and its reservoir goes on.
"""

import ast
import base64
import warnings

import numpy as np

from acclimate_host.capsules.build import build
from acclimate_host.capsules.delta import update
from acclimate_host.connect import open_board, package
from acclimate_host.paths import built
from bench import capsule_board

DAYS, BAD_DAYS = 30, (7, 16, 24)
CLASSES, WIDTH, PER_DAY = 10, 65, 20
NAME, ARCH = "nrf52840", "armv7emsp"
_SETUP = """
import gc, qboard
from array import array
from binascii import a2b_base64 as u
from acclimate import _native, acceptance
import _codec
_native.register('codec', _codec)
from acclimate.flash import BlockFlash
from acclimate.reservoir import Reservoir
from acclimate.store import Store, Wanted, WEIGHTS
from acclimate._store_update import feed
flash = BlockFlash(qboard.Flash(qboard.RAW_START, 8 * qboard.PAGE_BYTES))
store = Store(flash, Wanted(model=9, kind=1, key={key!r}), chunk_bytes=256, day_pages=0)
sample, days = Reservoir(64, 65), 0
W, logits, T = bytearray(650), array('i', [0] * 10), qboard.ticks
seen = {{}}
def model(where):
    # Weights of the model in use, or of the one that waits.
    where.readinto(WEIGHTS, 0, W)
def answer(row):
    for k in range(10):
        at, total = 65 * k, 0
        for i in range(65):
            w = W[at + i]
            total += (w - 256 if w > 127 else w) * row[i]
        logits[k] = total >> 2
    return acceptance.confidence(logits, 10, 256)
def predict(waiting, row):
    if seen.get('for') != (days, 1):
        model(waiting)
        seen['for'] = (days, 1)
    return answer(row)
def meet(rows):
    model(store)
    seen['for'] = (days, 0)
    for k in range(len(rows) // 65):
        row = rows[65 * k:65 * k + 65]
        found = answer(row)
        sample.offer(row, found >> 8, found & 255)
def again():
    # After a swap the kept answers are those of the old model.
    model(store)
    seen['for'] = (days, 0)
    sample.refresh(answer, bytearray(65))
def day(data):
    global days
    days += 1
    gc.collect()
    w, t = qboard.wear(), T()
    feed(store, data)
    work = (T() - t & 0x3fffffff) // 16
    t = T()
    verdict = acceptance.accept(store, sample, predict)
    judging = (T() - t & 0x3fffffff) // 16
    t = T()
    if verdict == acceptance.ACCEPT:
        store.trial()
        store.confirm()
        work += (T() - t & 0x3fffffff) // 16
        again()
    elif verdict == acceptance.UNDECIDED:
        store.rollback()
    v = qboard.wear()
    return verdict, work, judging, v[0] - w[0], v[1] - w[1], days, store.head.version
"""


def models():
    """Return ([int8 weights (10, 65) of each day], share right of each, rows for the user)."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    data = load_digits()
    draw = np.random.default_rng(1)
    order = draw.permutation(len(data.data))
    x, y = np.c_[data.data, np.full(len(data.data), 16)][order], data.target[order]
    train, user, test = slice(0, 700), slice(700, 1300), slice(1300, None)
    made, right = [], []
    for day in range(DAYS + 1):
        count = 100 + 20 * day
        labels = y[train][:count]
        if day in BAD_DAYS:
            labels = draw.permutation(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = LogisticRegression(C=0.001, max_iter=200).fit(x[train][:count], labels)
        weights = np.zeros((CLASSES, WIDTH))
        weights[fitted.classes_] = fitted.coef_
        made.append(np.rint(weights / np.abs(weights).max() * 127).astype(np.int8))
        right.append(float(((x[test] @ made[-1].T).argmax(1) == y[test]).mean()))
    return made, right, x[user].astype(np.uint8)


def capsule(weights, version):
    content = {"WEIGHTS": weights.tobytes()}
    return build(content, "SVM", 9, version, key=capsule_board.KEY)


def text(data):
    return "u('" + base64.b64encode(data).decode() + "')"


def measure():
    """Return what the month took, and how often the board decided rightly."""
    made, right, rows = models()
    with open_board(NAME, icount=capsule_board.SHIFT) as board:
        board.mkdir("/lib/acclimate")
        for name, data in package.build(ARCH, ["store", "acceptance", "reservoir"]).items():
            board.put_bytes(data, f"/lib/acclimate/{name}")
        board.put_bytes(built("native", ARCH, "_codec.mpy").read_bytes(), "/_codec.mpy")
        board.soft_reset()
        board.exec(_SETUP.format(key=capsule_board.KEY), 60)
        in_use = capsule(made[0], 1)
        board.exec(f"store.swap_capsule({text(in_use)})", 60)
        unit = 16e9 / board.ticks()[1] / (1 << capsule_board.SHIFT)
        return _month(board, made, right, rows, in_use, unit)


def _month(board, made, right, rows, in_use, unit):
    found = {"updates": 0, "accepted": 0, "rejected": 0, "right": 0, "bytes": 0, "resets": 0}
    found |= {"instructions": 0, "judging_instructions": 0, "erases": 0, "words": 0}
    found |= {"bad_refused": 0, "bad_days": len(BAD_DAYS), "days": []}
    best = 0  # the day whose model is in use
    for day in range(1, DAYS + 1):
        met = rows[(day - 1) * PER_DAY : day * PER_DAY]
        board.exec(f"meet({text(met.tobytes())})", 120)
        target = capsule(made[day], day + 1)
        data = update(in_use, target)
        data = data if len(data) < len(target) else target
        answer = ast.literal_eval(board.exec(f"print(list(day({text(data)})))", 300))
        verdict, work, judging, erases, words, days, version = answer
        taken = bool(verdict == 1)
        found["resets"] += days != day
        found["updates"] += 1
        found["accepted"] += taken
        found["rejected"] += not taken
        found["bad_refused"] += day in BAD_DAYS and not taken
        found["right"] += right[day] == right[best] or taken == (right[day] > right[best])
        found["bytes"] += len(data)
        found["instructions"] += round(work * unit)
        found["judging_instructions"] += round(judging * unit)
        found["erases"] += erases
        found["words"] += words
        found["days"].append([day, len(data), taken, right[best], right[day]])
        if taken:
            best, in_use = day, target
        assert version == best + 1, "the board has another model than this computer believes"
    found["accuracy_first"], found["accuracy_last"] = right[0], right[best]
    found["accuracy_always_accept"] = right[DAYS]
    found["capsule_bytes"] = len(in_use)
    return found
