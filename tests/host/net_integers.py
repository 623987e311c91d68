# SPDX-License-Identifier: MIT
"""A training step in integers with numpy, written from docs/numerics.md.

Walks a step's graph node by node with whole tensors (channels, height, width); knows nothing
of programs, arenas or how the C core goes about it.
"""

import math

import numpy as np

from acclimate_host.model.factors import multiplier, requantize
from acclimate_host.model.graph import geometry
from acclimate_host.model.importing import function_of
from acclimate_host.model.int8 import Int8Run, norm_extra, normal

INT32 = (1 << 31) - 1


def even(x, s):
    """x / 2^s to the nearest, halves to even."""
    return np.asarray(np.rint(np.asarray(x, np.float64) / 2.0**s), np.int64)


class Draws:
    def __init__(self, seed):
        self.x = seed or 1

    def __call__(self):
        x = self.x
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        self.x = x
        return x


def stored(blocks):
    """Section 5: store blocks (arrays of sums) in order; return (list of arrays, s)."""
    s, done = 0, []
    for block in blocks:
        while np.abs(even(block, s)).max(initial=0) > 127:
            s += 1
            done = [even(g, 1) for g in done]
        done.append(even(block, s))
    return done, s


def scaled(value):
    """(m, e) with m * 2^e = value, 2^14 <= m < 2^15."""
    e = math.floor(math.log2(value)) - 14
    m = math.floor(value / 2.0**e + 0.5)
    return (m, e) if m < 32768 else (m // 2, e + 1)


class Step:
    """One network in training: `values` change from step to step."""

    bounded = True  # section 4: the rate times the gradient of the outputs is kept short

    def __init__(self, step, network, rate, seed=1, optimizer="plain", momentum=230):
        self.graph, self.network = step.graph, network
        self.values = {k: v.astype(np.int64) for k, v in network.values.items()}
        self.rate, self.draw = rate, Draws(seed)
        self.optimizer, self.momentum, self.move = optimizer, momentum, True
        self.v, self.rails, self.moved, self.dead = {}, 0, 0, 0

    def __call__(self, x, label):
        """Run the whole step on int8 x (channels, height, width); return the label's share."""
        self.label = label
        current = {k: v.astype(self.network.values[k].dtype) for k, v in self.values.items()}
        run = Int8Run(type(self.network)(self.network.graph, current))
        self.made = {k: v[0].astype(np.int64) for k, v in run(x[None]).items()}
        self.sums = {}
        for node in run.nodes:
            if node.op == "conv":
                full = {k: v[None] for k, v in self.made.items()}
                self.sums[node.attrs["layer"]] = self._masks(run, node, full)
            elif node.attrs.get("relu"):
                self.sums[node.attrs["layer"]] = self._inside(node)
        self.g, self.exponents = {}, {}
        for node in self.graph.nodes:
            if node.phase != "forward":
                getattr(self, "_" + node.op)(node)
        return self.share

    def _masks(self, run, node, made):
        from acclimate_host.model.factors import multipliers
        from acclimate_host.model.int8 import layer_factors

        graph = self.network.graph
        x, weight = (graph[name] for name in node.inputs[:2])
        y = graph[node.outputs[0]]
        m, shift = multipliers(layer_factors(x, weight, y))
        q = requantize(run.sums(node, made)[0], m[:, None, None], shift[:, None, None])
        return q + y.zero_point == self.made[y.name]

    def _inside(self, node):
        """Section 2: where a sum, product or pool is not at a limit of its ReLU."""
        y = self.network.graph[node.outputs[0]]
        found, limit = self.made[y.name], node.attrs["limit"] / y.scale
        high = y.zero_point + math.floor(limit + 0.5) if limit < 300 else 128
        return (found > y.zero_point) & (found < (high if high < 128 else 128))

    # ---- what the sections say ---------------------------------------------------------------

    def _softmax_loss(self, node):
        x = self.made[node.inputs[0]].ravel()
        scale = self.network.graph[node.inputs[0]].scale
        high = [math.floor(32768 * math.exp(-16 * i * scale) + 0.5) for i in range(16)]
        low = [math.floor(32768 * math.exp(-i * scale) + 0.5) for i in range(16)]
        e = [(high[d >> 4] * low[d & 15] + 2**14) >> 15 for d in (x.max() - x).tolist()]
        total = sum(e)
        shares = [(v * 2**15 + total // 2) // total for v in e]
        self.share = shares[self.label]
        g = np.array([s - 2**15 * (i == self.label) for i, s in enumerate(shares)])
        self._store(node.outputs[1], [g.reshape(-1, 1, 1)], -15)
        self._bound(node)

    def _distance(self, node, wanted, steps=1 / 4):
        """Put factor * distance into the gradient of the outputs: (distances, real factor)."""
        distances, factor = wanted
        m, e = scaled(factor)
        self._store(node.outputs[1], [(distances * m).reshape(-1, 1, 1)], e)
        self._bound(node, steps)

    def _bound(self, node, steps=1 / 4):
        """The rate times the largest gradient of the outputs is at most so many of their steps."""
        name, scale = node.outputs[1], self.network.graph[node.inputs[0]].scale
        most = math.floor(math.log2(scale * steps)) - 22 - self.rate[1]
        if self.bounded and self.rate[0] and self.exponents[name] > most:
            self.exponents[name] = most
            self.rails += 1

    def _squared_loss(self, node):
        y = self.network.graph[node.inputs[0]]
        q = 16 * self.made[y.name].ravel()
        if node.inputs[1] in self.made:  # gives back its input
            x = self.network.graph[node.inputs[1]]
            real = (self.made[x.name] - x.zero_point) * (x.scale / y.scale) + y.zero_point
            real = 16 * real.transpose(1, 2, 0).ravel()
        else:
            real = 16 * (np.asarray(self.label, float).ravel() / y.scale + y.zero_point)
        distances = q - np.floor(np.abs(real) + 0.5).astype(int) * np.sign(real).astype(int)
        if node.inputs[1] in self.made:
            distances = q - np.floor(real + 0.5).astype(int)
        delta = node.attrs["delta"]
        limit = 65535 if math.isinf(delta) else math.floor(16 * delta / y.scale + 0.5)
        size = np.abs(distances)
        over = np.maximum(size - limit, 0)
        self.share = min(INT32, int((size**2 - over**2).sum()))
        factor = node.attrs["factor"] / q.size * y.scale / 16
        self._distance(node, (np.clip(distances, -limit, limit), factor), 2)

    def _binary_loss(self, node):
        y = self.network.graph[node.inputs[0]]
        product, halved, distances = 32768, 0, []
        for q, is_one in zip(self.made[y.name].ravel().tolist(), self.label, strict=True):
            size = abs(q - y.zero_point)
            high = math.floor(32768 * math.exp(-16 * (size >> 4) * y.scale) + 0.5)
            low = math.floor(32768 * math.exp(-(size & 15) * y.scale) + 0.5)
            whole = 32768 + ((high * low + 2**14) >> 15)
            p = (2**30 + whole // 2) // whole
            p = 32768 - p if q < y.zero_point else p
            d = p - 32768 if is_one else p
            distances.append(d)
            product = max(1, product * max(1, 32768 - abs(d)) >> 15)
            while product < 32768:
                product, halved = 2 * product, min(32767, halved + 1)
        self.share = halved << 16 | product
        self._distance(node, (np.array(distances), 1 / len(distances) / 32768))

    def _store(self, name, blocks, exponent, join=None):
        found, s = stored(blocks)
        self.g[name] = join(found) if join else found[0]
        self.exponents[name] = exponent + s

    def _clamp_gradient(self, node):
        source, name = node.inputs[0], node.outputs[0]
        self.g[name] = self.g[source] * self.sums[node.attrs["layer"]]
        self.exponents[name] = self.exponents[source]

    def _sum_gradients(self, node):
        (a, b), name = node.inputs, node.outputs[0]
        ea, eb = self.exponents[a], self.exponents[b]
        if abs(ea - eb) > 16:
            kept = a if ea > eb else b
            self._store(name, [self.g[kept]], self.exponents[kept])
            return
        e = min(ea, eb)
        self._store(name, [(self.g[a] << (ea - e)) + (self.g[b] << (eb - e))], e)

    @staticmethod
    def _row(x):
        return x.transpose(1, 2, 0).ravel()

    def _folded(self, node, sums, factor):
        """Sums times a real factor as one block, in two roundings."""
        name, shape = node.outputs[0], self.graph[node.outputs[0]].shape
        m, e = scaled(factor)
        first = 0
        while np.abs(even(sums, first)).max() > 32767:
            first += 1
        block = (even(sums, first) * m).reshape(*shape[1:], shape[0]).transpose(2, 0, 1)
        self._store(name, [block], self.exponents[node.inputs[0]] + e + first)

    def _product_gradient(self, node):
        other = self.network.graph[node.inputs[1]]
        g, x = self._row(self.g[node.inputs[0]]), self._row(self.made[other.name])
        x = np.resize(x - other.zero_point, g.size)
        count = self.graph[node.outputs[0]].elements
        self._folded(node, (g * x).reshape(-1, count).sum(axis=0), other.scale)

    def _table_gradient(self, node):
        layer = node.attrs["layer"]
        forward = next(n for n in self.network.graph.nodes if n.attrs.get("layer") == layer)
        x, y = (self.network.graph[n] for n in (forward.inputs[0], forward.outputs[0]))
        function = function_of(node.attrs["function"])
        real = (np.arange(-128, 128) - x.zero_point) * x.scale
        slope = (function(real) - function(real - 1e-6 * x.scale)) / (1e-6 * x.scale)
        stored_ = function(real) / y.scale + y.zero_point
        slope[(stored_ < -128.5) | (stored_ > 127.5)] = 0
        scale = np.abs(slope).max() / 127 or 1.0
        table = np.rint(slope / scale).astype(int)
        g, seen = self._row(self.g[node.inputs[0]]), self._row(self.made[x.name])
        self._folded(node, g * table[seen + 128], scale)

    @staticmethod
    def _high(a, b):
        return (a * b + 2**30) >> 31

    def _norm_gradient(self, node):
        source, name = node.inputs[0], node.outputs[0]
        x = self.network.graph[node.inputs[1]]
        found, root, twice = normal(self.made[x.name][None], norm_extra(x, node.attrs["eps"]))
        g, n = self.g[source][None], x.shape[0]
        part = self._high((g * found).sum(axis=1, keepdims=True), np.abs(found) << 16)
        sums = 32 * (n * g - g.sum(axis=1, keepdims=True)) - np.sign(found) * part
        m, e = scaled(1 / x.scale)
        values = self._high(128 * sums, (((2**31 - 1) // root * m) >> 15) << 14)[0]
        twice = np.broadcast_to(twice[0], values.shape)
        pairs = list(zip(values.ravel(), twice.ravel(), strict=True))
        s = max(stored([np.array([v])])[1] + t for v, t in pairs)
        self.g[name] = np.array([int(even(v, s - t)) for v, t in pairs]).reshape(values.shape)
        self.exponents[name] = self.exponents[source] + e + 15 - 26 + s

    def _rows_of(self, x, node):
        """A tensor (channels, height, width) as (heads, rows, channels of a head)."""
        heads = node.attrs["heads"]
        return x.reshape(heads, len(x) // heads, -1).swapaxes(1, 2)

    def _attention_gradient(self, node):
        source, *inputs = node.inputs
        q, k, v = (self.network.graph[name] for name in inputs)
        rows = [self._rows_of(self.made[t.name] - t.zero_point, node) for t in (q, k, v)]
        g, which, alpha = (
            self._rows_of(self.g[source], node),
            node.attrs["side"],
            node.attrs["factor"],
        )
        # The shares, as of section 3.
        factor = 64 * alpha * q.scale * k.scale
        scores = rows[0] @ rows[1].swapaxes(1, 2)
        below = scores.max(axis=2, keepdims=True) - scores
        m, shift = multiplier(factor)
        below = np.minimum(below, int(1024 / factor) + 1)
        place = np.minimum(requantize(below, m, shift), 1023)
        high = np.array([math.floor(32768 * math.exp(-i / 2) + 0.5) for i in range(32)])
        low = np.array([math.floor(32768 * math.exp(-i / 64) + 0.5) for i in range(32)])
        e = (high[place // 32] * low[place % 32] + 2**14) >> 15
        total = e.sum(axis=2, keepdims=True)
        w, real = (e * 2**15 + total // 2) // total, 2.0**-15
        if which < 2:
            fold = math.ceil(math.log2(rows[2].shape[2])) + 1
            slopes = even(g @ rows[2].swapaxes(1, 2), fold)
            base = np.take_along_axis(slopes, scores.argmax(axis=2)[..., None], axis=2)
            mean = 8192 * base + ((w * (slopes - base)).sum(axis=2, keepdims=True) >> 2)
            w = self._high(8192 * slopes - mean, w << 15)
            real = alpha * v.scale * (k.scale, q.scale)[which] * 2.0 ** (fold - 12)
        m, e = scaled(real)
        w, s, others = self._high(w, m << 16), 0, w.shape[1 if which else 2]
        while np.abs(even(w, s)).max() > 8388607 // others:
            s += 1
        w = even(w, s)
        sums = w @ rows[1] if which == 0 else w.swapaxes(1, 2) @ (rows[0] if which == 1 else g)
        # A block is one row with the channels of all heads.
        blocks = sums.transpose(1, 0, 2).reshape(sums.shape[1], -1)
        name, shape = node.outputs[0], self.graph[node.outputs[0]].shape
        exponent = self.exponents[source] + e + 15 + s
        self._store(name, list(blocks), exponent, lambda b: np.array(b).T.reshape(shape))

    def _gather_gradient(self, node):
        name, shape = node.outputs[0], self.graph[node.outputs[0]].shape
        sums = np.zeros(math.prod(shape), np.int64)
        np.add.at(sums, list(node.attrs["index"]), self._row(self.g[node.inputs[0]]))
        block = sums.reshape(*shape[1:], shape[0]).transpose(2, 0, 1)
        self._store(name, [block], self.exponents[node.inputs[0]])

    def _part_gradient(self, node):
        source, name, first = node.inputs[0], node.outputs[0], node.attrs["first"]
        shape = self.graph[name].shape
        if node.attrs["axis"] == "channels":
            self.g[name] = self.g[source][first : first + shape[0]]
        else:
            part = self._row(self.g[source])[first : first + math.prod(shape)]
            self.g[name] = part.reshape(*shape[1:], shape[0]).transpose(2, 0, 1)
        self.exponents[name] = self.exponents[source]

    def _pooled(self, node, share, k):
        """Spread gradients over windows of flags, one for each output; `share` makes them."""
        source, name = node.inputs[0], node.outputs[0]
        (channels, *edges), g = self.graph[name].shape, self.g[source]
        kernel, stride, pad = tuple(edges), (1, 1), (0, 0, 0, 0)
        if "kernel" in node.attrs:
            shape = geometry(node.attrs)
            kernel, stride, pad = shape.kernel, shape.stride, shape.pad
        inside = np.pad(np.ones(edges, bool), (pad[::2], pad[1::2]))
        sums = np.zeros((channels, *inside.shape), np.int64)
        for c, r, t in np.ndindex(g.shape):
            where = tuple(
                slice(at * step, at * step + size)
                for at, step, size in zip((r, t), stride, kernel, strict=True)
            )
            if inside[where].any():
                sums[c][where] += g[c, r, t] * share(c, where, inside[where])
        sums = sums[:, pad[0] : pad[0] + edges[0], pad[1] : pad[1] + edges[1]]
        self._store(name, list(sums), self.exponents[source] - k, np.stack)

    def _pool_gradient(self, node):
        _, height, width = self.graph[node.outputs[0]].shape
        kernel, stride, pad = (height, width), (1, 1), (0, 0, 0, 0)
        if "kernel" in node.attrs:
            shape = geometry(node.attrs)
            kernel, stride, pad = shape.kernel, shape.stride, shape.pad
        ones = np.pad(np.ones((height, width), int), (pad[::2], pad[1::2]))
        view = np.lib.stride_tricks.sliding_window_view(ones, kernel)
        counts = view[:: stride[0], :: stride[1]].sum(axis=(2, 3))
        counts = counts[counts > 0]
        k = min(23, 15 + math.floor(math.log2(counts.max())))
        overlap = math.prod(math.ceil(a / b) for a, b in zip(kernel, stride, strict=True))
        while overlap * 128 * (2**k // counts.min() + 1) >= 2**31:
            k -= 1

        def share(c, where, inside):
            return inside * math.floor(2**k / inside.sum() + 0.5)

        self._pooled(node, share, k)

    _average_pool_gradient = _pool_gradient

    def _pad_gradient(self, node):
        """Cut off what was put around: no rounding."""
        source, name = node.inputs[0], node.outputs[0]
        pad = geometry({"kernel": 1, "stride": 1, **node.attrs}).pad
        _, height, width = self.graph[name].shape
        self.g[name] = self.g[source][:, pad[0] : pad[0] + height, pad[1] : pad[1] + width]
        self.exponents[name] = self.exponents[source]

    def _max_pool_gradient(self, node):
        pad = geometry(node.attrs).pad
        x = np.pad(self.made[node.inputs[1]], ((0, 0), pad[::2], pad[1::2]), constant_values=-1000)

        def share(c, where, inside):
            flags = np.zeros(inside.shape, int)
            flags.flat[x[c][where].argmax()] = 1  # numpy takes the first
            return flags

        self._pooled(node, share, 0)

    def _layer(self, name):
        node = next(
            n
            for n in self.network.graph.nodes
            if n.attrs.get("layer") == name and n.op in ("conv", "dense")
        )
        x, weight = (self.network.graph[n] for n in node.inputs[:2])
        scales = np.broadcast_to(np.asarray(weight.scale, np.float64), weight.shape[:1])
        ew = math.ceil(math.log2(scales.max()))
        r = [math.floor(s * 2.0 ** (15 - ew) + 0.5) for s in scales]
        if node.op == "dense":
            return node, x, r, ew, 1, ((1, 1), (1, 1), (0, 0, 0, 0))
        shape = geometry(node.attrs)
        return node, x, r, ew, node.attrs["groups"], (shape.kernel, shape.stride, shape.pad)

    def _input_gradient(self, node):
        layer, x, r, ew, groups, (kernel, stride, pad) = self._layer(node.attrs["layer"])
        source, name = node.inputs[0], node.outputs[0]
        g, weight = self.g[source], self.values[layer.inputs[1]]
        shape = x.shape
        if layer.op == "dense":
            weight, shape = weight.reshape(len(weight), -1, 1, 1), (x.elements, 1, 1)
        terms = len(weight) // groups * kernel[0] * kernel[1]
        t = 9
        while terms * 128 * (((127 << 15) >> t) + 1) >= 2**31:
            t += 1
        h = (g * np.array(r)[:, None, None] + (1 << (t - 1))) >> t
        sums = np.zeros(
            (
                shape[0],
                shape[1] + pad[0] + pad[2] + kernel[0],
                shape[2] + pad[1] + pad[3] + kernel[1],
            ),
            np.int64,
        )
        out, depth = len(weight) // groups, weight.shape[1]
        for c, row, column in np.argwhere(h).tolist():
            top, left = row * stride[0], column * stride[1]
            where = slice(c // out * depth, c // out * depth + depth)
            sums[where, top : top + kernel[0], left : left + kernel[1]] += (
                h[c, row, column] * weight[c]
            )
        sums = sums[:, pad[0] : pad[0] + shape[1], pad[1] : pad[1] + shape[2]]
        exponent = self.exponents[source] + ew - 15 + t
        if groups == shape[0] == len(weight) > 1:
            fours = range(0, len(sums), 4)
            rows = [sums[c : c + 4, row] for c in fours for row in range(shape[1])]

            def joined(all):
                parts = [all[i : i + shape[1]] for i in range(0, len(all), shape[1])]
                return np.concatenate([np.stack(part, 1) for part in parts])

            self._store(name, rows, exponent, joined)
        else:
            pixels = list(sums.reshape(len(sums), -1).T)
            self._store(name, pixels, exponent, lambda all: np.stack(all, 1).reshape(x.shape))

    # ---- updates -----------------------------------------------------------------------------

    def _factor(self, r, p, e):
        c = 2**30 // r * p
        while c >= 2**31:
            c, e = c >> 1, e + 1
        return c, e

    def _random(self, a, c, e):
        t, u, d = int(a) * c, self.draw(), -e
        if d > 31:
            t, d = t >> min(d - 31, 63), 31
        if d >= 1:
            step = (t + (u >> (32 - d))) >> d
        else:
            step = t * 2**-d
        return max(-INT32, min(INT32, step))

    def _limited(self, old, new, most):
        if new == old:
            return old
        if abs(new) > most:
            self.rails += 1
            new = most if new > 0 else -most
        self.moved += new != old
        return new

    def _bias_update(self, node):
        _, x, r, ew, _, _ = self._layer(node.attrs["layer"])
        name, source = node.writes[0], node.inputs[0]
        l_m, l_e = self.rate
        i_m, i_e = scaled(1 / x.scale)
        e = l_e + i_e + 14 + self.exponents[source] - 15 - ew
        state = self.v.setdefault(name, [0] * len(r))
        for c in range(len(r)):
            if r[c] < 8:
                self.dead += 1
                continue
            factor = self._factor(r[c], l_m * i_m >> 14, e)
            step = self._random(self.g[source][c].sum(), *factor)
            if self.optimizer not in ("plain", "wide"):
                mu = 256 if self.optimizer == "accumulate" else self.momentum
                state[c] = max(-INT32, min(INT32, int(even(state[c] * mu, 8)) + step))
                if not self.move:
                    continue
                step = state[c]
                if self.optimizer == "accumulate":
                    state[c] = 0
            old = int(self.values[name][c])
            self.values[name][c] = self._limited(old, old - step, 2**30)

    def _weight_update(self, node):
        layer, x, r, ew, groups, shape = self._layer(node.attrs["layer"])
        source, weight = node.inputs[1], self.values[layer.inputs[1]]
        flat = weight.reshape(len(weight), -1, 1, 1) if layer.op == "dense" else weight
        count = node.attrs.get("split", flat.shape[1] if groups == 1 else None)
        depthwise = groups == x.shape[0] == len(weight) > 1 and layer.op == "conv"
        l_m, l_e = self.rate
        x_m, x_e = scaled(x.scale)
        e = l_e + x_e + 14 + self.exponents[source] - 15 - ew
        sums = self._weight_sums(x, layer, self.g[source], groups, shape, flat.shape)
        channels = range(len(r) if count is None or not depthwise else count)
        for c in channels:
            if r[c] < 8:
                self.dead += 1
                continue
            bits = {"plain": 0, "momentum8": 4}.get(self.optimizer, 8)
            factor = self._factor(r[c], l_m * x_m >> 14, e + bits)
            order = self._order(layer, x, flat.shape, depthwise, count)
            for i, row, column in order:
                key = (layer.inputs[1], c, i, row, column)
                flat[c, i, row, column] = self._moved(
                    key,
                    int(flat[c, i, row, column]),
                    self._random(sums[c, i, row, column], *factor),
                )

    @staticmethod
    def _order(layer, x, shape, depthwise, count):
        """Input channels of a dense layer lie as its input does: height, width, channels."""
        inputs = list(range(shape[1]))
        if layer.op == "dense":
            inputs = np.arange(x.elements).reshape(x.shape).transpose(1, 2, 0).ravel().tolist()
        elif count is not None and not depthwise:
            inputs = inputs[:count]
        return [
            (i, row, column)
            for row in range(shape[2])
            for column in range(shape[3])
            for i in inputs
        ]

    def _weight_sums(self, x, layer, g, groups, shape, weight_shape):
        (kernel, stride, pad), real = shape, self.made[layer.inputs[0]] - x.zero_point
        if layer.op == "dense":
            real = real.reshape(-1, 1, 1)
        real = np.pad(real, ((0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
        out, depth = weight_shape[0] // groups, weight_shape[1]
        sums = np.zeros(weight_shape, np.int64)
        for c in range(weight_shape[0]):
            part = real[c // out * depth : c // out * depth + depth]
            for row in range(kernel[0]):
                for column in range(kernel[1]):
                    seen = part[:, row :: stride[0], column :: stride[1]]
                    seen = seen[:, : g.shape[1], : g.shape[2]]
                    sums[c, :, row, column] = (seen * g[c]).sum(axis=(1, 2))
        return sums

    def _moved(self, key, old, step):
        if self.optimizer == "plain":
            return self._limited(old, old - step, 127)
        if self.optimizer == "wide":
            rest = self.v.get(key, 0)
            new = self._limited(256 * old + rest, 256 * old + rest - step, 127 * 256)
            w = (new + 128) >> 8
            self.v[key] = new - 256 * w
            return w
        bits, most = (4, 127) if self.optimizer == "momentum8" else (8, 32767)
        mu = 256 if self.optimizer == "accumulate" else self.momentum
        v = max(-most, min(most, int(even(self.v.get(key, 0) * mu, 8)) + step))
        self.v[key] = 0 if self.optimizer == "accumulate" and self.move else v
        if not self.move:
            return old
        return self._limited(old, old - ((v + (self.draw() >> (32 - bits))) >> bits), 127)
