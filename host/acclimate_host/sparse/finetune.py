# SPDX-License-Identifier: MIT
"""Fine-tunes a network on the twin of a board: the same program, the same bytes, batch 1."""

from dataclasses import dataclass

import numpy as np

from acclimate.net import FloatNet, Net

from ..compile.encode import encode
from ..compile.step import Options, training_step
from ..model.losses import with_loss
from ..model.network import as_bytes, in_shape
from ..twin import compiled
from ..twin import net as twin_net

# Where a program runs on the host, arena size is no matter: a quick layout will do.
_QUICK_TRIES = 0


@dataclass(frozen=True)
class Setting:
    """How a network is trained: learning rate, passes over the samples, seed, optimizer.

    The rate falls linearly to `last` times its first value over all steps.
    """

    rate: float
    epochs: int = 6
    seed: int = 1
    optimizer: str = "plain"
    last: float = 0.1


def why_slow():
    """Have the kernels compiled for this computer; return None, or why pure Python must do."""
    if twin_net.load() is not None:
        return None
    reason = compiled.why_not("net")
    if reason is None:
        twin_net.register()
    return reason


class Tuner:
    """A network compiled for one scheme, ready to be trained again and again.

    It runs on the board's own C kernels; where they cannot be compiled, in pure Python.

    :param network: quantized or float Network; softmax and cross-entropy are added
    :param scheme: acclimate_host.sparse.scheme.Scheme
    """

    def __init__(self, network, scheme, optimizer="plain"):
        why_slow()
        twin_net.register()
        self.network, self.scheme = with_loss(network), scheme
        step = training_step(self.network.graph, scheme, Options(patch_grid=1), _QUICK_TRIES)
        self.program = encode(step, self.network, optimizer)
        kind = Net if self.network.quantized else FloatNet
        self.net = kind(self.program.code, self.program.weights)

    def stored(self, x):
        """Return samples (count, channels, height, width) as a list of a board's inputs.

        Samples of the model's own shape, such as (count, 30), are taken as well.
        """
        x = in_shape(x, self.network.graph[self.network.input].shape)
        if self.network.quantized:
            x = self.network.quantize_input(x)
        return as_bytes(np.asarray(x, np.int8 if self.network.quantized else np.float32))

    def tune(self, inputs, labels, setting, weights=None):
        """Train from the network's own (or given) weights; return the mean loss of each epoch.

        :param inputs: from `stored`
        """
        net = self.net
        net.reset(self.program.weights if weights is None else weights, setting.seed)
        random = np.random.default_rng(setting.seed)
        steps, done, losses = setting.epochs * len(inputs), 0, []
        for _ in range(setting.epochs):
            total = 0.0
            for i in random.permutation(len(inputs)):
                if done % 16 == 0:
                    net.set_rate(setting.rate * (1 - (1 - setting.last) * done / steps))
                net.train_step(inputs[i], int(labels[i]))
                total += net.loss()
                done += 1
            losses.append(total / len(inputs))
        return losses

    def accuracy(self, inputs, labels):
        """Return the share of samples that the network, as it is now, predicts right."""
        return self.net.evaluate(zip(inputs, (int(label) for label in labels), strict=True))

    def weights(self):
        """Return what training has changed, as bytes."""
        return bytes(self.net.weights())
