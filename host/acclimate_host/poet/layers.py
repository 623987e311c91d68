# SPDX-License-Identifier: MIT
"""Layers of a network with their shapes, FLOP and parameters, counted as the paper's code does.

Shapes are (batch, channels, height, width) or (batch, features). A convolution counts
2 x kernel x kernel x input elements x output channels FLOP plus one per output element, and a
dense layer 2 x parameters plus one per output, whatever the batch: the published code's
arithmetic, kept so that its numbers can be compared.
"""

import math
from dataclasses import dataclass

# What an operator's backward kernel reads besides the gradient of its output.
READS = {
    "input": "",
    "conv": "in",
    "dense": "in",
    "dense_relu": "in out",
    "relu": "out",
    "batchnorm": "in",
    "maxpool": "in",
    "avgpool": "",
    "flatten": "",
    "dropout": "out",
    "add": "",
    "loss": "out",
    "qkv": "in",
    "qkt": "in",
    "qktv": "in",
    "matmul": "in",
    "product": "in",
    "recurrent": "in out",
    "other": "in out",
}
# Operators whose backward pass does two products (input and weights) for one forward.
_TWICE = ("conv", "dense", "dense_relu", "batchnorm", "qkv", "qkt", "qktv", "matmul", "recurrent")


@dataclass(frozen=True)
class Layer:
    """One operator: id, kind, ids of its inputs, shape of its output, FLOP and parameters."""

    id: str
    kind: str
    inputs: tuple
    shape: tuple
    flop: float
    parameters: int = 0

    @property
    def elements(self):
        """Numbers in the output."""
        return math.prod(self.shape)

    @property
    def backward_flop(self):
        """FLOP of the backward kernel of a true reverse-mode pass."""
        return self.flop * (2 if self.kind in _TWICE else 1)


class Layers:
    """Collects layers in order; each method appends one and returns its id."""

    def __init__(self, shape):
        self.all = []
        self._shape = {}
        self._count = {}
        self.last = self._append("input", (), tuple(shape), 0)

    def _append(self, kind, inputs, shape, flop, parameters=0):
        self._count[kind] = self._count.get(kind, 0) + 1
        name = kind if kind in ("input", "loss") else f"{kind}{self._count[kind]}"
        self.all.append(Layer(name, kind, tuple(inputs), shape, flop, parameters))
        self._shape[name] = shape
        self.last = name
        return name

    def shape(self, name):
        """Shape of a layer's output."""
        return self._shape[name]

    def conv(self, channels, kernel, stride=1, padding=0, of=None):
        """Square convolution with bias."""
        of = of or self.last
        batch, depth, height, width = self.shape(of)
        side = [(size - kernel + 2 * padding) // stride + 1 for size in (height, width)]
        shape = (batch, channels, *side)
        products = kernel * kernel * math.prod(self.shape(of)) * channels
        return self._append(
            "conv",
            (of,),
            shape,
            2 * products + math.prod(shape),
            channels * depth * kernel * kernel + channels,
        )

    def dense(self, features, of=None, relu=False):
        """Matrix product with bias, and a rectifier in the same node if so asked."""
        of = of or self.last
        rows, depth = self.shape(of)
        parameters = (depth + 1) * features
        flop = 2 * parameters + features + (rows * features if relu else 0)
        kind = "dense_relu" if relu else "dense"
        return self._append(kind, (of,), (rows, features), flop, parameters)

    def relu(self, of=None):
        """Rectifier."""
        return self._elementwise("relu", of)

    def dropout(self, of=None):
        """Dropout."""
        return self._elementwise("dropout", of)

    def batchnorm(self, of=None):
        """Batch normalisation, not folded."""
        of = of or self.last
        shape = self.shape(of)
        return self._append("batchnorm", (of,), shape, 2 * math.prod(shape), 4 * shape[1])

    def add(self, first, second):
        """Sum of two tensors of one shape."""
        shape = self.shape(first)
        return self._append("add", (first, second), shape, math.prod(shape))

    def pool(self, kind, kernel, stride, of=None):
        """ "maxpool" or "avgpool" without padding."""
        of = of or self.last
        batch, depth, height, width = self.shape(of)
        shape = (batch, depth, (height - kernel) // stride + 1, (width - kernel) // stride + 1)
        return self._append(kind, (of,), shape, 2 * kernel * kernel * math.prod(shape))

    def flatten(self, of=None):
        """(batch, everything else)."""
        of = of or self.last
        batch, *rest = self.shape(of)
        shape = (batch, math.prod(rest))
        return self._append("flatten", (of,), shape, math.prod(shape))

    def attention(self, heads, width, second_reads_values):
        """Three nodes: query-key-value, masked scores, and weighted values.

        second_reads_values: the last also reads the first (it does; the paper's code says no).
        """
        of = self.last
        rows, depth = self.shape(of)
        product = rows * depth * width * heads
        qkv = self._append(
            "qkv", (of,), (3 * rows, width, heads), 3 * product, 3 * depth * width * heads
        )
        scores = (rows, rows, heads)
        flop = rows * width * rows * heads + 2 * math.prod(scores)
        qkt = self._append("qkt", (qkv,), scores, flop)
        reads = (qkt, qkv) if second_reads_values else (qkt,)
        return self._append("qktv", reads, (rows, width * heads), 2 * rows * rows * width * heads)

    def loss(self, classes, of=None):
        """Cross entropy."""
        of = of or self.last
        return self._append("loss", (of,), (classes,), math.prod(self.shape(of)) * classes)

    def _elementwise(self, kind, of):
        of = of or self.last
        shape = self.shape(of)
        return self._append(kind, (of,), shape, math.prod(shape))
