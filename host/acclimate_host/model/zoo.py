# SPDX-License-Identifier: MIT
"""The three published backbones by their layer dimensions (no weights are known here)."""

import json
from importlib.resources import files

from .build import Builder
from .graph import GraphError


def names():
    """Return the names of the known backbones."""
    return tuple(_nets())


def backbone(name, classes=10, edge=128):
    """Return the forward graph of a backbone with a classifier of `classes` classes.

    Convolution i is called "ci", the classifier "fc". A residual block whose shape changes has
    none of the known nets.

    >>> backbone("mbv2-w0.35")["c50.y"].shape
    (112, 4, 4)
    """
    if name not in _nets():
        raise GraphError(f"no net {name!r}; known are {', '.join(names())}")
    net = _nets()[name]
    build = Builder(name, (net["convs"][0]["cin"], edge, edge))
    y = start = build.x
    convs = net["convs"][:-1]
    for i, conv in enumerate(convs):
        if i == 0 or conv["blk"] != convs[i - 1]["blk"]:
            start = y
        linear = conv["tag"] == "pointwise2"
        y = build.conv(f"c{i}", y, conv["cout"], conv["k"], conv["s"], conv["g"], relu=not linear)
        if linear and net["res"][conv["blk"]] == 1:
            y = build.add(f"a{conv['blk']}", start, y)
    return build.classify(build.pool("pool", y), classes)


def convolutions(graph):
    """Return the nodes of the convolutions, the classifier left out."""
    return [node for node in graph.nodes if node.op == "conv"]


def _nets():
    text = files("acclimate_host").joinpath("data", "nets.json").read_text()
    return json.loads(text)["nets"]
