# SPDX-License-Identifier: MIT
"""Words in running sound: microphone, levels of bands, an int8 network, a label. Nothing else.

Every 64 ms a window of sound becomes a row of 12 levels. The last 12 rows are a picture, and a
network of two convolutions says which word is in it. A word counts when two pictures in a row
show it. The microphone is at ADC(0), and the program goes on; else 24 words are simulated, with
pauses and noise.

    python examples/keyword_network_train.py     # on the computer: trains, writes heard/
    acclimate run examples/keyword_network.py --board nrf52840 --with frontend --put heard/*
    (--port DEV instead of --board and --with, after the install of docs/examples.md)
"""

import time
from array import array

from acclimate.features import Frontend
from acclimate.net import Net

WORDS = ("nothing", "on", "off", "dim")
PITCHES = ((0, 0), (4, 11), (11, 4), (7, 8))  # of the voice, from and to, in eighths of 1 kHz
LONG, ROWS = 6, 12  # windows of a word and of a picture
WAVE = (0, 38, 71, 92, 100, 92, 71, 38, 0, -38, -71, -92, -100, -92, -71, -38)  # a sine, percent
try:
    from machine import ADC

    MIC = ADC(0)
except (ImportError, OSError, ValueError, TypeError):
    MIC = None


class Speaker:
    """Says words with pauses between them, in a noisy room; stands for a microphone."""

    def __init__(self, seed=9):
        self.seed, self.word, self.left, self.pause = seed, 0, 0, 4

    def draw(self, low, high):
        self.seed = self.seed * 171 % 30269
        return low + self.seed % (high - low + 1)

    def next(self, window, word):
        """Fill a window of 16 ms; begin with `word` when a pause ends. Return what is said."""
        if self.left == 0 and self.pause == 0:
            self.word, self.left, self.pause = word, LONG, self.draw(6, 16)
            self.voice, self.loud = self.draw(80, 125), self.draw(2000, 6000)
        said, step, loud = (self.word if self.left else 0), 0, 0
        if said:
            (first, last), n = PITCHES[said], LONG - self.left
            step = (first * (LONG - 1 - n) + last * n) * self.voice // (100 * (LONG - 1))
            loud, self.left = self.loud, self.left - 1
        else:
            self.pause -= 1
        phase = self.draw(0, 15)
        for k in range(len(window)):
            sound = WAVE[(phase + k * step // 4) % len(WAVE)]
            window[k] = loud * sound // 100 + self.draw(-300, 300)
        return said


def listen(window):
    """Fill a window from the microphone, 64 ms after the one before."""
    time.sleep_ms(48)
    for k in range(len(window)):
        window[k] = MIC.read_u16() - 32768
        time.sleep_us(110)


class Pictures:
    """The last rows of levels. `front` is a `Frontend`."""

    def __init__(self, front):
        self.front, self.window = front, array("h", bytes(2 * front.samples))
        self.row = bytearray(front.width)
        self.picture = bytearray(ROWS * front.width)

    def add(self):
        """Take the window in as the newest row; return the picture."""
        width, picture = self.front.width, memoryview(self.picture)
        for at in range(0, len(picture) - width, width):
            picture[at : at + width] = picture[at + width : at + 2 * width]
        picture[-width:] = self.front.into(self.window, self.row)
        return self.picture


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(words=24):
    """Print each word that is heard, and how many of those that were said."""
    net, pictures = Net(read("heard.program")), Pictures(Frontend(read("heard.tables")))
    print("microphone at ADC(0)" if MIC else "no microphone: simulated words")
    speaker, counts, before, is_new = Speaker(), [0, 0, 0], 0, True
    while counts[0] < words or speaker.left or speaker.pause:
        if MIC:
            listen(pictures.window)
        else:
            counts[0] += not speaker.left and not speaker.pause
            speaker.next(pictures.window, 1 + counts[0] % 3)
        label = net.predict(pictures.add())
        if label and label == before and is_new:
            counts[1 if label == speaker.word else 2] += 1
            print("heard:", WORDS[label])
        is_new = label == 0 or is_new and label != before
        before = label
    print("%d words said, %d heard, %d taken for others" % tuple(counts))


if __name__ == "__main__":
    main()
