# SPDX-License-Identifier: MIT
"""A small inverted-residual network, about ten thousand weights, for images and for signals."""

from .build import Builder

# Expanded channels, output channels, stride, whether the input is added.
BLOCKS = ((24, 16, 2, False), (48, 16, 1, True), (48, 24, 2, False), (72, 24, 1, True))


def inverted_residual(name, shape, classes, stem_stride=1, stem=8):
    """Return the forward graph: a 3x3 layer, four blocks, average, classifier.

    Convolutions are "c0" to "c12"; of each block the first is pointwise, then depthwise, then
    pointwise and linear.

    :param shape: (channels, height, width); width 1 is a signal: kernels then span 5 samples
        in time, and strides are in time
    :param stem_stride: of the first layer

    >>> graph = inverted_residual("digits", (1, 16, 16), 10)
    >>> sum(t.elements for t in graph.tensors.values() if t.kind == "frozen")
    10010
    """
    signal = shape[2] == 1
    kernel = (5, 1) if signal else 3

    def along(stride):
        return (stride, 1) if signal else stride

    build = Builder(name, shape)
    y = build.conv("c0", build.x, stem, kernel, along(stem_stride))
    number = 1
    for expanded, outputs, stride, is_added in BLOCKS:
        start = y
        y = build.conv(f"c{number}", y, expanded)
        y = build.conv(f"c{number + 1}", y, expanded, kernel, along(stride), groups=expanded)
        y = build.conv(f"c{number + 2}", y, outputs, relu=False)
        if is_added:
            y = build.add(f"a{number}", start, y)
        number += 3
    return build.classify(build.pool("pool", y), classes)
