# SPDX-License-Identifier: MIT
"""The board's side of recording, copied to it as stream_board: a window over a sensor's stream.

A sensor is a module with `channels`, `rate_hz` (0: as fast as asked) and ``read(out, at)``, which
writes one sample of int16 numbers into out[at:]. All is called line by line and prints JSON.
"""

import gc
import json
import sys
from array import array
from binascii import b2a_base64
from time import sleep_ms, ticks_add, ticks_diff, ticks_ms

_LATE_MS = 500


class Stream:
    """The newest samples of a sensor, and how often each gesture was named.

    :param int classes: gestures, 2..9
    :param int samples: of a window. :param int hop: new samples between two looks
    """

    def __init__(self, sensor, classes, samples, hop):
        self.sensor = sensor
        self.classes = classes
        self.hop = hop
        self.window = array("h", bytes(2 * sensor.channels * samples))
        self.filled = 0
        self.told = bytearray(classes)
        self.due = ticks_ms()

    def sample(self):
        """Move the window by one hop, at the pace of the sensor."""
        window, channels, sensor = self.window, self.sensor.channels, self.sensor
        new = self.hop * channels
        keep = len(window) - new
        for i in range(keep):
            window[i] = window[i + new]
        for at in range(keep, len(window), channels):
            if sensor.rate_hz:
                self.wait(1000 // sensor.rate_hz)
            sensor.read(window, at)
        self.filled = min(len(window), self.filled + new)

    def wait(self, period_ms):
        """Wait until the next sample is due; begin anew after having been away."""
        left = ticks_diff(self.due, ticks_ms())
        if left > 0:
            sleep_ms(left)
        elif left < -_LATE_MS:
            self.due = ticks_ms()
        self.due = ticks_add(self.due, period_ms)

    def poll(self):
        """A hop of the stream, what it looks like, and some work. Prints the state."""
        self.sample()
        state = self.state(self.work())
        new = memoryview(self.window)[len(self.window) - self.hop * self.sensor.channels :]
        state["new"] = _text(new)
        print(json.dumps(state))

    def tell(self, truth):
        """The last seconds were `truth`. Prints the state, with the whole window."""
        if self.filled < len(self.window):
            print(json.dumps({"word": "not yet: the first window is still being filled"}))
            return
        self.learn(truth)
        state = self.state(None)
        state["window"] = _text(self.window)
        print(json.dumps(state))

    def learn(self, truth):
        """Count the window."""
        self.told[truth] += self.told[truth] < 255

    def work(self):
        """What is done beside the stream; a verdict when something has ended."""
        return None

    def state(self, verdict):
        """What a page or a terminal shows; the heap is counted without garbage."""
        gc.collect()
        return {
            "verdict": verdict,
            "told": list(self.told),
            "heap": [gc.mem_alloc(), gc.mem_free()],
        }

    def show(self):
        print(json.dumps(self.state(None)))

    def perform(self, gesture, unseen):
        """For a replay: which recording comes now."""
        self.sensor.perform(gesture, unseen)
        self.filled = 0
        print(json.dumps(self.state(None)))


def _text(values):
    return b2a_base64(bytes(values)).decode().strip()


def load_sensor(name):
    """Import a sensor by name, anew when it was changed."""
    sys.modules.pop(name, None)
    return __import__(name)
