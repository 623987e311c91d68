# SPDX-License-Identifier: MIT
"""A keyword model that is replaced while the program runs: the program stays, the model changes.

Version 1 knows "on" and "off". Version 2 knows "dim" as well. Each capsule that arrives is
verified, tried on words that the user confirmed, and kept where it is no worse. One that arrives
was damaged on its way, one learned wrong labels. The microphone is at ADC(0), else simulated.

    python examples/keyword_release.py            # on the computer: trains, signs, writes words/
    acclimate run examples/keyword_device.py --board nrf52840 --with frontend --put words/*
    (--port DEV instead of --board and --with, after the install of docs/examples.md)
"""

import io
import time
from array import array

from acclimate.features import Frontend
from acclimate.flash import open_flash
from acclimate.store import WEIGHTS, CapsuleError, LiveModel, Store, Wanted
from acclimate.svm import SVM

WORDS = ("nothing", "on", "off", "dim")
PITCHES = ((0, 0), (4, 11), (11, 4), (7, 8))  # of the voice, from and to, in eighths of 1 kHz
WINDOWS, WINDOW_MS = 6, 64  # a word is six windows of 16 ms at 8 kHz, one every 64 ms
WAVE = (0, 38, 71, 92, 100, 92, 71, 38, 0, -38, -71, -92, -100, -92, -71, -38)  # a sine, percent
try:
    from machine import ADC

    MIC = ADC(0)
except (ImportError, OSError, ValueError, TypeError):
    MIC = None


class Ear:
    """Hears words: levels of bands, window after window. `front` is a `Frontend`."""

    def __init__(self, front, seed=9):
        self.front, self.seed = front, seed
        self.window, self.part = array("h", bytes(2 * front.samples)), bytearray(front.width)

    def draw(self, low, high):
        self.seed = self.seed * 171 % 30269
        return low + self.seed % (high - low + 1)

    def record(self, label, n, voice):
        """Fill window `n` of a word with a voice that rises, falls or stays."""
        first, last = PITCHES[label]
        step = (first * (WINDOWS - 1 - n) + last * n) * voice // (100 * (WINDOWS - 1))
        loud, phase = self.draw(2000, 6000) if label else 0, self.draw(0, 15)
        for k in range(len(self.window)):
            sound = WAVE[(phase + k * step // 4) % len(WAVE)]
            self.window[k] = loud * sound // 100 + self.draw(-300, 300)

    def listen(self):
        """The same from the microphone."""
        time.sleep_ms(WINDOW_MS - 16)
        for k in range(len(self.window)):
            self.window[k] = MIC.read_u16() - 32768
            time.sleep_us(110)

    def hear(self, label):
        """Return the levels of a word as one row; the person is asked for it."""
        row, voice = bytearray(), self.draw(80, 125)
        self.front.reset()
        if MIC:
            print("say:", WORDS[label])
        for n in range(WINDOWS):
            self.listen() if MIC else self.record(label, n, voice)
            row.extend(self.front.into(self.window, self.part))
        return array("b", row)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def load(store):
    data = bytearray(store.section(WEIGHTS)[1])
    store.readinto(WEIGHTS, 0, data)
    return SVM.load(io.BytesIO(data))


def count_right(current, known):
    return sum(current.predict(row) == label for row, label in known)


def take(current, path, known):
    """Verify and try a capsule; keep it unless it is worse on the words that were confirmed."""
    store = current.store
    before = count_right(current, known)
    try:
        data = read(path)
        start = store.stage(data, len(data))  # after a cut of the power it goes on there
        store.write(data[start:], len(data) - start)
        store.finish()
        current.switch(store.trial)
    except CapsuleError as error:  # an older version, another key, a damaged file
        return "refused: %s" % error
    after = count_right(current, known)
    current.switch(store.confirm if after >= before else store.rollback)
    return "%s: %d of %d right, before %d" % (store.state, after, len(known), before)


def main(words=16):
    """Print what becomes of each capsule, and how many of the next words are right then."""
    store = Store(
        open_flash("capsule.region", 16384), Wanted(model=5, kind=1, key=read("capsule.key"))
    )
    current, ear, known = LiveModel(store, load), Ear(Frontend(read("words.tables"))), []
    print("microphone at ADC(0)" if MIC else "no microphone: simulated words")
    for path in ("1.acap", "damaged.acap", "2.acap", "3.acap"):
        print(path, take(current, path, known))
        known = [(ear.hear(k % 4), k % 4) for k in range(words)]
        print("  version %d: %d right" % (current.version, count_right(current, known)))


if __name__ == "__main__":
    main()
