# SPDX-License-Identifier: MIT
"""Cuts a full training step down to what a scheme trains, and to what that needs."""

from dataclasses import replace

from ..model.autodiff import WITHOUT_GRADIENT
from ..model.graph import GraphError, Node


def prune(graph, scheme):
    """Return the training step that updates only what `scheme` names, and the classifier.

    The classifier is the dense layers, or the last convolution where there is none.

    A weight trained in part is split: `L.wt` holds the first input channels, in RAM, `L.w` the
    others, in flash; of the layer's input those channels alone are kept, as `L.keep`.
    """
    cut = _Cut(graph, with_classifier(graph, scheme))
    cut.check_reach()
    cut.check_shared()
    nodes = [cut.forward_or_backward(node) for node in graph.nodes if cut.wanted(node)]
    nodes = [node for group in nodes for node in group]
    pruned = drop_dead(graph.with_nodes(nodes, cut.tensors.values()))
    if not any(node.writes for node in pruned.nodes):
        raise GraphError(f"{graph.name}: nothing would be trained: it has no layer with weights")
    return pruned


def with_classifier(graph, scheme):
    """Return the scheme; without a dense layer the last convolution is its classifier.

    A network that ends with a convolution (and a pool) then trains it whole, as a dense layer.
    """
    forward = [node for node in graph.nodes if node.phase == "forward"]
    convs = [node for node in forward if node.op == "conv"]
    if any(node.op == "dense" for node in forward) or not convs:
        return scheme
    layer, depth = convs[-1].attrs["layer"], graph[convs[-1].inputs[0]].shape[0]
    channels = tuple((name, count) for name, count in scheme.channels if name != layer)
    return replace(
        scheme, bias_layers=max(1, scheme.bias_layers), channels=(*channels, (layer, depth))
    )


def inference(graph):
    """Return the forward part alone; `graph` may be a forward graph or a training step."""
    nodes = [node for node in graph.nodes if node.phase == "forward"]
    outputs = tuple(name for name in graph.outputs if graph[name].kind != "loss")
    return drop_dead(replace(graph, outputs=outputs).with_nodes(nodes))


def drop_dead(graph):
    """Return the graph without nodes, and without clamp masks, whose results nobody reads."""
    needed, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if node.writes or any(name in needed for name in node.outputs):
            first, rest = node.outputs[:1], node.outputs[1:]
            outputs = first + tuple(n for n in rest if n in needed or graph[n].kind != "mask")
            kept.append(replace(node, outputs=outputs))
            needed.update(node.reads)
    return graph.with_nodes(reversed(kept))


class _Cut:
    def __init__(self, graph, scheme):
        self.graph = graph
        self.biases = set(scheme.trained_biases(graph))
        self.channels = scheme.trained_channels(graph)
        self.tensors, self.splits = {}, {}
        for node in graph.nodes:
            if node.op in ("conv", "dense"):
                self._parameters(node)

    def _parameters(self, node):
        """Say of one layer's parameters what lies in flash and what in RAM."""
        layer, (x, weight, bias) = node.attrs["layer"], node.inputs
        if node.op == "dense":
            return
        if layer not in self.biases:
            self.tensors[bias] = replace(self.graph[bias], kind="frozen")
        count, depth = self.channels.get(layer, 0), self.graph[x].shape[0]
        if count == depth:
            return
        tensor = replace(self.graph[weight], kind="frozen")
        if count:
            axis = 0 if node.attrs["groups"] > 1 else 1
            part, rest = list(tensor.shape), list(tensor.shape)
            part[axis] = count
            rest[axis] -= count
            name = layer + ".wt"
            self.tensors[name] = replace(tensor, name=name, shape=tuple(part), kind="trained")
            tensor = replace(tensor, shape=tuple(rest))
            self.splits[layer] = count
        self.tensors[weight] = tensor

    def check_reach(self):
        """Refuse a scheme whose layers no gradient reaches."""
        reached = {n.attrs["layer"] for n in self.graph.nodes if n.phase == "update"}
        blocking = sorted({n.op for n in self.graph.nodes if n.op in WITHOUT_GRADIENT})
        through = f" through {', '.join(blocking)}" if blocking else ""
        for layer in [*self.channels, *sorted(self.biases)]:
            if layer not in reached:
                raise GraphError(
                    f"{layer}: no gradient reaches it{through}; train only later layers"
                )

    def check_shared(self):
        """Refuse a scheme that trains one step of an unrolled recurrent layer for itself."""
        for node in self.graph.nodes:
            layer, shared = node.attrs.get("layer"), node.attrs.get("like")
            if node.op == "conv" and shared and layer in {*self.channels, *self.biases}:
                raise GraphError(
                    f"{layer}: is one step of {shared.split()[0]}, and all steps share its "
                    "weights; train layers behind or before it only"
                )

    def wanted(self, node):
        if node.phase != "update" or node.attrs["layer"] not in self._layers():
            return True
        layer = node.attrs["layer"]
        is_bias = self.graph[node.writes[0]].dtype == "int32"
        return layer in self.biases if is_bias else layer in self.channels

    def _layers(self):
        return {n.attrs["layer"] for n in self.graph.nodes if n.op == "conv"}

    def forward_or_backward(self, node):
        """Return the nodes that stand for `node`."""
        layer = node.attrs.get("layer")
        if layer not in self.splits or node.op == "clamp_gradient":
            return [node]
        count, part = self.splits[layer], layer + ".wt"
        attrs = {**node.attrs, "split": count}
        if node.op == "conv":
            x, keep = node.inputs[0], layer + ".keep"
            shape = (count, *self.graph[x].shape[1:])
            self.tensors[keep] = replace(self.graph[x], name=keep, shape=shape, kind="activation")
            conv = replace(node, inputs=(*node.inputs, part), attrs=attrs)
            return [conv, Node("keep", (x,), (keep,), attrs={"layer": layer, "count": count})]
        if node.op == "input_gradient":
            return [replace(node, inputs=(*node.inputs, part), attrs=attrs)]
        if node.op == "weight_gradient":
            name = node.outputs[0]
            self.tensors[name] = replace(self.graph[name], shape=self.tensors[part].shape)
            inputs = (layer + ".keep", node.inputs[1])
            return [replace(node, inputs=inputs, attrs=attrs)]
        if node.op == "apply" and self.graph[node.writes[0]].dtype != "int32":
            return [replace(node, writes=(part,))]
        return [node]
