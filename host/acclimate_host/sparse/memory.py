# SPDX-License-Identifier: MIT
"""The extra memory of a scheme, counted as the published tables count it.

Trained weights (int8), biases of the layers that gradients pass (int32), saved inputs of
trained weights (int8), one clamp bit per output of those layers, and the saved input of the
classifier; not the classifier's own parameters, nor any activation that is not saved. What
a training step needs in total is acclimate_host.compile's to say.
"""

from dataclasses import dataclass

from ..model.zoo import convolutions


@dataclass(frozen=True)
class Extra:
    """Bytes by what they hold."""

    weight_bytes: int
    bias_bytes: int
    saved_bytes: int
    mask_bytes: int

    @property
    def total_bytes(self):
        return self.weight_bytes + self.bias_bytes + self.saved_bytes + self.mask_bytes


def extra_memory(graph, scheme):
    """Return the Extra of a scheme on a forward graph.

    >>> from acclimate_host.model.zoo import backbone
    >>> from acclimate_host.sparse.scheme import last_layers
    >>> net = backbone("mcunet-5fps")
    >>> extra_memory(net, last_layers(net, 12)).total_bytes // 1024
    448
    """
    biases = scheme.trained_biases(graph)
    channels = scheme.trained_channels(graph)
    classifier = next((node for node in graph.nodes if node.op == "dense"), None)
    weight = bias = mask = 0
    saved = graph[classifier.inputs[0]].size_bytes if classifier else 0
    for node in convolutions(graph):
        layer = node.attrs["layer"]
        if layer in biases:
            bias += graph[node.inputs[2]].size_bytes
            mask += graph[node.outputs[1]].size_bytes
        if layer in channels:
            count = channels[layer]
            depth, height, width = graph[node.inputs[0]].shape
            weight += graph[node.inputs[1]].size_bytes * count // depth
            saved += count * height * width
    return Extra(weight, bias, saved, mask)
