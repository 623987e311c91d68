# SPDX-License-Identifier: MIT
"""Random .tflite models, of operators with unusual options, to compare with an interpreter."""

import math

import numpy as np
from tflite_writer import FloatWriter, Writer, window

PLAIN = {"fusedActivationFunction": 0}


class Random:
    """Makes one model of a seed; `names` are the operators it has, `outputs` those but the last.

    :param stored: of the weights: "int8" for a quantized model, else see FloatWriter
    """

    def __init__(self, seed, stored):
        self.random, self.is_float = np.random.default_rng(seed), stored != "int8"
        shape = self._pick(self._shapes())
        self.net = (
            FloatWriter(shape, stored, seed)
            if self.is_float
            else Writer(shape, *self._stored(), seed)
        )
        self.signals, self.names, self.outputs = [self.net.last], [], ()
        if len(shape) == 4 and self._int(0, 9) == 0:  # as PyTorch's models are converted
            out = [shape[i] for i in (0, 2, 3, 1)]
            inputs = (self.net.last, self.net.constant([0, 2, 3, 1]))
            self._op("TRANSPOSE", inputs, out, self._as(self.net.last))
            self.signals.append(self.net.last)
        for _ in range(self._int(1, 4)):
            step = self._pick(self._steps())
            step()
            self.signals.append(self.net.last)
        if (
            self.is_float
            and self._int(0, 5) == 0
            and self.net.last != self.signals[-2] != self.net.first
        ):
            self.outputs = (self.signals[-2],)

    # ---- draws -----------------------------------------------------------------------------

    def _int(self, low, high):
        return int(self.random.integers(low, high + 1))

    def _pick(self, values):
        return values[self._int(0, len(values) - 1)]

    def _odd(self, usual, *others):
        """Return what is usual, seldom another: one that is refused leaves nothing to compare."""
        return self._pick(others) if self._int(0, 9) == 0 else usual

    def _activation(self):
        return self._odd(self._pick([0, 0, 1, 3]), 2)  # none, ReLU, ReLU6; ReLU from -1 to 1

    def _shapes(self):
        n = self._int
        return [
            (1, n(1, 7), n(1, 7), n(1, 6)),
            (1, n(3, 9), n(3, 9), n(1, 5)),
            (1, n(2, 7), n(2, 7), n(2, 6)),
            (1, n(1, 6), n(1, 6)),
            (1, n(1, 12)),
        ]

    def _zero(self):
        return self._pick([-128, 127, 0, self._int(-128, 127), self._int(-128, 127)])

    def _stored(self):
        """Return a scale and a zero point."""
        return float(10 ** self.random.uniform(-2, -0.8)), self._zero()

    def _as(self, index):
        """Return scale and zero point of a tensor."""
        if self.is_float:
            return ()
        found = self.net.graph.tensors[index].quantization
        return found.scale[0], found.zeroPoint[0]

    def _number(self, values, scale=None):
        """Return a constant of real values, stored where the model is quantized."""
        values = np.asarray(values, np.float32)
        if self.is_float:
            return self.net.number(values)
        scale = scale or max(float(np.abs(values).max()), 0.1) / 120
        stored = np.clip(np.rint(values / scale), -127, 127).astype(np.int8)
        return self.net._tensor(values.shape, "int8", [scale], [0], stored)

    def _op(self, name, inputs, shape, stored=None, options=None, **fields):
        self.names.append(name)
        kept = () if self.is_float else stored or self._stored()
        return self.net.op(name, inputs, shape, *kept, options, **fields)

    @property
    def x(self):
        return self.net.last

    @property
    def shape(self):
        return tuple(self.net.shape_of(self.net.last))

    # ---- operators -------------------------------------------------------------------------

    def _steps(self):
        rank = len(self.shape)
        steps = [self._table, self._table, self._reshape, self._dense, self._arithmetic,
                 self._join, self._move, self._bound, self._several, self._reduce,
                 self._other]  # fmt: skip
        steps += [self._arithmetic, self._constant, self._constant] * self.is_float
        if rank == 4:
            steps += [self._conv, self._conv, self._depthwise, self._depthwise, self._pool,
                      self._pool, self._pad, self._resize, self._reduce, self._slice,
                      self._pad, self._split]  # fmt: skip
        return steps

    def _window(self, edges):
        """Return (kernel, stride, dilation, padding, output edges), or None."""
        kernel = [self._int(1, 4) for _ in edges]
        dilation = [self._pick([1, 1, 1, 2, 3]) for _ in edges]
        stride = [self._int(1, 3) for _ in edges]
        padding = self._int(0, 1)
        wide = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        if padding == 0:
            out = [-(-e // s) for e, s in zip(edges, stride, strict=True)]
        else:
            out = [(e - w) // s + 1 for e, w, s in zip(edges, wide, stride, strict=True)]
        return (kernel, stride, dilation, padding, out) if min(out) > 0 else None

    def _layer(self, name, weight, out, axis, options, **fields):
        self.names.append(name)
        kept = () if self.is_float else self._stored()
        self.net.layer(name, weight, out, *kept, axis, options, **fields)
        if self._int(0, 6) == 0:  # without a bias
            left_out = [-1] if self._int(0, 1) and name != "DEPTHWISE_CONV_2D" else []
            self.net.graph.operators[-1].inputs[2:] = left_out
        elif not self.is_float and self._int(0, 6) == 0 and name != "FULLY_CONNECTED":
            index = self.net.graph.operators[-1].inputs[1]
            quantization = self.net.graph.tensors[index].quantization
            quantization.scale = quantization.scale[:1]  # one scale for all channels
            quantization.zeroPoint = quantization.zeroPoint[:1]

    def _conv(self):
        channels, found = self.shape[3], self._window(self.shape[1:3])
        if found is None:
            return
        kernel, stride, (rows, columns), padding, out = found
        groups = self._pick([g for g in (1, 1, 2, 3) if channels % g == 0])
        outputs = groups * self._int(1, 3)
        self._layer("CONV_2D", (outputs, *kernel, channels // groups), (1, *out, outputs), 0,
                    "Conv2DOptions", dilationHFactor=rows, dilationWFactor=columns,
                    **window(stride, padding, self._activation()))  # fmt: skip

    def _depthwise(self):
        channels, found = self.shape[3], self._window(self.shape[1:3])
        if found is None:
            return
        kernel, stride, (rows, columns), padding, out = found
        many = self._int(1, 3)
        self._layer("DEPTHWISE_CONV_2D", (1, *kernel, channels * many), (1, *out, channels * many),
                    3, "DepthwiseConv2DOptions", depthMultiplier=many, dilationHFactor=rows,
                    dilationWFactor=columns,
                    **window(stride, padding, self._activation()))  # fmt: skip

    def _dense(self):
        shape, outputs = self.shape, self._int(1, 6)
        keep = self._int(0, 1)
        size = math.prod(shape)
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        over = self._odd(shape[-1] if self._int(0, 1) else size, *divisors)
        out = (*shape[:-1], outputs) if keep and over == shape[-1] else (size // over, outputs)
        self._layer("FULLY_CONNECTED", (outputs, over), out, 0, "FullyConnectedOptions",
                    keepNumDims=bool(keep), weightsFormat=self._odd(0, 1),
                    fusedActivationFunction=self._activation())  # fmt: skip

    def _pool(self):
        channels, found = self.shape[3], self._window(self.shape[1:3])
        if self._int(0, 3) == 0:
            found = (self.shape[1:3], [1, 1], [1, 1], 1, [1, 1])
        if found is None or max(found[2]) > 1:
            return
        kernel, stride, _, padding, out = found
        name = self._pick(["MAX_POOL_2D", "AVERAGE_POOL_2D"])
        self._op(name, (self.x,), (1, *out, channels), self._as(self.x), "Pool2DOptions",
                 filterHeight=kernel[0], filterWidth=kernel[1],
                 **window(stride, padding, self._activation()))  # fmt: skip

    def _arithmetic(self):
        """Two signals, of one shape or one that is broadcast."""
        name = self._pick(["ADD", "ADD", "SUB", "MUL", "DIV" if self.is_float else "MUL"])
        others = []
        for other in (self.x, *self.signals):
            shape = tuple(self.net.shape_of(other))
            try:
                out = np.broadcast_shapes(shape, self.shape)
            except ValueError:
                continue
            others.append((other, out))
        other, out = self._pick(others)
        if out == self.shape and self._int(0, 3) == 0 and len(self.shape) == 4:
            part = [e if self._int(0, 2) else 1 for e in self.shape[1:]]
            other = self.x
            size = [self.net.constant([0] * 4), self.net.constant([1, *part])]
            other = self._op("SLICE", (other, *size), (1, *part), self._as(other))
            self.net.last = self.signals[-1]
        pair = (self.x, other) if self._int(0, 1) else (other, self.x)
        self._op(name, pair, out, None, f"{name.title()}Options",
                 fusedActivationFunction=self._activation())  # fmt: skip

    def _constant(self):
        """A signal and a constant, at either place."""
        name = self._pick(["ADD", "SUB", "MUL", "DIV" if self.is_float else "ADD"])
        shape = [e if self._int(0, 1) else 1 for e in self.shape][self._int(0, len(self.shape)) :]
        if self._int(0, 2) == 0:
            shape = self._pick([[], list(self.shape[-1:])])
        values = self.random.normal(0, 1, shape)
        constant = self._number(np.where(np.abs(values) < 0.1, 0.5, values))
        pair = (self.x, constant) if self._int(0, 1) else (constant, self.x)
        self._op(name, pair, self.shape, None, f"{name.title()}Options",
                 fusedActivationFunction=self._activation())  # fmt: skip

    def _table(self):
        name = self._pick(["LOGISTIC", "TANH", "RELU", "RELU6", "HARD_SWISH", "LEAKY_RELU",
                           "QUANTIZE"])  # fmt: skip
        if name == "QUANTIZE" and self.is_float:
            return
        options, fields = None, {}
        stored = {
            "LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0), "RELU6": self._as(self.x)
        }.get(name)  # fmt: skip
        if name == "LEAKY_RELU":
            options, fields = "LeakyReluOptions", {"alpha": abs(float(self.random.normal(0, 0.6)))}
        self._op(name, (self.x,), self.shape, stored, options, **fields)

    def _bound(self):
        name, other = self._pick(["MAXIMUM", "MINIMUM", "PRELU"]), self.random.normal(0, 1)
        stored = None if self.is_float else self._as(self.x)
        if name == "PRELU":
            shape = self.shape[1:] or (1,)
            kept = [e if self._int(0, 1) else 1 for e in shape]
            kept = self._pick([kept, [1] * (len(shape) - 1) + [shape[-1]]])
            slopes = self._number(self.random.normal(0, 1, kept))
            self._op(name, (self.x, slopes), self.shape)
            return
        shape = self._pick([(), (1,), self.shape[-1:]])
        if self.is_float:
            number = self.net.number(np.broadcast_to(np.float32(other), shape))
        else:
            number = self.net._tensor(shape, "int8", *([v] for v in stored),
                                      np.full(shape, self._int(-128, 127), np.int8))  # fmt: skip
        pair = (self.x, number) if self._int(0, 1) else (number, self.x)
        self._op(name, pair, self.shape, stored)

    def _reshape(self):
        size, kept = math.prod(self.shape), self._as(self.x)
        name = self._pick(["RESHAPE", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"])
        if name == "SQUEEZE":
            axes = [i for i, e in enumerate(self.shape) if i and e == 1 and self._int(0, 1)]
            out = [e for i, e in enumerate(self.shape) if i not in axes]
            if axes:
                self._op(name, (self.x,), out, kept, "SqueezeOptions", squeezeDims=axes)
            return
        if name == "EXPAND_DIMS":
            axis = self._int(1, len(self.shape))
            out = list(self.shape)
            out.insert(axis, 1)
            if len(out) < 5:
                self._op(name, (self.x, self.net.constant(axis)), out, kept)
            return
        out = []
        for _ in range(self._int(0, 2)):
            out.append(self._pick([d for d in range(1, size + 1) if size % d == 0]))
            size //= out[-1]
        out = [*out, size]
        self.random.shuffle(out)
        out = [1, *map(int, out)] if self._int(0, 4) else [*map(int, out)]
        wanted = list(out)
        if self._int(0, 1):
            wanted[self._int(0, len(out) - 1)] = -1
        self._op(name, (self.x, self.net.constant(wanted)), out, kept, "ReshapeOptions",
                 newShape=wanted)  # fmt: skip

    def _reduce(self):
        rank, name = len(self.shape), self._odd("MEAN", "SUM", "REDUCE_MAX")
        axes = [i for i in range(1, rank) if self._int(0, 1)] or [rank - 1]
        if rank > 2 and self._int(0, 3):
            axes = list(range(1, rank - 1))
        keep = self._int(0, 1)
        out = [1 if i in axes else e for i, e in enumerate(self.shape) if keep or i not in axes]
        given = [axis - rank * self._int(0, 1) for axis in axes]
        self.random.shuffle(given)
        # A mean of another scale is rounded in another way: see test_net_tflite.
        stored = self._as(self.x) if name != "SUM" else None
        if out:
            self._op(name, (self.x, self.net.constant(given)), out, stored, "ReducerOptions",
                     keepDims=bool(keep))  # fmt: skip

    def _pad(self):
        name = self._odd("MIRROR_PAD" if self._int(0, 3) == 0 else "PAD", "PADV2")
        amounts = [[0, 0]] + [[self._int(0, 2), self._int(0, 2)] for _ in self.shape[1:]]
        if self._int(0, 1):
            amounts[-1] = [0, 0]
        if name == "MIRROR_PAD":
            amounts = [[min(a, e - 1) for a in p]
                       for p, e in zip(amounts, self.shape, strict=True)]  # fmt: skip
        out = [e + sum(pair) for e, pair in zip(self.shape, amounts, strict=True)]
        inputs = [self.x, self.net.constant(amounts)]
        kept = self._as(self.x)
        if name == "PADV2" and self.is_float:
            inputs.append(self.net.number(np.float32(1.5)))
        elif name == "PADV2":
            inputs.append(self.net._tensor((), "int8", *([v] for v in kept), np.int8(17)))
        fields = {"options": "MirrorPadOptions", "mode": self._int(0, 1)}
        self._op(name, inputs, out, kept, **(fields if name == "MIRROR_PAD" else {}))

    def _resize(self):
        name = self._pick(["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
        factor = [self._odd(self._int(1, 3), 1.5, 0.5) for _ in range(2)]
        size = [max(1, int(e * f)) for e, f in zip(self.shape[1:3], factor, strict=True)]
        out = (1, *size, self.shape[3])
        mode = (self._odd(False, True), False)
        mode = mode if mode[0] else (False, bool(self._int(0, 1)))
        options = "Resize" + name[7:].title().replace("_", "") + "Options"
        self._op(name, (self.x, self.net.constant(size)), out, self._as(self.x), options,
                 alignCorners=mode[0], halfPixelCenters=mode[1])  # fmt: skip

    def _slice(self):
        first = [0] + [self._int(0, e - 1) for e in self.shape[1:]]
        if self._int(0, 1):  # with masks, of rows alone
            first[2:] = [0, 0]
            self._strided(first)
            return
        count = [self._int(1, e - f) for e, f in zip(self.shape, first, strict=True)]
        wanted = [-1 if f + c == e and self._int(0, 1) else c
                  for f, c, e in zip(first, count, self.shape, strict=True)]  # fmt: skip
        inputs = (self.x, self.net.constant(first), self.net.constant(wanted))
        self._op("SLICE", inputs, count, self._as(self.x))

    def _strided(self, first):
        shape, stop = self.shape, list(self.shape)
        stop[1] = self._int(first[1] + 1, shape[1])
        step = [1, self._pick([1, 1, 2]), 1, 1]
        masks = [self._int(0, 15) if self._int(0, 2) else 0 for _ in range(2)]
        begin = [f - e * self._int(0, 1) if f else 0 for f, e in zip(first, shape, strict=True)]
        spans = []
        for i in range(4):
            a = None if masks[0] & 1 << i else begin[i]
            b = None if masks[1] & 1 << i else stop[i]
            spans.append(len(range(shape[i])[slice(a, b, step[i])]))
        inputs = [self.net.constant(v) for v in (begin, stop, step)]
        if min(spans) > 0:
            self._op("STRIDED_SLICE", (self.x, *inputs), spans, self._as(self.x),
                     "StridedSliceOptions", beginMask=masks[0], endMask=masks[1])  # fmt: skip

    def _split(self):
        """Parts of the channels, of which the second goes on, or both joined the other way."""
        axis = self._int(1, 3)
        edge, kept = self.shape[axis], self._as(self.x)
        if edge % 2:
            return
        x, out = self.x, [e // 2 if i == axis else e for i, e in enumerate(self.shape)]
        number = self.net.constant(axis - 4 * self._int(0, 1))
        first = self._op("SPLIT", (number, x), out, kept, "SplitOptions", numSplits=2)
        second = self.net.activation(out, *kept)
        self.net.graph.operators[-1].outputs = [first, second]
        self.net.last = second
        if self._int(0, 1):
            whole = [2 * e if i == axis else e for i, e in enumerate(out)]
            self._op("CONCATENATION", (second, first), whole, kept, "ConcatenationOptions",
                     axis=axis, **PLAIN)  # fmt: skip

    def _join(self):
        rank = len(self.shape)
        axis = self._int(1, rank - 1) if rank > 1 else 0
        others = []
        for other in self.signals:
            shape = tuple(self.net.shape_of(other))
            same = len(shape) == rank and all(
                i == axis or a == b for i, (a, b) in enumerate(zip(shape, self.shape, strict=True))
            )
            if same and self._as(other) == self._as(self.x):
                others.append(other)
        parts = [self.x, *(self._pick(others) for _ in range(self._int(1, 2)))] if others else []
        if not parts:
            return
        self.random.shuffle(parts)
        parts = [int(part) for part in parts]
        out = list(self.shape)
        out[axis] = sum(self.net.shape_of(part)[axis] for part in parts)
        self._op("CONCATENATION", parts, out, self._as(self.x), "ConcatenationOptions",
                 axis=axis - rank * self._int(0, 1),
                 fusedActivationFunction=self._odd(0, 1))  # fmt: skip

    def _move(self):
        rank = len(self.shape)
        axes = [0, *(int(i) for i in self.random.permutation(np.arange(1, rank)))]
        if self._int(0, 5) == 0:
            axes = [int(i) for i in self.random.permutation(rank)]
        if rank == 4 and self._int(0, 3) == 0:
            self._blocks()
            return
        out = [self.shape[i] for i in axes]
        self._op("TRANSPOSE", (self.x, self.net.constant(axes)), out, self._as(self.x))

    def _blocks(self):
        _, rows, columns, depth = self.shape
        kept = self._as(self.x)
        if depth % 4 == 0:
            self._op("DEPTH_TO_SPACE", (self.x,), (1, 2 * rows, 2 * columns, depth // 4), kept,
                     "DepthToSpaceOptions", blockSize=2)  # fmt: skip
        elif rows % 2 == 0 and columns % 2 == 0:
            self._op("SPACE_TO_DEPTH", (self.x,), (1, rows // 2, columns // 2, 4 * depth), kept,
                     "SpaceToDepthOptions", blockSize=2)  # fmt: skip

    def _several(self):
        """Read the first signal again: it may have been reshaped since."""
        self.net.last = self._pick(self.signals)

    def _other(self):
        name = self._odd("", "ABS", "NEG", "SQUARE", "EXP", "SOFTMAX", "ELU", "RELU_N1_TO_1")
        if name == "SOFTMAX":
            fields = {"options": "SoftmaxOptions", "beta": self._pick([1.0, 1.0, 0.5, 3.0])}
            self._op(name, (self.x,), self.shape, (1 / 256, -128), **fields)
        elif name:
            self._op(name, (self.x,), self.shape)

    # ---- samples ---------------------------------------------------------------------------

    def samples(self, count=8):
        """Return inputs (count, *shape without the batch)."""
        shape = (count, *self.net.shape_of(self.net.first)[1:])
        if self.is_float:
            return self.random.normal(0, 1.5, shape).astype(np.float32)
        found = self.random.integers(-128, 128, shape)
        found[0], found[1] = -128, 127
        return found.astype(np.int8)
