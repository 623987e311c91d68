# SPDX-License-Identifier: MIT
"""A device of a fleet: it pulls a model, tries it on its own data, accepts it or not, and reports.

It listens to a pump (ADC(0), else simulated), and a person judges ten windows. A newer model must
agree with them and with the model in use, or it is given back for ever. Run it once a day.

    python examples/fleet_release.py 1                       # on the computer: train and publish
    acclimate serve repository --key capsule.key &           # its address goes into fleet.url
    acclimate run examples/fleet_device.py --board desktop --put capsule.key fleet.url
    (without a network `acclimate pull --trial` brings models by cable: docs/examples.md)
"""

import io
import os
import time
from array import array

from acclimate.acceptance import ACCEPT, accept
from acclimate.features import WindowFeatures
from acclimate.flash import BlockFlash, open_flash
from acclimate.pull import Client, make_report, send_report
from acclimate.reservoir import Reservoir
from acclimate.store import WEIGHTS, CapsuleError, Store, Wanted
from acclimate.svm import SVM

DEVICE, MODEL, WINDOWS, SAMPLES = 17, 7, 40, 32
OUTCOMES = ("", "current", "taken", "refused", "failed")  # as a report has them, 1 to 4
FEATURES = WindowFeatures(1, SAMPLES, shift=6, kinds=("dev", "max", "cross"))
try:
    from machine import ADC

    SENSOR = ADC(0)
except (ImportError, OSError, ValueError, TypeError):
    SENSOR = None


class Pump:
    """A pump with a hum of its own; one whose bearing is worn (label 1) rattles as well."""

    def __init__(self, hum, seed=3):
        self.hum, self.seed, self.window = hum, seed, array("h", bytes(2 * SAMPLES))

    def hear(self, label):  # returns the features of a window
        for k in range(SAMPLES):
            self.seed = self.seed * 171 % 30269
            noise = self.seed % 3001 - 1500 if label else self.seed % 601 - 300
            sound = self.hum * (k % 8 - 4) // 4 + noise
            self.window[k] = SENSOR.read_u16() - 32768 if SENSOR else sound
        return FEATURES.into(self.window, array("b", bytes(FEATURES.width)))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def open_region():
    try:
        import qboard  # an emulated board
    except ImportError:
        return open_flash("capsule.region", 65536)
    return BlockFlash(qboard.Flash(qboard.RAW_START, qboard.RAW_BYTES))


def load(store):
    """Return what answers a row with its label x 256 + how far it is from the boundary."""
    data = bytearray(store.section(WEIGHTS)[1])
    store.readinto(WEIGHTS, 0, data)
    model = SVM.load(io.BytesIO(data))
    return lambda row: model.predict(row) << 8 | min(255, int(abs(model.decision(row)) * 128))


def judge(store, sample, known):
    """Decide on the model that waits or is on trial; tell whether it is in use now."""
    if store.state == "verified" and sample.count:
        new = load(store.waiting())
        if accept(store, sample, lambda _, row: new(row)) != ACCEPT:
            return False
    store.trial()  # on trial already, after a reset or from the cable: this changes nothing
    model = load(store)
    right = sum(model(row) >> 8 == label for row, label in known)
    print("on trial: version %d, %d of %d right" % (store.head.version, right, len(known)))
    store.confirm() if right * 10 >= len(known) * 6 else store.rollback()
    return store.state == "confirmed"


def update(store, url, sample, known):
    """Pull where there is a network, and judge what came: the number of the outcome."""
    try:
        if url:
            Client(store, url, device=DEVICE).pull()
        if store.state not in ("verified", "trial"):
            return 1
        return 2 if judge(store, sample, known) else 3
    except (CapsuleError, OSError) as error:
        return 3 if isinstance(error, CapsuleError) else 4


def main():
    url = read("fleet.url").decode().strip() if "fleet.url" in os.listdir() else ""
    store = Store(open_region(), Wanted(model=MODEL, kind=1, key=read("capsule.key")))
    pump, sample, known, right = Pump(hum=1500), Reservoir(32, FEATURES.width), [], 0
    answer = load(store) if store.active is not None else None
    for k in range(WINDOWS):
        label, row = k % 2, pump.hear(k % 2)
        if answer:
            said, sure = divmod(answer(row), 256)
            sample.offer(row, said, sure)
            right += said == label
        known += [(row, label)] if k < 10 else []  # a person looked: with a sensor, ask one
    print("version %d: %d of %d right" % (store.head.version if answer else 0, right, WINDOWS))
    outcome = update(store, url, sample, known)
    if url:
        send_report(url, make_report(store, DEVICE, int(time.time()), outcome))
    print("%s: version %d, %s" % (OUTCOMES[outcome], store.head.version, store.state))


if __name__ == "__main__":
    main()
