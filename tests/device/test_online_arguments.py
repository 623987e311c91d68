# SPDX-License-Identifier: MIT
"""Whatever the online machine is given instead of an argument, the error says which it was."""

from no_arguments import EMPTY, LARGE, NONE, REAL, WHOLE, named, no_paths, setting
from refusal import raised

from acclimate.svm.online import PassiveAggressive


def test_online_machines():
    setting(PassiveAggressive, "features", (WHOLE,))
    setting(PassiveAggressive, "classes", (WHOLE,), features=3)
    setting(PassiveAggressive, "C", (WHOLE, LARGE, REAL), features=3)
    setting(PassiveAggressive, "forget", features=3)
    setting(PassiveAggressive.bytes_needed, "features", (WHOLE,))
    setting(PassiveAggressive.bytes_needed, "classes", (WHOLE,), features=3)
    m = PassiveAggressive(3)
    m.add([1, 2, 3], 0).add([7, 8, 9], 1)
    named("row", lambda value: m.add(value, 1))
    named("label", lambda value: m.add([1, 2, 3], value))
    named("row", m.predict)
    named("out", lambda value: m.decision([1, 2, 3], value), (NONE, EMPTY))
    for call in (m.evaluate, m.report):
        for X in (None, 5, "", [], [[1, 2, 3]] * 2, {}):
            assert "X, y" in raised(ValueError, call, X, [0])
        assert "row" in raised(ValueError, call, [None], [0])
        for y in (None, 5, "", [], "ab", {}):
            assert "y" in raised(ValueError, call, [[1, 2, 3]], y)
    no_paths(PassiveAggressive.load, m.save)
