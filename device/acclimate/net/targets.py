# SPDX-License-Identifier: MIT
"""What a network learns from beside a class: numbers, bits, or its own input.

    net = Net(program, weights)             # compiled with --loss mse
    net.set_rate(0.01)
    net.train_step(x, 21.5)                 # one output: a number; else one for each output
    print(net.loss())                       # of this step, in real units

An autoencoder gives back its input. It is compiled with --target input, and its error is small
for what it knows:

    net.train_step(x)                       # readings of a machine that works
    if net.anomaly_score(x) > limit:        # limit: a little above the scores seen so far
        alarm()
"""

import struct
from math import exp, log

from acclimate.net.fields import NetError, number, operand, put_number, signed

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_P_DTYPE = const(5)
_P_INPUT_ZERO = const(7)
_P_OUTPUT_ZERO = const(58)
_P_INPUT_SCALE = const(60)
_P_OUTPUT_SCALE = const(64)
_P_INPUT = const(68)
_P_BYTES = const(76)
_S_SHARE = const(20)
_OP_BINARY_LOSS = const(29)
# program: end
_PARTS = const(16)  # of a step: what a target is stored in


class Target:
    """The loss of a program that learns from targets: it stores them and tells what is lost."""

    def __init__(self, net):
        program, at, v = net._program, _P_BYTES + net._until, []
        self._is_binary = program[at] == _OP_BINARY_LOSS
        for _ in range(10 - self._is_binary):  # x n g slot target, and what differs
            value, at = operand(program, at + (not v))
            v.append(value)
        self._place, self._n, self._more = v[4], v[1], v[5:]
        first = number(program, _P_INPUT)
        self._is_input = self._place & 1 or self._place >> 1 == first - 1
        self._dtype = program[_P_DTYPE]
        self._zero = signed(program[_P_OUTPUT_ZERO])
        self._scale = net._scale(_P_OUTPUT_SCALE)
        if not self._is_input:
            shift = 2 if self._dtype else not self._is_binary
            net._arena[(self._place >> 1) + (self._n << shift) - 1]

    def put(self, net, target):
        """Store the target of the next step.

        :raises NetError: names what was expected and what came
        """
        if self._is_input:
            if target is not None:
                raise NetError("target: this program learns its input; expected none, got one")
            return
        values = _listed(target)
        if len(values) != self._n:
            raise NetError("target: expected %d numbers, got %d" % (self._n, len(values)))
        for i, value in enumerate(values):
            try:
                self._put(net._arena, self._place >> 1, i, value)
            except TypeError:  # of None, a text, a list
                raise NetError("target: number %d is %r; expected a number" % (i, value)) from None

    def _put(self, arena, at, i, value):
        if self._is_binary:
            if value not in (0, 1):
                raise NetError("target: number %d is %s; expected 0 or 1" % (i, value))
            if not self._dtype:
                arena[at + i] = int(value)
                return
        if self._dtype:
            if not -1e30 < value < 1e30:
                raise NetError("target: number %d is %s; expected a finite one" % (i, value))
            struct.pack_into("<f", arena, at + 4 * i, value)
            return
        q = (value / self._scale + self._zero) * _PARTS
        if not -32768 <= q <= 32767:
            ends = [(end / _PARTS - self._zero) * self._scale for end in (-32768, 32767)]
            raise NetError(
                "target: number %d is %s; expected %g to %g" % (i, value, ends[0], ends[1])
            )
        put_number(arena, at + 2 * i, int(q + 0.5) if q >= 0 else -int(0.5 - q), 2)

    def loss(self, net):
        """Return the loss of the latest training step, as a real number."""
        share = net._get(_S_SHARE)
        if self._is_binary:
            return ((share >> 16) * log(2) - log((share & 65535) / 32768)) / self._n
        if self._dtype:
            return struct.unpack("<f", struct.pack("<I", share))[0]
        _, _, factor, exponent, _ = self._more
        return factor * 2.0 ** (exponent - 129) * share * self._scale / _PARTS

    def of(self, net, x, target):
        """Return the loss of one prediction, as a real number."""
        net.predict(x)
        outputs = net.real_outputs()
        values = _inputs(net, x) if self._is_input else _listed(target)
        if len(values) != len(outputs):
            raise NetError("target: expected %d numbers, got %d" % (len(outputs), len(values)))
        pairs = zip(outputs, values)  # noqa: B905
        return sum([self._one(y, t) for y, t in pairs]) / len(outputs)

    def _one(self, y, t):
        if self._is_binary:
            y = -y if t else y
            return log(1 + exp(-abs(y))) + max(y, 0)
        d, limit = abs(y - t), self._more[1]
        if self._dtype:
            limit = struct.unpack("<f", struct.pack("<I", limit))[0]
            is_huber = limit - limit == 0
        else:
            is_huber, limit = limit < 65535, limit * self._scale / _PARTS
        if not is_huber:
            return d * d
        return d * d / 2 if d <= limit else limit * (d - limit / 2)


def _listed(target):
    """Return a target as numbers that have a length; one number stands for itself."""
    if target is None:
        return ()
    try:
        len(target)
        return target
    except TypeError:
        return (target,)


def loss(net):
    """Return the loss of the latest training step of any program."""
    if net._target is not None:
        return net._target.loss(net)
    return -log(max(net._get(_S_SHARE), 1) / 32768)


def evaluate(net, samples):
    """Return the mean loss over (x, target) pairs."""
    found = [net._target.of(net, x, target) for x, target in samples]
    return sum(found) / len(found) if found else 0.0


def _inputs(net, x):
    """Return the real values that an input means."""
    if net._dtype:
        return list(struct.unpack("<%df" % (len(x) // 4), bytes(x)))
    scale, zero = net._scale(_P_INPUT_SCALE), signed(net._program[_P_INPUT_ZERO])
    return [(signed(byte & 255) - zero) * scale for byte in x]


def anomaly_score(net, x):
    """Return the mean squared error between input and outputs, in real units."""
    values = _inputs(net, x)
    net.predict(x)
    outputs = net.real_outputs()
    if len(outputs) != len(values):
        raise NetError("x: %d inputs, %d outputs; expected as many" % (len(values), len(outputs)))
    return sum([(y - t) ** 2 for y, t in zip(outputs, values)]) / len(values)  # noqa: B905
