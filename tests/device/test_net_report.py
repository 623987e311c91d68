# SPDX-License-Identifier: MIT
# NOT_ON = {"samd21": "Python files fill 32 KB"}
"""The report on dead and saturated layers, on every board."""

import net_checks
import net_vectors_biases as v

from acclimate.net import report, troubles


def test_the_classifier_s_row_counts_what_predict_gives():
    net = net_checks.open_net(v)
    before = bytes(net.weights())
    rows = report(net, v.INPUTS)
    outputs = b"".join(v.OUTPUTS)
    last = rows[-1]
    assert rows[0].layer == "input" and rows[0].values == sum([len(x) for x in v.INPUTS])
    assert (last.channels, last.values) == (len(v.OUTPUTS[0]), len(outputs))
    assert last.at_low == outputs.count(b"\x80") and last.at_high == outputs.count(b"\x7f")
    assert "channels dead" in repr(last) and isinstance(troubles(net, rows), list)
    assert bytes(net.weights()) == before
