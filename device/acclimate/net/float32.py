# SPDX-License-Identifier: MIT
"""Networks in float32: the same programs and the same `Net`, on boards that have float32.

    net = FloatNet(program, weights)
    net.set_rate(0.05)
    net.train_step(net.quantize(values, x), label)     # x: bytearray of input_bytes

It needs the native module; there is no other interpreter for float32.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Sequence

    from circuitpython_typing import WriteableBuffer
except ImportError:
    pass

import struct

from acclimate import _native
from acclimate.net.fields import NetError, is_within
from acclimate.net.network import Net

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# program: begin
_S_RATE_MANTISSA = const(4)
# program: end


def _gone():
    raise NetError("float32: install _net_f32_train, _net_f32_rare")


class FloatNet(Net):
    """As acclimate.net.network.Net; inputs and outputs are float32, little-endian."""

    _dtype = 1

    def _load(self, trains, needs):
        self._native = _native.load("net_f32")
        if self._native is None:
            raise NetError("float32: no native module here; compile it as int8")

    def _load_trainer(self):
        if self._trainer is self._native:
            _gone()
        self._trainer = _native.load("net_f32_train") or self._native

    def _load_rare(self):
        return _native.load("net_f32_rare") or _gone()

    def _put_rate(self, rate, exponent=0):
        if not is_within(rate, 0, 1 << 40):
            raise NetError("rate: expected a number from 0 to 2**40, got %s" % (rate,))
        if not isinstance(exponent, int) or not -100 <= exponent <= 40:
            raise NetError("exponent: expected -100 to 40, got %s" % (exponent,))
        struct.pack_into("<f", self._arena, self._state + _S_RATE_MANTISSA, rate * 2.0**exponent)

    def outputs(self) -> memoryview:
        """Return the outputs of the latest pass as bytes of float32, a view of the arena."""
        return self._arena[self._output : self._output + 4 * self._classes]

    def best(self) -> int:
        """Return the number of the largest output of the latest pass."""
        logits, best = self._logits(), 0
        for i, value in enumerate(logits):
            if value > logits[best]:
                best = i
        return best

    def real_outputs(self) -> list[float]:
        """Return the outputs of the latest pass as a list of numbers."""
        return self._logits()

    def confidence(self) -> int:
        """Return the softmax share of the largest output of the latest pass, in 1/255.

        0 where an output is not finite.
        """
        from math import exp

        logits = self._logits()
        most = logits[self.best()]
        total = sum([exp(value - most) for value in logits]) if most - most == 0 else 0
        return int(255 / total + 0.5) if total > 0 else 0

    def quantize(self, values: "Sequence[float]", out: "WriteableBuffer") -> "WriteableBuffer":
        """Store real values into a buffer of `input_bytes`.

        :raises NetError: where values or bytes are not as many as inputs, or are not finite
        """
        n = self.input_bytes
        if 4 * len(values) != n or len(out) != n:
            got = n // 4, n, len(values), len(out)
            raise NetError("values: expected %d into %d bytes, got %d into %d" % got)
        for i, value in enumerate(values):
            if not -3.4028234e38 <= value <= 3.4028234e38:
                raise NetError("values: number %d is %s; expected a finite one" % (i, value))
            struct.pack_into("<f", out, 4 * i, value)
        return out

    def _logits(self):
        return list(struct.unpack("<%df" % self._classes, bytes(self.outputs())))
