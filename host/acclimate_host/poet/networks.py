# SPDX-License-Identifier: MIT
"""The paper's networks, and one more, at batch 1 (float32), by name.

================  ================  =======================================================
name              input             layers
================  ================  =======================================================
linear            (1, 784)          6 dense + ReLU: 10, 120, 100, 200, 10, 10; loss
vgg16             (1, 3, 224, 224)  13 conv 3x3 + ReLU in five stacks, max-pool after each;
                                    dense 4096, 4096 (+ ReLU + dropout), 1000; loss
vgg16_cifar       (1, 3, 32, 32)    the same with 10 classes
resnet18          (1, 3, 224, 224)  conv 7x7/2, eight basic blocks of width 64 to 512
resnet18_cifar    (1, 3, 32, 32)    conv 3x3, six blocks of width 16, 16, 32, 32, 64, 64, each
                                    with a convolution in its short cut
resnet8_cifar     (1, 3, 32, 32)    conv 3x3, three blocks of width 16, 32, 64, a 1x1 convolution
                                    in the short cuts of the last two (MLPerf Tiny's; not POET's)
bert              (512, 768)        12 blocks, 12 heads of width 64; no look-up, no layer norm
transformer       (512, 768)        one such block
================  ================  =======================================================

``as_published`` keeps two slips of the paper's code in BERT: the weighted values do not read
the value matrix, and the second sum reads the projection instead of the first sum.
"""

from .layers import Layers
from .problem import PlanError


def _linear(as_published):
    net = Layers((1, 784))
    for features in (10, 120, 100, 200, 10, 10):
        net.dense(features)
        net.relu()
    net.loss(10)
    return net.all


def _vgg16(side, classes):
    net = Layers((1, 3, side, side))
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            net.conv(channels, 3, 1, 1)
            net.relu()
        net.pool("maxpool", 2, 2)
    net.flatten()
    for _ in range(2):
        net.dense(4096)
        net.relu()
        net.dropout()
    net.dense(classes)
    net.loss(classes)
    return net.all


def _resnet18(as_published):
    net = Layers((1, 3, 224, 224))
    net.conv(64, 7, 2, 3)
    net.batchnorm()
    net.pool("maxpool", 3, 2)
    for width in (64, 128, 256, 512):
        for stride in (1 if width == 64 else 2, 1):
            net.conv(width, 3, stride, 1)
            net.batchnorm()
            first = net.relu()
            net.conv(width, 3, 1, 1)
            net.add(first, net.batchnorm())
            net.relu()
    net.pool("avgpool", 7, 1)
    net.flatten()
    net.dense(1000)
    net.loss(1000)
    return net.all


def _resnet18_cifar(as_published):
    net = Layers((1, 3, 32, 32))
    net.conv(16, 3, 1, 1)
    net.batchnorm()
    for width, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        start = net.last
        net.conv(width, 3, stride, 1)
        net.batchnorm()
        net.relu()
        net.conv(width, 3, 1, 1)
        net.batchnorm()
        body = net.relu()
        net.conv(width, 3, stride, 1, of=start)
        net.add(body, net.batchnorm())
        net.relu()
    return _ten_classes(net)


def _resnet8_cifar(as_published):
    net = Layers((1, 3, 32, 32))
    net.conv(16, 3, 1, 1)
    net.batchnorm()
    net.relu()
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        start = net.last
        net.conv(width, 3, stride, 1)
        net.batchnorm()
        net.relu()
        net.conv(width, 3, 1, 1)
        body = net.batchnorm()
        net.add(body, start if stride == 1 else net.conv(width, 1, stride, of=start))
        net.relu()
    return _ten_classes(net)


def _ten_classes(net):
    """End a network over CIFAR-10; return its layers."""
    net.pool("avgpool", 8, 1)
    net.flatten()
    net.dense(10)
    net.loss(10)
    return net.all


def _bert(blocks, as_published):
    net = Layers((512, 768))
    for _ in range(blocks):
        start = net.last
        net.attention(12, 64, second_reads_values=not as_published)
        projection = net.dense(768)
        total = net.add(start, projection)
        net.dense(3072, relu=True)
        net.add(projection if as_published else total, net.dense(768))
    net.loss(512)
    return net.all


_BUILD = {
    "linear": _linear,
    "vgg16": lambda published: _vgg16(224, 1000),
    "vgg16_cifar": lambda published: _vgg16(32, 10),
    "resnet18": _resnet18,
    "resnet18_cifar": _resnet18_cifar,
    "resnet8_cifar": _resnet8_cifar,
    "bert": lambda published: _bert(12, published),
    "transformer": lambda published: _bert(1, published),
}


def names():
    """Names of the networks."""
    return tuple(_BUILD)


def layers(name, as_published=True):
    """Layers of a network in forward order, the loss last."""
    if name not in _BUILD:
        raise PlanError(f"unknown network {name!r}; there are {', '.join(_BUILD)}")
    return tuple(_BUILD[name](as_published))
