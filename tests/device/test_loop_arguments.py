# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "the loop and what it is given here fill 32 KB"}
"""Whatever a loop and its parts are given instead of an argument, the error says which it was."""

from loop_models import make, rows
from no_arguments import MINUS, NONE, WHOLE, named, setting

from acclimate import _loop_state as _state  # noqa: F401  the extra of this file
from acclimate.loop import Feedback, Loop, Stitcher, TrainOnDemand


def test_parts():
    for name in ("width", "pending", "memory"):
        setting(Feedback, name, (WHOLE,), width=3)
    setting(Feedback, "typecode", width=3)
    sizes = {"width": 3, "classes": 2, "per_class": 4}
    for name in ("width", "classes", "per_class", "held"):
        setting(Stitcher, name, (WHOLE,), **sizes)
    setting(Stitcher, "hold_every", (WHOLE,), **sizes)
    setting(Stitcher, "seed", (WHOLE,), **sizes)
    setting(Stitcher, "typecode", **sizes)


def test_roles():
    loop = make()
    live, spare, store = loop.trainer.live, loop.trainer.spare, loop.stitcher
    for name, fine in (("enough", ()), ("margin", (MINUS,)), ("least_held", ())):
        setting(TrainOnDemand, name, fine + (WHOLE,), live=live, spare=spare, store=store)
    roles = {"io": loop.io, "feedback": loop.feedback, "stitcher": store, "trainer": loop.trainer}
    setting(Loop, "target", (WHOLE,), **roles)
    setting(Loop, "rounds", (WHOLE,), **roles)


def test_what_a_loop_is_asked():
    loop = make()
    loop.sense(rows(9))
    named("keep", lambda value: loop.changed(value), (NONE, WHOLE))
    named("limit_us", loop.idle, (WHOLE,))
    named("buffer", loop.state, (NONE,))
    named("state", loop.restore)
    named("keep", loop.stitcher.forget, (WHOLE,))
