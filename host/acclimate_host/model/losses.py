# SPDX-License-Identifier: MIT
"""Losses: what a network's training lowers. They are chosen, never guessed.

| loss | the network's outputs are | its target is | gradient of an output |
|---|---|---|---|
| cross-entropy | inputs of a softmax | one class of all | p - 1 of the class, p of the others |
| binary | inputs of sigmoids | 0 or 1 for each output | (p - t) / n |
| mse | numbers | a number for each output | 2 (y - t) / n |
| huber | numbers | the same | y - t within +-delta, by n |

As PyTorch's CrossEntropyLoss, BCEWithLogitsLoss, MSELoss and HuberLoss, mean over the outputs.
"""

import math
from dataclasses import replace

from .graph import GraphError, Node, Tensor

LOSSES = ("cross-entropy", "binary", "mse", "huber")
# Operators of nodes that learn from targets in place of a class.
TARGET_LOSSES = ("squared_loss", "binary_loss")
SOFTMAX_NOTE = "softmax at the output left out: outputs are its inputs"
ROWS_NOTE = "softmax of each row at the output left out: outputs are its inputs"
SIGMOID_NOTE = "sigmoid at the output left out: outputs are its inputs, above 0 for yes"
_MOST_LIMIT = 65534  # 65535: none


def softmax_note(each, outputs):
    """Return the note of a softmax left out at an output, or None: of one value it is always 1.

    :param each: values that one softmax is over. :param outputs: values of the output
    """
    if each == outputs:
        return SOFTMAX_NOTE
    return ROWS_NOTE if each > 1 else None


def with_loss(network, loss=None, target=None, delta=1.0, decay=0.0):
    """Return the network with a loss behind its outputs, ready to be trained.

    :param loss: one of LOSSES; None: cross-entropy, unless the network has as many outputs as
        inputs and no softmax, as one that gives back its input has
    :param target: "input": the network learns to give back its input (mse or huber); None: the
        caller gives a target with each sample
    :param delta: from which error on Huber's loss is linear, in real units
    :param decay: weight decay: each step takes rate * decay of every trained weight away
    :raises GraphError: for another loss, or one that the outputs do not fit
    """
    graph = network.graph
    _check_names(loss, target)
    if not 0 <= decay <= 1:
        raise GraphError(f"weight decay: expected 0 to 1, got {decay}")
    if any(node.phase == "loss" for node in graph.nodes):
        return network
    if loss is None and _may_give_back(network):
        count = graph[network.output].elements
        raise GraphError(
            f"{graph.name}: {count} outputs for {count} inputs, and no softmax: it may give back "
            "its input; name a loss: mse with target input for that, cross-entropy for classes"
        )
    loss = loss or "cross-entropy"
    if ROWS_NOTE in network.notes:
        raise GraphError(
            f"{graph.name}: its output has a softmax for each of several rows; a loss knows one "
            "softmax over all outputs: cut one row out of the output before the softmax"
        )
    if loss != "cross-entropy" and SOFTMAX_NOTE in network.notes:
        raise GraphError(f"loss {loss}: the network ends in a softmax, which is for cross-entropy")
    network = _without_sigmoid(network) if loss == "binary" else network
    graph, logits = network.graph, network.output
    made = next((node.op for node in graph.nodes if logits in node.outputs), "no node")
    ends = ("conv", "dense", "add", "pool", "average_pool", "max_pool", "multiply", "concat")
    if made not in (*ends, "gather", *(("lookup",) if loss in ("mse", "huber") else ())):
        raise GraphError(f"{graph.name}: its output is made by {made}; a loss needs a layer's")
    if loss == "cross-entropy":
        return _cross_entropy(network, decay)
    return _with_target(network, loss, target, delta, decay)


def _check_names(loss, target):
    if loss is not None and loss not in LOSSES:
        raise GraphError(f"loss: expected one of {', '.join(LOSSES)}, got {loss!r}")
    if target not in (None, "input"):
        raise GraphError(f"target: expected input or none, got {target!r}")
    if target == "input" and loss not in ("mse", "huber"):
        raise GraphError(f"target input: expected the loss mse or huber, got {loss or 'none'}")


def _may_give_back(network):
    graph = network.graph
    inputs, outputs = graph[network.input].elements, graph[network.output].elements
    return inputs == outputs > 1 and SOFTMAX_NOTE not in network.notes


def _without_sigmoid(network):
    """Return the network without a sigmoid at its end, which the loss has in itself."""
    graph, last = network.graph, network.graph.nodes[-1]
    if last.op != "lookup" or last.attrs["function"] != "sigmoid":
        return network
    outputs = (last.inputs[0], *graph.outputs[1:])
    cut = replace(graph, outputs=outputs).with_nodes(graph.nodes[:-1])
    values = {name: value for name, value in network.values.items() if name in cut.tensors}
    return replace(network, graph=cut, values=values, notes=(*network.notes, SIGMOID_NOTE))


def _added(network, op, inputs, attrs, tensors):
    graph, logits = network.graph, network.output
    loss = Tensor("loss", (1,), "int32", "loss")
    gradient = Tensor(logits + ".g", graph[logits].shape, "int8", "gradient")
    node = Node(op, inputs, ("loss", gradient.name), "loss", attrs=attrs)
    trained = replace(graph, outputs=(logits, "loss")).with_nodes(
        (*graph.nodes, node), (*tensors, loss, gradient)
    )
    return replace(network, graph=trained)


def _cross_entropy(network, decay):
    graph, logits = network.graph, network.output
    if graph[logits].elements < 2:
        raise GraphError(
            f"{graph.name}: one output; a softmax needs two or more: name mse, huber or binary"
        )
    label = Tensor("label", (1,), "int32", "label")
    return _added(network, "softmax_loss", (logits, "label"), _decayed(decay), (label,))


def _with_target(network, loss, target, delta, decay):
    graph, logits = network.graph, network.output
    y, name, tensors = graph[logits], "target", ()
    if target == "input":
        name = network.input
        if graph[name].elements != y.elements:
            raise GraphError(
                f"{graph.name}: {y.elements} outputs for {graph[name].elements} inputs; what "
                "gives back its input has as many"
            )
    else:
        dtype = "int8" if loss == "binary" else "int16"
        tensors = (Tensor(name, y.shape, dtype, "target"),)
    if loss == "binary":
        return _added(network, "binary_loss", (logits, name), _decayed(decay), tensors)
    if not 0 < delta < math.inf:
        raise GraphError(f"delta: expected a number above 0, got {delta}")
    attrs = {"factor": 2.0, "delta": math.inf}
    if loss == "huber":
        attrs = {"factor": 1.0, "delta": delta}
        if network.quantized:
            huber_limit(y, delta)
    attrs.update(_decayed(decay))
    return _added(network, "squared_loss", (logits, name), attrs, tensors)


def _decayed(decay):
    return {"decay": decay} if decay else {}


def huber_limit(y, delta):
    """Return delta in 1/16 of a step of the outputs; 65535 for infinity, which is mse."""
    if delta == math.inf:
        return _MOST_LIMIT + 1
    limit = math.floor(16 * delta / y.scale + 0.5)
    if not 1 <= limit <= _MOST_LIMIT:
        least, most = y.scale / 16, y.scale * _MOST_LIMIT / 16
        raise GraphError(f"delta: expected {least:g} to {most:g} for these outputs, got {delta}")
    return limit
