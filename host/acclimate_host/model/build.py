# SPDX-License-Identifier: MIT
"""Builds forward graphs, one layer a call, and works out every shape."""

import math
from dataclasses import replace

from .graph import Graph, GraphError, Node, Tensor, geometry, plain
from .moves import places

ATTENTION_MOST = 1024  # rows, heads, channels of a head


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

    def __repr__(self):
        return f"Builder({self.name!r}): {len(self.nodes)} operators"

    def _tensor(self, name, shape, dtype="int8", kind="activation"):
        if name in self.tensors:
            raise GraphError(f"{self.name}: two tensors are called {name}; names must differ")
        self.tensors[name] = Tensor(name, tuple(shape), dtype, kind)
        return name

    def conv(
        self, name, x, outputs, kernel=1, stride=1, groups=1, relu=True, pad=None, limit=None
    ):
        """Add a convolution with bias and clamp; return the name of its output.

        :param kernel: edge length, or (height, width); `stride` likewise
        :param pad: on each side, or (top, left, bottom, right); kernel // 2 where it is None
        :param relu: clamp to [0, limit]; else only to the range of the stored type
        :param limit: of the ReLU, in real units; 6 where it is None, math.inf for a plain one
        """
        channels = self.tensors[x].shape[0]
        if channels % groups or outputs % groups:
            raise GraphError(f"{name}: {channels} -> {outputs} channels: no multiple of {groups}")
        attrs, shape = self._sliding(name, x, kernel, stride, pad)
        attrs.update(groups=groups, relu=relu)
        if limit is not None:
            attrs["limit"] = limit
        inputs = (
            x,
            self._tensor(
                name + ".w", (outputs, channels // groups, *geometry(attrs).kernel), kind="frozen"
            ),
            self._tensor(name + ".b", (outputs,), "int32", "frozen"),
        )
        y = self._tensor(name + ".y", (outputs, *shape))
        mask = self._tensor(name + ".mask", (outputs, *shape), "bit", "mask")
        self.nodes.append(Node("conv", inputs, (y, mask), attrs=attrs))
        return y

    def _sliding(self, name, x, kernel, stride, pad):
        """Return the attrs of something that slides over `x`, and its output's edges."""
        kernel, edges = plain(kernel), self.tensors[x].shape[1:]
        if pad is None:
            half = [edge // 2 for edge in kernel] if isinstance(kernel, tuple) else [kernel // 2]
            pad = half * 2
        attrs = {"layer": name, "kernel": kernel, "stride": plain(stride), "pad": plain(pad)}
        shape = geometry(attrs).output(edges)
        if min(shape) < 1:
            raise GraphError(
                f"{name}: kernel {kernel} is larger than the padded {edges[0]}x{edges[1]}"
            )
        return attrs, shape

    def add(self, name, left, right):
        """Add two tensors of the same shape."""
        if self.tensors[left].shape != self.tensors[right].shape:
            raise GraphError(f"{name}: {left} and {right} differ in shape; add needs the same")
        y = self._tensor(name + ".y", self.tensors[left].shape)
        self.nodes.append(Node("add", (left, right), (y,), attrs={"layer": name}))
        return y

    def multiply(self, name, left, right):
        """Multiply two tensors of one shape, or all of `left` with one number for each channel."""
        a, b = self.tensors[left].shape, self.tensors[right].shape
        if b not in (a, (a[0], 1, 1)):
            raise GraphError(f"{name}: {a} times {b}; the second has the same shape or one pixel")
        y = self._tensor(name + ".y", a)
        self.nodes.append(Node("multiply", (left, right), (y,), attrs={"layer": name}))
        return y

    def concat(self, name, parts, axis="channels", shape=None):
        """Put tensors behind each other.

        :param axis: "channels", where all have the same height and width, or "all": the elements
            of each in the order of the memory (height, width, channels) as channels of one pixel
        :param shape: of the output where axis is "all", in place of that one pixel
        """
        shapes = [self.tensors[part].shape for part in parts]
        if axis == "channels" and len({shape[1:] for shape in shapes}) > 1:
            raise GraphError(f"{name}: parts of {shapes}; heights and widths must be the same")
        total = sum(shape[0] if axis == "channels" else math.prod(shape) for shape in shapes)
        if shape is None or axis == "channels":
            shape = (total, *(shapes[0][1:] if axis == "channels" else (1, 1)))
        if math.prod(shape) != sum(map(math.prod, shapes)):
            raise GraphError(f"{name}: parts of {shapes} do not fill {shape}")
        y = self._tensor(name + ".y", shape)
        attrs = {"layer": name, "axis": axis}
        self.nodes.append(Node("concat", tuple(parts), (y,), attrs=attrs))
        return y

    def gather(self, name, x, index, shape):
        """Take elements of `x` in another order, some perhaps often and some never.

        :param index: for each element of the output in the order of the memory (height, width,
            channels), which of `x` it is, in the same order. :param shape: of the output
        """
        index, elements = tuple(map(int, index)), math.prod(self.tensors[x].shape)
        if len(index) != math.prod(shape) or not 0 <= min(index) <= max(index) < elements:
            raise GraphError(f"{name}: {len(index)} places of {elements} for a shape of {shape}")
        y = self._tensor(name + ".y", shape)
        attrs = {"layer": name, "index": index}
        self.nodes.append(Node("gather", (x,), (y,), attrs=attrs))
        return y

    def resize(self, name, x, factor):
        """Repeat each row and column `factor` (rows, columns) times: the nearest neighbour."""
        channels, height, width = self.tensors[x].shape
        shape = (channels, height * factor[0], width * factor[1])
        at = places((channels, height, width))
        at = at.repeat(factor[0], axis=1).repeat(factor[1], axis=2)
        return self.gather(name, x, at.transpose(1, 2, 0).ravel(), shape)

    def lstm(self, name, x, units, **attrs):
        """Add an int8 recurrent layer over the rows of `x`, whose state stays from call to call.

        :param attrs: "scales" and "again_scales" of the four gates' weights, "cell_power",
            "clip": see `lstm.lstm_factors`
        """
        channels, height, width = self.tensors[x].shape
        inputs = (
            x,
            self._tensor(name + ".wi", (4 * units, channels, 1, 1), kind="frozen"),
            self._tensor(name + ".wr", (4 * units, units, 1, 1), kind="frozen"),
            self._tensor(name + ".b", (4 * units,), "int32", "frozen"),
        )
        outputs = (
            self._tensor(name + ".y", (units, height, width)),
            self._tensor(name + ".h", (units, 1, 1), kind="state"),
            self._tensor(name + ".c", (units, 1, 1), "int16", "state"),
        )
        self.nodes.append(Node("lstm", inputs, outputs, attrs={"layer": name, **attrs}))
        return outputs[0]

    def svdf(self, name, x, units, rank=1, memory=8, state="int16"):
        """Add an int8 recurrent layer over all of `x`, whose state stays from call to call.

        :param rank: filters that an output sums. :param memory: calls that a filter looks back.
        :param state: "int16" or "int8", of what is kept and of the weights in time
        """
        filters = units * rank
        inputs = (
            x,
            self._tensor(name + ".wf", (filters, self.tensors[x].elements, 1, 1), kind="frozen"),
            self._tensor(name + ".wt", (filters, memory, 1, 1), state, "frozen"),
            self._tensor(name + ".b", (units,), "int32", "frozen"),
        )
        outputs = (
            self._tensor(name + ".y", (units, 1, 1)),
            self._tensor(name + ".s", (memory, filters, 1), state, "state"),
        )
        self.nodes.append(Node("svdf", inputs, outputs, attrs={"layer": name, "rank": rank}))
        return outputs[0]

    def norm(self, name, x, eps=1e-5):
        """Take the mean over the channels off each pixel, and divide by their deviation.

        :param eps: is added to the variance, in real units
        """
        y = self._tensor(name + ".y", self.tensors[x].shape)
        self.nodes.append(Node("norm", (x,), (y,), attrs={"layer": name, "eps": float(eps)}))
        return y

    def attention(self, name, q, k, v, heads=1, factor=None):
        """Weigh rows of `v` for each row of `q`: softmax(factor * q k^T) v, for each head apart.

        A row is a pixel, its numbers are the channels: those of the first head come first.

        :param q: a tensor, k: one with as many channels. :param v: with as many rows as k
        :param factor: of a score; None: 1 over the square root of a head's channels
        """
        shapes = [self.tensors[part].shape for part in (q, k, v)]
        rows = [height * width for _, height, width in shapes]
        channels = [shape[0] for shape in shapes]
        if channels[0] != channels[1] or rows[1] != rows[2] or any(c % heads for c in channels):
            raise GraphError(
                f"{name}: attention of {heads} heads over {shapes}; q and k have as many "
                "channels, k and v as many rows, heads share channels evenly"
            )
        most = max(*rows, heads, *(c // heads for c in channels))
        if most > ATTENTION_MOST:
            raise GraphError(f"{name}: attention over {most} rows or channels; most is 1024")
        factor = 1 / math.sqrt(channels[0] // heads) if factor is None else float(factor)
        if not factor > 0:
            raise GraphError(f"{name}: attention with factor {factor}; expected above 0")
        y = self._tensor(name + ".y", (channels[2], *shapes[0][1:]))
        attrs = {"layer": name, "heads": heads, "factor": factor}
        self.nodes.append(Node("attention", (q, k, v), (y,), attrs=attrs))
        return y

    def pool(self, name, x):
        """Add the average over each channel."""
        y = self._tensor(name + ".y", (self.tensors[x].shape[0], 1, 1))
        self.nodes.append(Node("pool", (x,), (y,), attrs={"layer": name}))
        return y

    def sliding_pool(self, op, name, x, kernel, stride, pad=0):
        """Add an "average_pool" or "max_pool" over windows; padding takes no part in either."""
        attrs, shape = self._sliding(name, x, kernel, stride, pad)
        y = self._tensor(name + ".y", (self.tensors[x].shape[0], *shape))
        self.nodes.append(Node(op, (x,), (y,), attrs=attrs))
        return y

    def pad(self, name, x, pad):
        """Add (top, left, bottom, right) rows and columns of zeros."""
        channels, height, width = self.tensors[x].shape
        shape = (channels, height + pad[0] + pad[2], width + pad[1] + pad[3])
        y = self._tensor(name + ".y", shape)
        self.nodes.append(Node("pad", (x,), (y,), attrs={"layer": name, "pad": plain(pad)}))
        return y

    def lookup(self, name, x, function):
        """Add an element-wise function: a table of 256 bytes, y = table[x + 128].

        :param function: its name: see `importing.function_of`
        """
        table = self._tensor(name + ".table", (256,), kind="frozen")
        y = self._tensor(name + ".y", self.tensors[x].shape)
        attrs = {"layer": name, "function": function}
        self.nodes.append(Node("lookup", (x, table), (y,), attrs=attrs))
        return y

    def take_back(self, y):
        """Remove the lookup that made `y`, which nothing reads."""
        node = next(node for node in self.nodes if y in node.outputs)
        self.nodes.remove(node)
        for name in (y, node.inputs[1]):
            del self.tensors[name]

    def window(self, name, x, rows):
        """Keep the last `rows` rows of a stream, of which `x` holds the newest at the bottom."""
        channels, height, width = self.tensors[x].shape
        if height > rows:
            raise GraphError(f"{name}: a window of {rows} rows; {x} brings {height} at once")
        y = self._tensor(name + ".y", (channels, rows, width), kind="state")
        self.nodes.append(Node("window", (x,), (y,), attrs={"layer": name}))
        return y

    def dense(self, name, x, outputs):
        """Add a dense layer over all of `x`; its weight has the shape of `x` for each output."""
        inputs = (
            x,
            self._tensor(name + ".w", (outputs, *self.tensors[x].shape), kind="frozen"),
            self._tensor(name + ".b", (outputs,), "int32", "frozen"),
        )
        y = self._tensor(name + ".y", (outputs, 1, 1))
        self.nodes.append(Node("dense", inputs, (y,), attrs={"layer": name}))
        return y

    def clamp(self, y, limit=math.inf):
        """Clamp the output `y` of the last node that made it to [0, limit], as ReLU does.

        Returns False, and changes nothing, where its operator has no clamp.
        """
        at = next((i for i, node in enumerate(self.nodes) if y in node.outputs), None)
        if at is None or self.nodes[at].op not in ("conv", "dense", "add"):
            return False
        node = self.nodes[at]
        attrs = {**node.attrs, "relu": True, "limit": limit}
        if node.op == "dense":
            kernel = self.tensors[node.inputs[1]].shape[2:]
            attrs.update(kernel=plain(kernel), stride=1, pad=0, groups=1)
            mask = self._tensor(attrs["layer"] + ".mask", self.tensors[y].shape, "bit", "mask")
            node = replace(node, op="conv", outputs=(y, mask))
        self.nodes[at] = replace(node, attrs=attrs)
        return True

    def finish(self, *outputs):
        """Return the graph that only predicts `outputs`."""
        return Graph(self.name, self.tensors, tuple(self.nodes), outputs)

    def drop_unread(self, *outputs):
        """Remove gathers that nothing reads: elements that were moved on from their source."""
        read = {name for node in self.nodes for name in node.inputs} | set(outputs)
        for node in self.nodes[::-1]:
            if node.op == "gather" and node.outputs[0] not in read:
                self.nodes.remove(node)
                del self.tensors[node.outputs[0]]
                self.drop_unread(*outputs)
                return

    def classify(self, x, classes, name="fc"):
        """Add a dense layer, softmax and cross-entropy; return the finished graph."""
        return self.train(self.dense(name, x, classes))

    def train(self, logits):
        """Add softmax and cross-entropy on `logits`; return the finished graph."""
        label = self._tensor("label", (1,), "int32", "label")
        outputs = (
            self._tensor("loss", (1,), "int32", "loss"),
            self._tensor(logits + ".g", self.tensors[logits].shape, "int8", "gradient"),
        )
        self.nodes.append(Node("softmax_loss", (logits, label), outputs, "loss"))
        return Graph(self.name, self.tensors, tuple(self.nodes), (logits, "loss"))
