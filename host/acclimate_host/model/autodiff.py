# SPDX-License-Identifier: MIT
"""Differentiation on the host: from a forward graph to the whole training step.

The result is the textbook's: every gradient is a tensor and all updates come last. What the
board runs is made from it by acclimate_host.compile. Gradients are in real units (each with
its own power-of-two scale), so an addition hands its gradient on as it is.
"""

from dataclasses import replace

from .clamps import inside_name
from .graph import GraphError, Node, Tensor

# Forward operators that end the backward pass: they have state from calls before.
WITHOUT_GRADIENT = ("window", "lstm", "svdf")


def differentiate(graph, gradient_dtype="int8"):
    """Return `graph` with backward and update nodes for every weight and bias.

    :param gradient_dtype: of the gradients of activations; those of weights and biases,
        which are sums over many products, are float32 where they are kept at all
    """
    losses = [node for node in graph.nodes if node.phase == "loss"]
    if len(losses) != 1:
        raise GraphError(f"{graph.name}: {len(losses)} loss nodes; a training step has one")
    step = _Step(graph, gradient_dtype)
    step.gradients[losses[0].inputs[0]] = losses[0].outputs[1]
    for node in reversed(graph.nodes):
        if node.phase == "forward" and node.outputs[0] in step.gradients:
            # In front of an operator without a gradient nothing is trained; `prune` says so.
            if node.op not in WITHOUT_GRADIENT:
                getattr(step, node.op)(node, step.gradients[node.outputs[0]])
    return step.finished()


class _Step:
    def __init__(self, graph, gradient_dtype):
        self.graph, self.dtype = graph, gradient_dtype
        self.gradients, self.tensors, self.backward, self.updates = {}, {}, [], []
        self.masks = {}  # tensor -> the node that marks where its clamp let it through
        for node in graph.nodes:
            if node.phase == "loss":
                self.tensors[node.outputs[1]] = replace(
                    graph[node.outputs[1]], dtype=gradient_dtype
                )

    def finished(self):
        forward = []
        for node in self.graph.nodes:
            made = [self.masks[name] for name in node.outputs if name in self.masks]
            forward += [node, *made]
        nodes = (*forward, *self.backward, *self.updates)
        return self.graph.with_nodes(nodes, self.tensors.values())

    def _new(self, name, shape, dtype):
        self.tensors[name] = Tensor(name, tuple(shape), dtype, "gradient")
        return name

    def _run(self, op, inputs, output, shape, dtype, attrs):
        self._new(output, shape, dtype)
        self.backward.append(Node(op, inputs, (output,), "backward", attrs=attrs))
        return output

    def _arrived(self, tensor, gradient):
        """A part of the gradient of `tensor` is known; parts of several readers are summed."""
        first = self.gradients.get(tensor)
        if first is not None:
            shape = self.graph[tensor].shape
            name = f"{gradient}.sum"
            while name in self.tensors:  # a sum hands one gradient on to several tensors
                name += "_"
            gradient = self._run("sum_gradients", (first, gradient), name, shape, self.dtype, {})
        self.gradients[tensor] = gradient

    def _layer(self, node, gradient):
        x, weight, bias = node.inputs
        layer = node.attrs["layer"]
        if self.graph[x].kind not in ("input", "state"):
            shape = self.graph[x].shape
            self._arrived(
                x,
                self._run(
                    "input_gradient",
                    (gradient, weight),
                    f"{layer}.gx",
                    shape,
                    self.dtype,
                    node.attrs,
                ),
            )
        shape = self.graph[weight].shape
        parts = (
            (weight, "weight_gradient", (x, gradient), f"{layer}.gw", shape),
            (bias, "bias_gradient", (gradient,), f"{layer}.gb", self.graph[bias].shape),
        )
        for target, op, inputs, name, shape in parts:
            self._run(op, inputs, name, shape, "float32", node.attrs)
            self.tensors[target] = replace(self.graph[target], kind="trained")
            self.updates.append(Node("apply", (name,), (), "update", (target,), {"layer": layer}))

    def conv(self, node, gradient):
        self._layer(node, self._clamped(node, gradient, node.outputs[1]))

    def _clamped(self, node, gradient, mask):
        """Return the gradient in front of a node's clamp."""
        shape, attrs = self.graph[node.outputs[0]].shape, {"layer": node.attrs["layer"]}
        name = f"{node.attrs['layer']}.gy"
        return self._run("clamp_gradient", (gradient, mask), name, shape, self.dtype, attrs)

    def _before_relu(self, node, gradient):
        """Return the gradient in front of the ReLU of a node that makes no mask itself."""
        if not node.attrs.get("relu"):
            return gradient
        layer, y = node.attrs["layer"], self.graph[node.outputs[0]]
        mask = Tensor(f"{layer}.mask", y.shape, "bit", "mask")
        self.tensors[mask.name] = mask
        attrs, room = {"layer": inside_name(layer)}, y.elements
        self.masks[y.name] = Node(
            "clamp_mask", (y.name,), (mask.name,), attrs=attrs, workspace_bytes=room
        )
        return self._clamped(node, gradient, mask.name)

    def dense(self, node, gradient):
        self._layer(node, gradient)

    def add(self, node, gradient):
        gradient = self._before_relu(node, gradient)
        for name in node.inputs:
            if self.graph[name].kind != "input":
                self._arrived(name, gradient)

    def _through(self, op, node, gradient, which, inputs, **attrs):
        """Hand a gradient on to the input number `which` by one node."""
        x = node.inputs[which]
        if self.graph[x].kind in ("input", "state"):
            return
        name = f"{node.attrs['layer']}.g{which}"
        attrs = {**node.attrs, **attrs}
        shape = self.graph[x].shape
        self._arrived(x, self._run(op, (gradient, *inputs), name, shape, self.dtype, attrs))

    def multiply(self, node, gradient):
        gradient = self._before_relu(node, gradient)
        for which in (0, 1):
            self._through("product_gradient", node, gradient, which, (node.inputs[1 - which],))

    def lookup(self, node, gradient):
        self._through("table_gradient", node, gradient, 0, node.inputs[:1])

    def norm(self, node, gradient):
        self._through("norm_gradient", node, gradient, 0, node.inputs)

    def attention(self, node, gradient):
        for which in range(3):
            self._through("attention_gradient", node, gradient, which, node.inputs, side=which)

    def gather(self, node, gradient):
        self._through("gather_gradient", node, gradient, 0, ())

    def concat(self, node, gradient):
        first = 0
        for which, name in enumerate(node.inputs):
            self._through("part_gradient", node, gradient, which, (), first=first)
            is_whole = node.attrs["axis"] == "all"
            first += self.graph[name].elements if is_whole else self.graph[name].shape[0]

    def pool(self, node, gradient):
        gradient = self._before_relu(node, gradient)
        x = node.inputs[0]
        # The largest elements are found again in the input, which therefore stays until then.
        inputs = (gradient, x) if node.op == "max_pool" else (gradient,)
        self._arrived(
            x,
            self._run(
                node.op + "_gradient",
                inputs,
                f"{node.attrs['layer']}.gx",
                self.graph[x].shape,
                self.dtype,
                node.attrs,
            ),
        )

    average_pool = max_pool = pad = pool
