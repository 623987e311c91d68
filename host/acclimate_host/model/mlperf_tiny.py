# SPDX-License-Identifier: MIT
"""The networks of the MLPerf Tiny benchmark by their published layers (no weights are here).

Keyword spotting is DS-CNN, visual wake words MobileNetV1 x 0.25 at 96x96, image classification
a ResNet of 8 layers on 32x32, anomaly detection a dense autoencoder. Sizes and padding ("same")
are those of Banbury et al., MLPerf Tiny Benchmark (2021), and its reference networks.
"""

import math

from .build import Builder
from .graph import GraphError
from .importing import same_padding

VWW_BLOCKS = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5)
VWW_BLOCKS = (*VWW_BLOCKS, (256, 2), (256, 1))
ENCODER = (128, 128, 128, 128, 8)


def names():
    """Return the names of the networks."""
    return tuple(_NETS)


def network_graph(name):
    """Return the forward graph of a network, without a loss.

    >>> network_graph("kws")["fc.y"].shape
    (12, 1, 1)
    """
    if name not in _NETS:
        raise GraphError(f"no net {name!r}; known are {', '.join(names())}")
    build, y = _NETS[name]()
    return build.finish(y)


def _conv(build, name, x, outputs, kernel, stride=1, depthwise=False, relu=True):
    """Add a convolution with "same" padding and a plain ReLU."""
    kernels = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    channels, *edges = build.tensors[x].shape
    pads = [same_padding(e, k, stride) for e, k in zip(edges, kernels, strict=True)]
    pad = tuple(pads[axis][end] for end in (0, 1) for axis in (0, 1))
    groups = channels if depthwise else 1
    return build.conv(name, x, outputs, kernel, stride, groups, relu, pad, math.inf)


def _separable(build, number, x, outputs, stride):
    """Add a depthwise layer and a pointwise one."""
    y = _conv(build, f"d{number}", x, build.tensors[x].shape[0], 3, stride, depthwise=True)
    return _conv(build, f"p{number}", y, outputs, 1)


def _keywords():
    build = Builder("kws", (1, 49, 10))
    y = _conv(build, "c0", build.x, 64, (10, 4), 2)
    for number in range(1, 5):
        y = _separable(build, number, y, 64, 1)
    return build, build.dense("fc", build.pool("pool", y), 12)


def _wake_words():
    build = Builder("vww", (3, 96, 96))
    y = _conv(build, "c0", build.x, 8, 3, 2)
    for number, (outputs, stride) in enumerate(VWW_BLOCKS, 1):
        y = _separable(build, number, y, outputs, stride)
    return build, build.dense("fc", build.pool("pool", y), 2)


def _images():
    build = Builder("resnet8", (3, 32, 32))
    x = _conv(build, "c0", build.x, 16, 3)
    for number, (outputs, stride) in enumerate(((16, 1), (32, 2), (64, 2)), 1):
        y = _conv(build, f"a{number}", x, outputs, 3, stride)
        y = _conv(build, f"b{number}", y, outputs, 3, relu=False)
        if stride > 1:
            x = _conv(build, f"s{number}", x, outputs, 1, stride, relu=False)
        x = build.add(f"add{number}", x, y)
        build.clamp(x)
    return build, build.dense("fc", build.pool("pool", x), 10)


def _anomalies():
    build = Builder("autoencoder", (640, 1, 1))
    y = build.x
    for number, outputs in enumerate((*ENCODER, *ENCODER[-2::-1])):
        y = build.dense(f"fc{number}", y, outputs)
        build.clamp(y)
    return build, build.dense("out", y, 640)


_NETS = {
    "kws": _keywords,
    "vww": _wake_words,
    "resnet8": _images,
    "autoencoder": _anomalies,
}
