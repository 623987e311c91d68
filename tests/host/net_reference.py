# SPDX-License-Identifier: MIT
"""Runs a graph in float64 with numpy, and watches over every byte of its arena.

Knows the operators by what they mean, and nothing of how the compiler decides.
"""

import numpy as np

from acclimate_host.model.graph import geometry

LINEAR_LIMIT = 4.0  # where a layer without ReLU saturates here
RATE = 0.25


def parameters(graph, seed):
    """Return seeded weights and biases of a forward graph."""
    random = np.random.default_rng(seed)
    values = {}
    for name, tensor in graph.tensors.items():
        if tensor.kind == "frozen":
            spread = 1.5 / np.sqrt(np.prod(tensor.shape[1:])) if len(tensor.shape) > 1 else 0.3
            values[name] = random.normal(0, spread, tensor.shape)
    return values


def split(graph, values):
    """Return the values of a pruned graph: weights trained in part are cut in two."""
    values = {name: value.copy() for name, value in values.items()}
    for name, tensor in graph.tensors.items():
        if name.endswith(".wt"):
            weight = values[name[:-1]]
            axis = 0 if weight.shape[1] == 1 else 1
            count = tensor.shape[axis]
            values[name], values[name[:-1]] = np.split(weight, [count], axis=axis)
    return values


def joined(weight, part, attrs):
    return np.concatenate([part, weight], axis=0 if attrs["groups"] > 1 else 1)


def conv(x, weight, bias, attrs, pads=None):
    """Return the sums before the clamp; `pads` ((top, bottom), (left, right))."""
    kernel, stride, groups = attrs["kernel"], attrs["stride"], attrs["groups"]
    pads = pads or ((attrs["pad"],) * 2,) * 2
    x = np.pad(x, ((0, 0), *pads))
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))
    windows = windows[:, ::stride, ::stride]
    windows = windows.reshape(groups, -1, *windows.shape[1:])
    weight = weight.reshape(groups, -1, *weight.shape[1:])
    sums = np.einsum("gihwkl,goikl->gohw", windows, weight)
    return sums.reshape(-1, *sums.shape[2:]) + bias[:, None, None]


def clamp(sums, relu):
    low, high = (0.0, 6.0) if relu else (-LINEAR_LIMIT, LINEAR_LIMIT)
    return np.clip(sums, low, high), (sums > low) & (sums < high)


def input_gradient(g, weight, attrs, shape):
    """Gradient of the convolution's input, by spreading each output's gradient."""
    if "kernel" not in attrs:
        return (weight.reshape(len(weight), -1).T @ g[:, 0, 0]).reshape(shape)
    kernel, stride, pad, groups = (attrs[k] for k in ("kernel", "stride", "pad", "groups"))
    gx = np.zeros((shape[0], shape[1] + 2 * pad, shape[2] + 2 * pad))
    per_out, per_in = weight.shape[0] // groups, weight.shape[1]
    for out in range(weight.shape[0]):
        base = out // per_out * per_in
        for row in range(g.shape[1]):
            for column in range(g.shape[2]):
                top, left = row * stride, column * stride
                gx[base : base + per_in, top : top + kernel, left : left + kernel] += (
                    g[out, row, column] * weight[out]
                )
    return gx[:, pad : pad + shape[1], pad : pad + shape[2]]


def weight_gradient(x, g, attrs, shape):
    if "kernel" not in attrs:
        return np.outer(g, x).reshape(shape)
    kernel, stride, pad = attrs["kernel"], attrs["stride"], attrs["pad"]
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))
    windows = windows[:, ::stride, ::stride]
    groups = attrs["groups"]
    if groups > 1 and shape[1] == 1:  # depthwise, perhaps its first channels only
        return np.einsum("chwkl,chw->ckl", windows, g[: len(x)])[:, None]
    windows = windows.reshape(groups, -1, *windows.shape[1:])
    g = g.reshape(groups, -1, *g.shape[1:])
    found = np.einsum("gihwkl,gohw->goikl", windows, g)
    return found.reshape(-1, *found.shape[2:])


def inside(attrs, shape, at):
    """Return the slices of a window of a pool that lie inside of an input of a shape."""
    form = geometry(attrs)
    starts = [at[i] * form.stride[i] - form.pad[i] for i in (0, 1)]
    return tuple(
        slice(max(start, 0), min(start + form.kernel[i], shape[1 + i]))
        for i, start in enumerate(starts)
    )


def pooled(attrs, shape, to, x):
    """Return the largest and the mean of each window."""
    most, mean = np.zeros(to), np.zeros(to)
    for c, r, t in np.ndindex(to):
        part = x[c][inside(attrs, shape, (r, t))]
        most[c, r, t], mean[c, r, t] = part.max(), part.mean()
    return most, mean


def pool_gradient(attrs, shape, g, x=None):
    """Return the gradient of a pool's input: with x to its largest, else to all alike."""
    gx = np.zeros(shape)
    for c, r, t in np.ndindex(g.shape):
        where = inside(attrs, shape, (r, t))
        part = gx[c][where]
        if x is None:
            part += g[c, r, t] / part.size
        else:
            part[np.unravel_index(x[c][where].argmax(), part.shape)] += g[c, r, t]
    return gx


class Run:
    """One run of a Step or of a bare graph over `values`, which updates change."""

    bounded = True  # the rate times the gradient of the outputs is kept short, as boards do

    def __init__(self, graph, values, step=None):
        self.graph, self.values = graph, values
        self.arena = Arena(step) if step is not None else None
        for i, node in enumerate(graph.nodes):
            if self.arena:
                self.arena.before(i, node)
            results = getattr(self, "_" + node.op)(node, *(values[n] for n in node.inputs))
            for name, value in zip(node.outputs, results or (), strict=True):
                assert value.shape == graph[name].shape or name == "loss", name
                values[name] = value
            if self.arena:
                self.arena.after(i, node)

    @staticmethod
    def _weights(node, inputs):
        x, weight, bias, *rest = inputs
        if "split" in node.attrs:
            part, *rest = rest
            weight = joined(weight, part, node.attrs)
        return x, weight, bias, rest

    def _conv(self, node, *inputs):
        x, weight, bias, _ = self._weights(node, inputs)
        return clamp(conv(x, weight, bias, node.attrs), node.attrs["relu"])[: len(node.outputs)]

    def _conv_add(self, node, *inputs):
        x, weight, bias, (other,) = self._weights(node, inputs)
        y, mask = clamp(conv(x, weight, bias, node.attrs), node.attrs["relu"])
        return (y + other, mask)[: len(node.outputs)]

    def _conv_depthwise(self, node, *inputs):
        y, masks, taken = inputs[0], [], 1
        count = node.attrs["inputs_first"] - 1
        for attrs, has_mask in zip(node.attrs["steps"], node.attrs["masks"], strict=True):
            weight, bias, *part = inputs[taken : taken + count]
            weight = joined(weight, part[0], attrs) if part else weight
            y, mask = clamp(conv(y, weight, bias, attrs), attrs["relu"])
            masks += [mask] if has_mask else []
            taken, count = taken + count, len(inputs) - taken - count
        return (y, *masks)

    def _patches(self, node, x, *weights):
        convs = []
        for step in node.attrs["steps"]:
            convs += step.attrs["steps"] if step.op == "conv_depthwise" else [step.attrs]
        result = np.full(self.graph[node.outputs[0]].shape, np.nan)
        grid, peak = node.attrs["grid"], 0
        for row in range(grid):
            for column in range(grid):
                made = self._patch(x, weights, convs, (row, column), grid, result)
                peak = max(peak, self._patch_bytes(node.attrs["steps"], made))
        assert peak == node.workspace_bytes
        return (result,)

    @staticmethod
    def _patch_bytes(steps, made):
        """Most bytes at once, one per element; within a fused pair a single channel exists."""
        made, held, peak = list(made), 0, 0
        for step in steps:
            channel = made.pop(0)[0].size if step.op == "conv_depthwise" else 0
            # The last result goes straight to the output.
            result = made.pop(0).size if len(made) > 1 else 0
            peak, held = max(peak, held + channel + result), result
        return peak

    @staticmethod
    def _patch(x, weights, convs, where, grid, result):
        from acclimate_host.compile.patches import edges, patch_regions

        axes = [patch_regions(x.shape[1 + a], convs, where[a], grid) for a in (0, 1)]
        lengths = [edges(x.shape[1 + a], convs) for a in (0, 1)]
        y, made = x[:, slice(*axes[0][0]), slice(*axes[1][0])], []
        for i, attrs in enumerate(convs):
            pads = []
            for axis, length in zip(axes, lengths, strict=True):
                start = axis[i + 1][0] * attrs["stride"] - attrs["pad"]
                stop = (axis[i + 1][1] - 1) * attrs["stride"] - attrs["pad"] + attrs["kernel"]
                pads.append((max(-start, 0), max(stop - length[i], 0)))
            sums = conv(y, weights[2 * i], weights[2 * i + 1], attrs, tuple(pads))
            y, _ = clamp(sums, attrs["relu"])
            made.append(y)
        result[:, slice(*axes[0][-1]), slice(*axes[1][-1])] = y
        return made

    def _add(self, node, left, right):
        return (left + right,)

    def _pool(self, node, x):
        return (x.mean(axis=(1, 2), keepdims=True),)

    def _max_pool(self, node, x):
        return (pooled(node.attrs, x.shape, self.graph[node.outputs[0]].shape, x)[0],)

    def _average_pool(self, node, x):
        return (pooled(node.attrs, x.shape, self.graph[node.outputs[0]].shape, x)[1],)

    def _pad(self, node, x):
        top, left, bottom, right = node.attrs["pad"]
        return (np.pad(x, ((0, 0), (top, bottom), (left, right))),)

    def _dense(self, node, x, weight, bias):
        return ((weight.reshape(len(weight), -1) @ x.ravel() + bias).reshape(-1, 1, 1),)

    def _softmax_loss(self, node, logits, label):
        shifted = logits.ravel() - logits.max()
        shares = np.exp(shifted) / np.exp(shifted).sum()
        loss = -np.log(shares[int(label)])
        shares[int(label)] -= 1
        if self.bounded:
            most = max(1, np.abs(logits).max()) / 256
            shares *= min(1, most / (RATE * np.abs(shares).max()))
        return (np.array(loss), shares.reshape(-1, 1, 1))

    def _keep(self, node, x):
        return (x[: node.attrs["count"]].copy(),)

    def _clamp_gradient(self, node, g, mask):
        return (g * mask,)

    def _sum_gradients(self, node, left, right):
        return (left + right,)

    def _pool_gradient(self, node, g):
        shape = self.graph[node.outputs[0]].shape
        return (np.broadcast_to(g / (shape[1] * shape[2]), shape).copy(),)

    def _pad_gradient(self, node, g):
        top, left = node.attrs["pad"][:2]
        _, height, width = self.graph[node.outputs[0]].shape
        return (g[:, top : top + height, left : left + width].copy(),)

    def _max_pool_gradient(self, node, g, x):
        return (pool_gradient(node.attrs, x.shape, g, x),)

    def _average_pool_gradient(self, node, g):
        return (pool_gradient(node.attrs, self.graph[node.outputs[0]].shape, g),)

    def _input_gradient(self, node, g, weight, part=None):
        weight = joined(weight, part, node.attrs) if part is not None else weight
        return (input_gradient(g, weight, node.attrs, self.graph[node.outputs[0]].shape),)

    def _weight_gradient(self, node, x, g):
        return (weight_gradient(x, g, node.attrs, self.graph[node.outputs[0]].shape),)

    def _bias_gradient(self, node, g):
        return (g.sum(axis=(1, 2)),)

    def _apply(self, node, gradient):
        self.values[node.writes[0]] -= RATE * gradient

    def _weight_update(self, node, x, g):
        name = node.writes[0]
        gradient = weight_gradient(x, g, node.attrs, self.graph[name].shape)
        self.values[name] -= RATE * gradient

    def _bias_update(self, node, g):
        self.values[node.writes[0]] -= RATE * g.sum(axis=(1, 2))


class Arena:
    """Who owns each byte: a read finds its whole tensor, a write spoils nothing still in use."""

    def __init__(self, step):
        self.step, self.graph = step, step.graph
        self.owner = np.full(step.layout.size_bytes, -1)
        self.number = {name: i for i, name in enumerate(step.graph.tensors)}
        for name, tensor in step.graph.tensors.items():
            if tensor.kind in ("trained", "input") and self._bytes(name) is not None:
                self._place(name)

    def _bytes(self, name):
        root = name
        while root in self.step.taken:
            root = self.step.taken[root]
        start = self.step.layout.offsets.get(root)
        return None if start is None else slice(start, start + self.graph[name].size_bytes)

    def _place(self, name):
        where = self._bytes(name)
        assert where.stop <= len(self.owner), name
        self.owner[where] = self.number[name]

    def _holds(self, name):
        where = self._bytes(name)
        return where is None or (self.owner[where] == self.number[name]).all()

    def before(self, i, node):
        if node.workspace_bytes:
            start = self.step.layout.offsets[f"workspace {i}"]
            self.owner[start : start + node.workspace_bytes] = -2 - i
        for name in node.reads:
            assert self._holds(name), f"node {i} ({node.op}) finds {name} overwritten"

    def after(self, i, node):
        for name in node.outputs:
            self._place(name)
        for name in node.outputs:
            assert self._holds(name), f"outputs of node {i} ({node.op}) overlap"
        given_up = self.step.taken.get(node.outputs[0]) if node.outputs else None
        for name in node.reads:
            assert name == given_up or self._holds(name), f"node {i} writes over its {name}"
        if node.workspace_bytes:
            start = self.step.layout.offsets[f"workspace {i}"]
            assert (self.owner[start : start + node.workspace_bytes] == -2 - i).all()
