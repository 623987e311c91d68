# SPDX-License-Identifier: MIT
"""The second part on the emulated board with 32 KB: two exercises, a linear machine, 16 rows.

As update.py, but for the power cut and updates by difference. Each step begins with an empty
heap, as after a day; the user's windows come while the new model waits.
"""

import base64
import math
from dataclasses import replace

from acclimate.svm import SVM
from acclimate_host.capsules import region, tunnel
from acclimate_host.commands.showing import progress
from acclimate_host.connect import open_board
from acclimate_host.connect.emulator import how_to_get
from acclimate_host.demo import protocol
from acclimate_host.demo.update import HELD, LABELS, MODEL, PEOPLE, Story, chosen
from acclimate_host.demo.update_server import releases
from acclimate_host.errors import Missing
from acclimate_host.paths import firmware

SETTINGS = replace(protocol.SMALL, exercises=(0, 5))
_FIRMWARE = "samd21-verdict"
_MET = 24  # windows of the user while a model waits
_BATCH = 4
_JUDGE = """
from array import array
from binascii import a2b_base64
from update_small_board import Judge
def row(text): return array('b', a2b_base64(text))
judge = Judge(store, %d, %d)
"""


def machines(found, user):
    """Return {name: (fitted SVM, temperature in 1/256)}: none has seen the user."""
    others = [n for n in sorted({w.subject for w in found}) if n != user]
    held = chosen(found, SETTINGS, others, *HELD)
    made = {}
    for name, part in PEOPLE.items():
        X, y = chosen(found, SETTINGS, others, *part)
        machine = SVM(C=0.01, small=True, storage="int8").fit(X, bytes(y))
        made[name] = machine, temperature(machine, *held)
    return made


def temperature(machine, X, y):
    """Return the temperature, in 1/256, of the sigmoid that fits labelled rows best."""
    width = len(X) // len(y)
    values = [machine.decision(X[i * width : i * width + width]) for i in range(len(y))]
    signed = [v if label else -v for v, label in zip(values, y, strict=True)]

    def loss(t):
        return sum(math.log1p(math.exp(min(-v / t, 500))) for v in signed)

    return int(256 * min((2 ** (k / 4) for k in range(-16, 9)), key=loss))


class SmallDemo:
    """One board of 32 KB, one user, one server."""

    def __init__(self, found, user, say=print):
        self.session = protocol.session(found, SETTINGS, user)
        self.machines = machines(found, user)
        self.say = say
        self.story = Story()
        self.free = []  # bytes of heap, before each verdict

    def run(self):
        """Go through all steps; return the Story."""
        elf = firmware(_FIRMWARE)
        if not elf.exists():
            raise Missing(f"samd21: no firmware {_FIRMWARE}: {how_to_get(_FIRMWARE)}")
        key = bytes(range(32))
        with open_board("samd21", elf=elf) as self.board, releases(MODEL, key) as self._releases:
            region.give_key(self.board, key)
            self._pull("old")
            self.board.exec("store.confirm()", 60)
            self._in_use("old")
            self._note("at first")
            for name in ("worse", "better"):
                self._decide(name, self._pull(name))
            self._pull("worse")
            self.board.exec("store.trial()\nstore.rollback()", 60)
            self._start()
            self._note("after a rollback")
        progress("")
        return self.story

    def _start(self):
        self.board.soft_reset()
        region.prepare(self.board)
        region.open_store(self.board, region.region_of(self.board), model=MODEL)

    def _in_use(self, name):
        self._used = self.machines[name][1]

    def _load(self):
        """Begin with an empty heap and a machine in it."""
        self._start()
        self.board.exec(_JUDGE % (SETTINGS.features().width, self._used), 60)
        self.free.append(int(self.board.exec("import gc\ngc.collect()\nprint(gc.mem_free())")))

    def _pull(self, name):
        version = self._releases.publish(self.machines[name][0])
        start = self._releases.counted.bytes
        self._start()
        tunnel.pull(self.board, self._releases.url)
        self.story.capsules[version] = [name, self._releases.counted.bytes - start]
        return version

    def _decide(self, name, version):
        """The user's windows, labels where the models differ, then the board's own verdict."""
        self._load()
        met = self.session.stream[:_MET]
        calls = [
            f"judge.meet({number}, row('{_text(row)}'))"
            for number, row in enumerate(protocol.rows(met, SETTINGS))
        ]
        for at in range(0, len(calls), _BATCH):
            progress("the user wears the watch", at, len(calls))
            self.board.exec("\n".join(calls[at : at + _BATCH]), 60)
        answer = self.board.exec(f"judge.ask({LABELS}, {self.machines[name][1]})", 60)
        count, *asked = map(int, answer.split())
        labels = ", ".join(str(met[number].truth) for number in asked)
        verdict, new, old, score = self.board.exec(f"judge.judge({labels})", 60).split()
        detail = f"version {version}: the models differ on {count} of the kept windows; "
        detail += f"{len(asked)} labels: new {new} right, old {old}"
        detail += f"; agreement {int(score) / 32768:.2f}"
        if verdict == "accept":
            self.board.exec("store.trial()\nstore.confirm()", 60)
            self._in_use(name)
        self.story.events.append((len(self.story.shares), verdict, detail))
        self.say(f"  {verdict}: {detail}")
        self._note(f"after the verdict on version {version}")

    def _note(self, step):
        """Remember how good the model in use is on windows that nobody used for anything."""
        self._load()
        unseen = self.session.unseen
        texts = [f"row('{_text(row)}')" for row in protocol.rows(unseen, SETTINGS)]
        answers = []
        for at in range(0, len(texts), _BATCH):
            progress("the model in use is tested", at, len(texts))
            code = f"judge.test({', '.join(texts[at : at + _BATCH])})"
            answers += map(int, self.board.exec(code, 60).split())
        right = sum(w.truth == a for w, a in zip(unseen, answers, strict=True))
        version, share = region.status(self.board)[1], 100 * right / len(unseen)
        self.story.shares.append((step, version, share))
        self.say(f"  {step}: version {version} in use, {share:.0f} % right on later windows")


def _text(row):
    return base64.b64encode(row.tobytes()).decode()
