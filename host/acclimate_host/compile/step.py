# SPDX-License-Identifier: MIT
"""From a forward graph and a scheme to the training step and its arena, all passes in order."""

from dataclasses import dataclass

from ..model.autodiff import differentiate
from ..model.graph import Graph, check
from .arena import Layout, lay_out
from .fuse import PLANES, fuse_forward, fuse_updates
from .patches import patch_front
from .prune import inference, prune
from .storage import buffers, share_in_place


@dataclass(frozen=True)
class Options:
    """What the passes may do; the defaults are what a board runs.

    `planes`: channels that a convolution hands at once to the depthwise layer fused with it.
    `patch_grid` patches along each edge for layers above 32x32 (1: whole tensors);
    `input_in_arena` counts the caller's input buffer too.
    """

    gradient_dtype: str = "int8"
    fuse_updates: bool = True
    fuse_forward: bool = True
    planes: int = PLANES
    in_place: bool = True
    patch_grid: int = 2
    input_in_arena: bool = False


# What a framework does that keeps every gradient as float32 until all are known.
KEPT_FLOAT = Options("float32", False, False, in_place=False, patch_grid=1)
# A sparse step as the paper counts it: float32 gradients that are used up at once.
PAPER_SPARSE = Options("float32", fuse_forward=False)


@dataclass(frozen=True)
class Step:
    """A graph ready to run: which tensors share buffers, all buffers, and where they lie."""

    graph: Graph
    taken: dict
    buffers: tuple
    layout: Layout


def training_step(forward, scheme, options=None, tries=400):
    """Return the Step that trains `scheme` on the forward graph."""
    options = options or Options()
    graph = prune(differentiate(forward, options.gradient_dtype), scheme)
    if options.fuse_updates:
        graph = fuse_updates(graph)
    return _finish(graph, options, tries)


def inference_step(forward, options=None, tries=400):
    """Return the Step that only predicts."""
    return _finish(inference(forward), options or Options(), tries)


def _finish(graph, options, tries):
    check(graph)
    if options.fuse_forward:
        graph = fuse_forward(graph, options.planes)
    graph = patch_front(graph, options.patch_grid)
    graph, taken = share_in_place(graph) if options.in_place else (graph, {})
    check(graph)
    found = tuple(buffers(graph, taken, options.input_in_arena))
    return Step(graph, taken, found, lay_out(found, tries))
