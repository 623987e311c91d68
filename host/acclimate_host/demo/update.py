# SPDX-License-Identifier: MIT
"""The second part: better and worse models come over HTTP, and the board decides.

The device has a model of three people. A server then offers, in this order: one trained on a
single window of each exercise, one trained on seven people, and again that of single windows.
None knows the user. The board pulls each, asks for ten labels where the two models differ, and
weighs them with how sure both are of the user's windows (`acceptance.accept`). It keeps or refuses
the model. The power goes in the middle of one update. The last is used without any test, and is
never confirmed.
"""

import base64
import secrets
from array import array
from dataclasses import dataclass, field

from acclimate.svm import SVM
from acclimate_host.capsules import region, tunnel
from acclimate_host.commands.showing import progress
from acclimate_host.connect.install import install
from acclimate_host.connect.package import compile_file
from acclimate_host.demo import protocol, update_board
from acclimate_host.demo.update_server import releases
from acclimate_host.errors import BoardGone, Missing

MODEL = 7
LABELS = 10  # most that a person is asked for
PEOPLE = {"old": (0, 3, 4), "worse": (3, 4, 1), "better": (0, 7, 40)}  # from, to, of a class each
HELD = (7, 9, 10)  # people of whom no machine learned: how sure each may be of an answer
NEEDED = ("pull", "pull.serial", "svm", "svm.probability", "acceptance", "reservoir")
ON_DESKTOP = ("flash",)  # beside them: its store is a file
_BATCH = 8
_CUT_STEPS = 64 + 1100  # of the emulated flash: erases, then some words of the capsule
_CUT_PIECES = 40


@dataclass
class Story:
    """What happened, for the table and the picture."""

    shares: list = field(default_factory=list)  # (step, version in use, % right later)
    events: list = field(default_factory=list)  # (step, what, detail)
    capsules: dict = field(default_factory=dict)  # version -> (name, bytes sent)


def machines(found, settings, user):
    """Return {name: fitted and calibrated SVM}: none has seen the user."""
    others = [n for n in sorted({w.subject for w in found}) if n != user]
    held = chosen(found, settings, others, *HELD)
    made = {}
    for name, part in PEOPLE.items():
        progress("this computer trains the models that are offered", len(made), len(PEOPLE))
        machine = SVM(storage="int8", **settings.machine)
        machine.fit(*chosen(found, settings, others, *part))
        made[name] = machine.calibrate(*held)
    progress("")
    return made


def chosen(found, settings, people, first, last, count):
    """Return rows and labels: `count` windows of each exercise, of some people."""
    X, y = array("b"), bytearray()
    for truth in range(len(settings.exercises)):
        mine = [w for w in found if w.subject in people[first:last] and w.truth == truth]
        step = len(mine) / count
        some = [mine[int((i + 0.5) * step)] for i in range(count)]
        for row in protocol.rows(some, settings):
            X.extend(row)
            y.append(truth)
    return X, y


class UpdateDemo:
    """One board, one user, one server.

    :param board: an open board that the device package can be installed on.
    :param found: all windows. :param say: called with each line for the person who watches.
    """

    def __init__(self, board, found, settings, user, say=print):
        self.board = board
        self.settings = settings
        self.session = protocol.session(found, settings, user)
        self.machines = machines(found, settings, user)
        self.say = say
        self.story = Story()
        self.key = secrets.token_bytes(32)
        self._has_network = board.name.startswith("desktop")
        self._step = 0
        self._rows = {
            id(w): base64.b64encode(row.tobytes()).decode()
            for w, row in zip(
                self._windows(), protocol.rows(self._windows(), settings), strict=True
            )
        }

    def run(self):
        """Go through all steps; return the Story."""
        with releases(MODEL, self.key) as self._releases:
            progress("the board gets the package and its key")
            self._prepare()
            self._first()
            half = len(self.session.stream) // 2
            self._meet(0, half)
            self._judged("worse")
            self._cut()
            self._meet(half, len(self.session.stream))
            self._decide(self._version)
            self._unconfirmed()
        progress("")
        return self.story

    # ---- the steps -------------------------------------------------------------------------

    def _first(self):
        """The model that the device starts with."""
        self._publish("old")
        self._pull()
        self.board.exec("store.confirm()", 60)
        self._use()
        self._note("at first")

    def _judged(self, name):
        version = self._publish(name)
        self._pull()
        self._decide(version)

    def _cut(self):
        """The power goes while the better model is written; the next pull goes on."""
        if not (self.board.emulated or self._has_network):
            self.say("  left out: the power cut (this computer cannot switch the board off)")
            self._publish("better")
            self._pull()
            return
        self._publish("better")
        try:
            self._pull(cut=True)
        except BoardGone:
            pass
        else:
            raise Missing("part 2: the power cut did not come")
        self.board.reset()
        self._set_up()
        self._event("power cut", "it came in the middle of the update")
        self._note("after the power cut")
        self._pull()

    def _unconfirmed(self):
        """Somebody uses the worse model without a test, and it never confirms itself."""
        version = self._publish("worse")
        self._pull()
        self.board.exec("store.trial()", 60)
        self._use()
        self._note(f"version {version} on trial, nobody tests")
        for _ in range(2):
            self.board.reset()
            self._set_up()
        state, now, _ = region.status(self.board)
        self._event(state, f"two restarts without confirm, and version {now} is back")
        self._note("after two restarts")

    # ---- parts of them ---------------------------------------------------------------------

    def _windows(self):
        return [*self.session.stream, *self.session.unseen]

    def _prepare(self):
        if not self._has_network:
            install(self.board, only=NEEDED, yes=True)
        self._send_program()
        region.give_key(self.board, self.key)
        self.board.soft_reset()
        self._set_up()

    def _send_program(self):
        name = "update_board.mpy"
        data = compile_file(update_board.__file__, "update_board.py")
        self.board.put_bytes(data, f"{self.board.lib}/{name}")

    def _set_up(self):
        """After each start of the board: the store, and the machine in use where there is one."""
        place = region.region_of(self.board)
        code = place.store_code(region.key_path(self.board), MODEL, max_boots=1)
        if self._has_network:
            code = _CUTTING + code.replace("_flash = FileFlash(", "_flash = Cutting(")
        # Collect early: what lives long shall not lie between garbage.
        self.board.exec("import gc\ngc.threshold(4096)")
        self.board.exec(code, 60)
        self.board.exec(_JUDGE % self.settings.features().width, 60)
        self._use()

    def _use(self):
        self.board.exec("if store.active is not None: judge.use()", 60)

    def _publish(self, name):
        self._version = self._releases.publish(self.machines[name])
        self.story.capsules[self._version] = [name, 0]
        return self._version

    def _pull(self, cut=False):
        """Let the board pull; with cut the power goes in the middle of its writing."""
        start = self._releases.counted.bytes
        if self._has_network:
            code = _PULL % self._releases.url
            if cut:
                code = f"_flash.left = {_CUT_PIECES}\n" + code
            self.board.exec(code, 60, self._kill_at_mark if cut else None)
        else:
            if cut:
                self.board.exec(f"import qboard\nqboard.cut({_CUT_STEPS}, True)")
            tunnel.pull(self.board, self._releases.url)
        sent = self._releases.counted.bytes - start
        self.story.capsules[self._version][1] += sent

    def _kill_at_mark(self, data):
        if b"POWER" in data:
            self.board.process.kill()

    def _meet(self, first, last):
        """The user wears the watch for some windows."""
        calls = [
            f"judge.meet({i}, row('{self._rows[id(w)]}'))"
            for i, w in enumerate(self.session.stream[first:last], first)
        ]
        for at in range(0, len(calls), _BATCH):
            progress("the user wears the watch", at, len(calls))
            self.board.exec("\n".join(calls[at : at + _BATCH]), 60)

    def _decide(self, version):
        """Labels only where the models differ, then the board's own verdict."""
        count, *asked = map(int, self.board.exec(f"judge.ask({LABELS})", 120).split())
        labels = [self.session.stream[number].truth for number in asked]
        code = f"judge.judge({', '.join(map(str, labels))})"
        verdict, wins, losses, score = self.board.exec(code, 120).split()
        detail = f"the models differ on {count} of the kept windows; {len(asked)} labels: "
        detail += f"new {wins} right, old {losses}; agreement {int(score) / 32768:.2f}"
        if verdict == "accept":
            self.board.exec("store.trial()\nstore.confirm()", 60)
            self._use()
        self._event(verdict, f"version {version}: {detail}")
        self._note(f"after the verdict on version {version}")

    def _event(self, what, detail):
        self.story.events.append((self._step, what, detail))
        self.say(f"  {what}: {detail}")

    def _note(self, step):
        """Remember how good the model in use is on windows that nobody used for anything."""
        rows = [self._rows[id(w)] for w in self.session.unseen]
        answers = []
        for at in range(0, len(rows), _BATCH):
            progress("the model in use is tested", at, len(rows))
            calls = ", ".join(f"row('{text}')" for text in rows[at : at + _BATCH])
            answers += map(int, self.board.exec(f"judge.test({calls})", 120).split())
        right = sum(w.truth == a for w, a in zip(self.session.unseen, answers, strict=True))
        share = 100 * right / len(answers)
        version = region.status(self.board)[1]
        self.story.shares.append((step, version, share))
        self._step += 1
        self.say(f"  {step}: version {version} in use, {share:.0f} % right on later windows")


_JUDGE = """
from array import array
from binascii import a2b_base64
from update_board import Judge
def row(text): return array('b', a2b_base64(text))
judge = Judge(store, %d)
"""
_PULL = """
from acclimate.pull import Client
_client = Client(store, %r, wait_s=0)
print(_client.pull(), _client.reason)
"""
# On the desktop binary the power cut is a kill of the process, in the middle of a torn write.
_CUTTING = """
from acclimate.flash import FileFlash
import time
class Cutting(FileFlash):
    left = 0
    def _program(self, at, buffer):
        self.left -= 1
        if self.left == 0:
            super()._program(at, memoryview(buffer)[: len(buffer) // 8 * 4])
            print("POWER")
            time.sleep(60)
        super()._program(at, buffer)
"""
