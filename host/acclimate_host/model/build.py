# SPDX-License-Identifier: MIT
"""Builds forward graphs, one layer a call, and works out every shape."""

from .graph import Graph, GraphError, Node, Tensor


class Builder:
    """Collects the layers of a network.

    >>> net = Builder("tiny", (1, 8, 8))
    >>> y = net.conv("c0", net.x, outputs=4, kernel=3, stride=2)
    >>> graph = net.classify(net.pool("p", y), classes=3)
    >>> graph["c0.y"].shape
    (4, 4, 4)
    """

    def __init__(self, name, input_shape):
        self.name, self.tensors, self.nodes = name, {}, []
        self.x = self._tensor("x", input_shape, "int8", "input")

    def _tensor(self, name, shape, dtype="int8", kind="activation"):
        if name in self.tensors:
            raise GraphError(f"{self.name}: two tensors are called {name}; names must differ")
        self.tensors[name] = Tensor(name, tuple(shape), dtype, kind)
        return name

    def conv(self, name, x, outputs, kernel=1, stride=1, groups=1, relu=True, pad=None):
        """Add a convolution with bias and clamp; return the name of its output.

        :param kernel: odd edge length; `pad` on each side, kernel // 2 where it is None
        :param relu: clamp to [0, 6]; else only to the range of the stored type
        """
        channels, height, width = self.tensors[x].shape
        if channels % groups or outputs % groups:
            raise GraphError(f"{name}: {channels} -> {outputs} channels: no multiple of {groups}")
        pad = kernel // 2 if pad is None else pad
        shape = [(edge + 2 * pad - kernel) // stride + 1 for edge in (height, width)]
        if min(shape) < 1:
            raise GraphError(f"{name}: kernel {kernel} is larger than the padded {height}x{width}")
        weight = (outputs, channels // groups, kernel, kernel)
        inputs = (
            x,
            self._tensor(name + ".w", weight, "int8", "frozen"),
            self._tensor(name + ".b", (outputs,), "int32", "frozen"),
        )
        y = self._tensor(name + ".y", (outputs, *shape))
        mask = self._tensor(name + ".mask", (outputs, *shape), "bit", "mask")
        attrs = {"layer": name, "kernel": kernel, "stride": stride, "pad": pad}
        attrs.update(groups=groups, relu=relu)
        self.nodes.append(Node("conv", inputs, (y, mask), attrs=attrs))
        return y

    def add(self, name, left, right):
        """Add two tensors of the same shape."""
        if self.tensors[left].shape != self.tensors[right].shape:
            raise GraphError(f"{name}: {left} and {right} differ in shape; add needs the same")
        y = self._tensor(name + ".y", self.tensors[left].shape)
        self.nodes.append(Node("add", (left, right), (y,), attrs={"layer": name}))
        return y

    def pool(self, name, x):
        """Add the average over each channel."""
        y = self._tensor(name + ".y", (self.tensors[x].shape[0], 1, 1))
        self.nodes.append(Node("pool", (x,), (y,), attrs={"layer": name}))
        return y

    def classify(self, x, classes, name="fc"):
        """Add a dense layer, softmax and cross-entropy; return the finished graph."""
        features = self.tensors[x].elements
        inputs = (
            x,
            self._tensor(name + ".w", (classes, features, 1, 1), "int8", "frozen"),
            self._tensor(name + ".b", (classes,), "int32", "frozen"),
        )
        logits = self._tensor(name + ".y", (classes, 1, 1))
        self.nodes.append(Node("dense", inputs, (logits,), attrs={"layer": name}))
        label = self._tensor("label", (1,), "int32", "label")
        outputs = (
            self._tensor("loss", (1,), "int32", "loss"),
            self._tensor(logits + ".g", (classes, 1, 1), "int8", "gradient"),
        )
        self.nodes.append(Node("softmax_loss", (logits, label), outputs, "loss"))
        return Graph(self.name, self.tensors, tuple(self.nodes), (logits, "loss"))
