# SPDX-License-Identifier: MIT
"""Says which layers of an int8 network are dead or saturated, and whether training moves anything.

    from acclimate.net.diagnosis import report, troubles

    rows = report(net, inputs)              # inputs: some tens, as `predict` takes them
    for line in troubles(net, rows):
        print(line)

It predicts layer by layer and looks at what each one leaves in the arena: slow, and it allocates
one byte for each channel. Nothing is trained.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Iterable

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

from acclimate.net.fields import number, operand, signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_CONSTANTS = const(12)
_P_BYTES = const(76)
_L_COUT = const(2)
_L_LOW = const(14)
_L_HIGH = const(15)
_OP_CONV = const(1)
_OP_CONV_ADD = const(2)
_OP_CONV_DEPTHWISE = const(3)
_OP_DEPTHWISE_IN_PLACE = const(4)
_OP_PITCH = const(5)
# program: end
_MANY = const(50)  # percent
_ALL = const(95)  # of an input: images may well be half black or white


class Row:
    """What one layer gave: `values` seen, how many at its lower and upper limit.

    `layer`: "input", or its number in the order of the program, the classifier last; `channels`
    its outputs, `dead` those that never left the lower limit.
    """

    def __init__(self, layer, channels, low, high):
        self.layer, self.channels, self.low, self.high = layer, channels, low, high
        self.values = self.at_low = self.at_high = 0
        self._alive = bytearray(channels)

    @property
    def dead(self):
        return self.channels - sum(self._alive)

    def _see(self, data, at, channels):
        for c in range(channels):
            value = signed(data[at + c])
            self.at_low += value <= self.low
            self.at_high += value >= self.high
            if value > self.low:
                self._alive[c] = 1
        self.values += channels

    def __repr__(self):
        share = 100 / max(1, self.values)
        return "layer %s: %d of %d channels dead, %d %% low, %d %% high" % (
            self.layer,
            self.dead,
            self.channels,
            share * self.at_low + 0.5,
            share * self.at_high + 0.5,
        )


def report(net: "Any", inputs: "Iterable[ReadableBuffer]") -> "list[Row]":
    """Return the Rows of the input and of the layers that leave their outputs in the arena.

    A layer that hands its channels on to a depthwise one at once leaves none.

    :raises ValueError: for a float32 network, which has no limits
    """
    if net._dtype:
        raise ValueError("report: float32 has no limits; expected int8")
    given, rows, order = Row("input", 1, -128, 127), {}, []
    for x in inputs:
        for i in range(len(x)):
            given._see(x, i, 1)
        net._begin(x, 0, net._until, 0)
        more = True
        while more:
            at = net._par[0]
            more = net._run(x, 1)
            if net._par[0] > at:
                _look(net, at, rows, order)
    return [given] + [rows[record] for record in order if record in rows]


def _look(net, at, rows, order):
    """Take in the outputs of the instruction at `at`, if it is a layer."""
    program, at, pitch = net._program, _P_BYTES + at, 0
    op = program[at]
    at += 1
    if op == _OP_PITCH:
        _, at = operand(program, at)
        pitch, at = operand(program, at)
        op = program[at]
        at += 1
    if not _OP_CONV <= op <= _OP_DEPTHWISE_IN_PLACE:
        return
    v = []
    for _ in range(20 if op == _OP_CONV_DEPTHWISE else 10):
        value, at = operand(program, at)
        v.append(value)
    if v[0] not in order:
        order.append(v[0])
    if op == _OP_CONV_DEPTHWISE:
        v = v[11:13] + [0] + v[13:]
        if v[0] not in order:
            order.append(v[0])
    y = v[2] >> 1 if op == _OP_DEPTHWISE_IN_PLACE else v[9]
    record = number(program, _P_CONSTANTS) + 4 * v[0]
    row = rows.get(v[0])
    channels = number(program, record + _L_COUT, 2)
    if row is None:
        sums = op == _OP_CONV_ADD  # another tensor was added behind the layer's own limits
        row = rows[v[0]] = Row(
            order.index(v[0]),
            channels,
            -128 if sums else signed(program[record + _L_LOW]),
            127 if sums else signed(program[record + _L_HIGH]),
        )
    pitch = pitch or v[6] * channels
    for line in range(v[5]):
        for column in range(v[6]):
            row._see(net._arena, y + line * pitch + column * channels, channels)


def troubles(net: "Any", rows: "list[Row]") -> list[str]:
    """Return sentences on what keeps a network from learning; none is good news."""
    found = []
    for row in rows:
        low, high = (100 * n // max(1, row.values) for n in (row.at_low, row.at_high))
        if row.layer == "input":
            if low + high >= _ALL:
                found.append("input: %d %% at a limit: scale it as in training" % (low + high))
            continue
        if 2 * row.dead >= row.channels:
            found.append(
                "layer %s: %d of %d channels are dead: scale the input, or lower the rate"
                % (row.layer, row.dead, row.channels)
            )
        if high >= _MANY:
            found.append(
                "layer %s: %d %% at the upper limit: quantize with such samples"
                % (row.layer, high)
            )
    if net.rails > net.moved:
        found.append(
            "rails: %d changes held back, %d made: lower the rate" % (net.rails, net.moved)
        )
    return found
