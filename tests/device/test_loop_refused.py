# SPDX-License-Identifier: MIT
"""What the closed loop is given instead of numbers is refused by name, and nothing is lost."""

from loop_models import make, refused, rows

from acclimate.loop import Feedback


def test_what_is_no_number_is_refused_by_name():
    loop = make()
    for bad in ("a", None, [], 2.5):
        refused(("truth", "0..1"), loop.observe, bad)
        refused(("row",), loop.sense, [bad])
    refused(("row", "numbers", "a"), loop.feedback.check, "a")
    for bad in (None, 5, (v for v in (1, 2))):
        refused(("row", "numbers"), loop.feedback.check, bad)
        refused(("row", "numbers"), loop.feedback.expect, bad, 1)
    loop.sense(rows(9))
    for bad in ("a", [], 2.5, 0.0):
        refused(("ticket",), loop.observe, 1, bad)
    assert loop.feedback.waiting == 1 and loop.observe(1)
    refused(("width", "a"), Feedback, "a")
