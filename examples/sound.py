# SPDX-License-Identifier: MIT
"""A machine that knows when it sounds wrong: it learns what is usual, and nobody labels anything.

A one-class machine learns how loud 12 bands of the sound are while the machine is fine. More
windows, held back, set the score below which a window is wrong. Three wrong ones in a row are an
alarm, as one can be a slammed door.

A microphone at ADC(0) is read where there is one. Else a motor is simulated, as it then says: its
load changes all the time, and from window 40 on a worn bearing rings, at first far below the hum.

    python examples/sound_tables.py                 # on the computer: writes sound.tables
    acclimate run examples/sound.py --board nrf52840 --with kinds,frontend --put sound.tables

Or on a board: `acclimate install --with kinds,frontend`, `acclimate cp sound.tables :`, and
`mpremote run examples/sound.py`.
"""

from array import array

from acclimate.features import Frontend
from acclimate.svm import SVM

RATE_HZ, LEARN, HELD, WEARS_FROM, IN_A_ROW = 8000, 30, 20, 40, 3
WAVE = (0, 38, 71, 92, 100, 92, 71, 38, 0, -38, -71, -92, -100, -92, -71, -38)  # a sine, percent


class SimulatedMotor:
    """A hum of 500 Hz as loud as the load; a worn bearing rings at 3 kHz, louder every window."""

    def __init__(self):
        self.seed, self.wear = 11, 0

    def noise(self, most):
        self.seed = self.seed * 171 % 30269
        return self.seed % (2 * most + 1) - most

    def record(self, window):
        load, phase = 6000 + self.noise(3000), self.noise(8)
        for k in range(len(window)):
            hum, ring = WAVE[(phase + k) % 16], WAVE[6 * k % 16]
            window[k] = (load * hum + self.wear * ring) // 100 + self.noise(150)

    def age(self):
        self.wear += 8


class Microphone:
    """The real one, read 8,000 times a second, or as often as the board's ADC can."""

    def __init__(self):
        from machine import ADC

        self.adc = ADC(0)
        self.adc.read_u16()

    def record(self, window):
        from time import ticks_add, ticks_diff, ticks_us

        due = ticks_us()
        for k in range(len(window)):
            while ticks_diff(due, ticks_us()) > 0:
                pass
            window[k] = self.adc.read_u16() - 32768
            due = ticks_add(due, 1000000 // RATE_HZ)

    def age(self):
        pass


def find_sound():
    try:
        return Microphone()
    except (ImportError, OSError, ValueError, TypeError):
        print("no microphone: a simulated motor")
        return SimulatedMotor()


def main(watch=80):
    """Print every fifth window; return the alarm's window (None: none) and all scores."""
    with open("sound.tables", "rb") as file:
        front = Frontend(file.read())
    window, source = array("h", bytes(2 * front.samples)), find_sound()

    def listen():
        source.record(window)
        return front.into(window, array("b", bytes(front.width)))

    guard = SVM("rbf", kind="one-class", nu=0.1, gamma=0.02, scale=True)
    guard.fit([listen() for _ in range(LEARN)])
    guard.calibrate([listen() for _ in range(HELD)], share=0.05)
    print(guard)
    print("window | score - threshold, in a row")
    in_a_row, alarm, scores = 0, None, []
    for n in range(1, watch + 1):
        if n > WEARS_FROM:
            source.age()
        row = listen()
        in_a_row = in_a_row + 1 if guard.predict(row) < 0 else 0
        scores.append(guard.decision(row) - guard.threshold)
        if n % 5 == 0:
            print("%6d %19.3f %4d" % (n, scores[-1], in_a_row))
        if in_a_row == IN_A_ROW and alarm is None:
            alarm = n
            print("ALARM: window %d is the third in a row that sounds wrong" % n)
    return alarm, scores


if __name__ == "__main__":
    alarm, scores = main()
