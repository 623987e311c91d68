# SPDX-License-Identifier: MIT
"""Optimizers of the paper's Table 1 on numpy's int8 simulation: momentum, Adam and LARS.

A step's move is taken in the unit that the optimizer sees: of a quantized network without
quantization-aware scaling these are the stored integers, so that the gradient is that of the
real weight times its scale, and what is moved is divided by nothing. Adam and LARS are there to
mend that; the last row of the table scales instead.
"""

import numpy as np

from acclimate_host.sparse.simulate import Simulation

MOMENTUM, SECOND, TRUST = 0.9, 0.999, 0.001


class Optimized(Simulation):
    """A Simulation with an optimizer, whose state is in float64 and costs no RAM here.

    :param optimizer: "momentum", "adam" or "lars"
    """

    def __init__(self, network, scheme, optimizer, **options):
        super().__init__(network, scheme, **options)
        if optimizer not in ("momentum", "adam", "lars"):
            raise ValueError(f"optimizer: expected momentum, adam or lars, got {optimizer!r}")
        self.optimizer, self.state, self.steps = optimizer, {}, 0

    def step(self, x, label, rate):
        """Learn from one sample; return its loss before."""
        loss, found = self.gradients(x, label)
        self.steps += 1
        for name, gradient in found.items():
            self._move(name, gradient, rate)
        return loss

    def _move(self, name, gradient, rate):
        """Store a parameter moved by the optimizer's step, in the unit that it sees."""
        value, unit = self.values[name], self._unit(name, gradient)
        part = value[tuple(slice(edge) for edge in gradient.shape)]
        # Without scaling the gradient is that of the stored number; with it, of the real one over
        # the square of the unit, which is the paper's rule.
        seen = gradient * unit if not self.scaling else gradient / unit
        move = getattr(self, "_" + self.optimizer)(name, seen, part, rate)
        if not self.network.quantized:
            part -= move
            return
        limit = 127 if name.endswith(".w") else 2**30
        part[...] = np.clip(self._stored(part, move), -limit, limit)

    def _unit(self, name, gradient):
        if not self.network.quantized:
            return 1.0
        return self._scale(name)[: len(gradient)].reshape(-1, *(1,) * (gradient.ndim - 1))

    def _momentum(self, name, gradient, part, rate):
        speed = MOMENTUM * self.state.get(name, 0.0) + (1 - MOMENTUM) * gradient
        self.state[name] = speed
        return rate * speed

    def _adam(self, name, gradient, part, rate):
        first, second = self.state.get(name, (0.0, 0.0))
        first = MOMENTUM * first + (1 - MOMENTUM) * gradient
        second = SECOND * second + (1 - SECOND) * gradient**2
        self.state[name] = first, second
        mean = first / (1 - MOMENTUM**self.steps)
        spread = np.sqrt(second / (1 - SECOND**self.steps))
        return rate * mean / (spread + 1e-12)

    def _lars(self, name, gradient, part, rate):
        size, slope = np.linalg.norm(part), np.linalg.norm(gradient)
        trust = TRUST * size / slope if size and slope else 1.0
        return self._momentum(name, gradient * trust, part, rate)
