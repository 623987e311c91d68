# SPDX-License-Identifier: MIT
"""Who the model knows, whom it meets, and which windows are kept for the verdict.

A model is trained on windows of nine people (the factory samples) and given to the tenth. Of each
recording of that person, the first half in time is the stream that the device lives through, and
the second half is used for the verdict only: no window of it is seen before. The recordings have
no common clock, so the stream takes one window of each in turn, as rounds of a training session.
The truth about a window arrives a few windows later.
"""

from array import array
from dataclasses import dataclass, field, replace

import numpy as np

from acclimate.features import KINDS, WindowFeatures
from acclimate.loop import IO, Feedback, Loop, Stitcher, TrainOnDemand
from acclimate_host.demo import watch
from acclimate_host.model.import_sklearn import import_svm

SAMPLES = 128  # 2.56 s at 50 Hz


@dataclass(frozen=True)
class Settings:
    """What fits a board: features, sample store, machine."""

    name: str = "full"
    kinds: tuple = KINDS
    exercises: tuple = tuple(range(len(watch.EXERCISES)))
    per_class: int = 20
    held: int = 35
    hold_every: int = 4
    enough: int = 14
    margin: int = -1
    least_held: int = 7
    pending: int = 3
    shift: int = 7
    imported: bool = True  # the first model comes from scikit-learn, not from the board
    machine: dict = field(default_factory=lambda: {"kernel": "rbf", "C": 10})

    def features(self):
        """The device's own feature code, on the host."""
        return WindowFeatures(watch.CHANNELS, SAMPLES, self.shift, self.kinds)


FULL = Settings()
SMALL = Settings(
    name="small",
    kinds=("mean", "dev"),
    per_class=8,
    held=14,
    machine={"kernel": "linear", "C": 0.01},
)
# For 32 KB of RAM with everything in it: the exercises that are confused most.
# Real numbers would take soft float there, so that the first model is trained on the board too.
TINY = replace(SMALL, name="tiny", exercises=(3, 4, 5), imported=False)


@dataclass(frozen=True)
class Window:
    """One window of raw samples and what was done in it (a position in `Settings.exercises`)."""

    raw: array
    truth: int
    subject: int
    side: int
    index: int
    count: int

    def early(self):
        """True for the half that the device lives through."""
        return self.index < self.count // 2


def windows(recordings, settings):
    """All windows of the chosen exercises, in order of person, side and time."""
    found = []
    for r in sorted(recordings, key=lambda r: (r.subject, r.side, r.exercise)):
        if r.exercise in settings.exercises:
            cut = r.windows(SAMPLES)
            truth = settings.exercises.index(r.exercise)
            found += [
                Window(array("h", w.tobytes()), truth, r.subject, r.side, i, len(cut))
                for i, w in enumerate(cut)
            ]
    return found


@dataclass(frozen=True)
class Session:
    """One new user: factory samples of the others, the stream, and the unseen windows."""

    user: int
    factory: list
    stream: list
    unseen: list


def session(found, settings, user):
    """Divide the windows for one new user.

    :raises ValueError: no such user
    """
    users = sorted({w.subject for w in found})
    if user not in users:
        raise ValueError(f"user: expected {users[0]}..{users[-1]}, got {user}")
    mine = [w for w in found if w.subject == user]
    factory = []
    for truth in range(len(settings.exercises)):
        others = [w for w in found if w.subject != user and w.truth == truth]
        step = len(others) / settings.per_class
        factory += [others[int((i + 0.5) * step)] for i in range(settings.per_class)]
    stream = sorted((w for w in mine if w.early()), key=lambda w: (w.index, w.side, w.truth))
    return Session(user, factory, stream, [w for w in mine if not w.early()])


def rows(found, settings):
    """Feature rows of windows, computed by the device's code."""
    features = settings.features()
    return [features.into(w.raw, array("b", bytes(features.width))) for w in found]


def factory_machine(one, settings, report=print):
    """The model that the product ships with: fitted by scikit-learn, in the device's format."""
    from sklearn.svm import SVC

    known = np.array([list(row) for row in rows(one.factory, settings)])
    fitted = SVC(**settings.machine).fit(known, [w.truth for w in one.factory])
    machine = import_svm(fitted, known, "int8", report)
    machine.storage = "int8"
    machine.gamma = None  # chosen anew from what it is trained on, by scikit-learn's rule
    return machine


def build_loop(settings, model_class):
    """The loop with empty store and two unfitted models, as `board_program` makes it."""
    width = settings.features().width
    store = Stitcher(
        width, len(settings.exercises), settings.per_class, settings.held, settings.hold_every
    )
    models = [model_class(storage="int8", **settings.machine) for _ in range(2)]
    trainer = TrainOnDemand(*models, store, settings.enough, settings.margin, settings.least_held)
    return Loop(IO(models[0]), Feedback(width, settings.pending + 1), store, trainer)


@dataclass
class SessionResult:
    """What one session brought."""

    answers: list = field(default_factory=list)  # (truth, output) in order of the stream
    events: list = field(default_factory=list)  # (after windows, verdict, old, new, tested)
    before: list = field(default_factory=list)  # outputs for the unseen windows
    after: list = field(default_factory=list)


def simulate(one, settings, model_class, told=None):
    """Live through a session on the host, with the device's own code.

    told: what is said to be right for each window of the stream; None: what is right
    """
    loop = build_loop(settings, model_class)
    for w, row in zip(one.factory, rows(one.factory, settings), strict=True):
        loop.stitcher.fill(row, w.truth)
    trainer = loop.trainer
    if settings.imported:
        trainer.live = loop.io.model = factory_machine(one, settings, lambda text: None)
    else:
        for _ in trainer.first_steps():
            pass
    out = SessionResult()
    unseen = rows(one.unseen, settings)
    out.before = [trainer.live.predict(row) for row in unseen]
    waiting = []
    told = [w.truth for w in one.stream] if told is None else told
    for i, (w, row) in enumerate(zip(one.stream, rows(one.stream, settings), strict=True)):
        out.answers.append((w.truth, loop.sense(row)))
        waiting.append(told[i])
        if len(waiting) > settings.pending:
            loop.observe(waiting.pop(0))
        verdict = loop.run_idle()
        if verdict:
            t = trainer
            out.events.append((i + 1, verdict, t.old_right, t.new_right, t.tested))
    out.after = [trainer.live.predict(row) for row in unseen]
    return out
