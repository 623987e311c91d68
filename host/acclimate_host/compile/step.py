# SPDX-License-Identifier: MIT
"""From a forward graph and a scheme to the training step and its arena, all passes in order."""

from dataclasses import dataclass, field

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
    `choice`: a Choice for single layers, in place of `fuse_forward`, `planes`, `patch_grid`.
    `patch_grid` patches along each edge for layers above 32x32 (1: whole tensors);
    `input_in_arena`: the input lies in the arena, where others lie when it is dead.
    """

    gradient_dtype: str = "int8"
    fuse_updates: bool = True
    fuse_forward: bool = True
    planes: int = PLANES
    choice: object = None
    in_place: bool = True
    patch_grid: int = 2
    input_in_arena: bool = False


# What a framework does that keeps every gradient as float32 until all are known.
KEPT_FLOAT = Options("float32", False, False, in_place=False, patch_grid=1)
# A sparse step as the paper counts it: float32 gradients that are used up at once.
PAPER_SPARSE = Options("float32", fuse_forward=False)


@dataclass(frozen=True)
class Choice:
    """What the compiler does with single layers.

    `planes`: depthwise layer -> channels that the convolution before it hands on at once; a
    layer that is not named is not fused. `adds`: additions that the convolution before them
    does. `apart`: depthwise layers that do not write over their input. `grid` patches along
    each edge up to the tensor `last`, None for whole tensors.
    """

    planes: dict = field(default_factory=dict)
    adds: frozenset = frozenset()
    apart: frozenset = frozenset()
    grid: int = 1
    last: str | None = None


@dataclass(frozen=True)
class Step:
    """A graph ready to run: which tensors share buffers, all buffers, and where they lie."""

    graph: Graph
    taken: dict
    buffers: tuple
    layout: Layout
    input_in_arena: bool = False


def training_step(forward, scheme, options=None, tries=400):
    """Return the Step that trains `scheme` on the forward graph."""
    options = options or Options()
    return finish(before_fusion(forward, scheme, options), options, tries)


def inference_step(forward, options=None, tries=400):
    """Return the Step that only predicts."""
    options = options or Options()
    return finish(before_fusion(forward, None, options), options, tries)


def before_fusion(forward, scheme, options):
    """Return the graph of a step (scheme None: of a prediction) whose forward layers are whole."""
    if scheme is None:
        graph = inference(forward)
    else:
        graph = prune(differentiate(forward, options.gradient_dtype), scheme)
        graph = fuse_updates(graph) if options.fuse_updates else graph
    check(graph)
    return graph


def finish(graph, options, tries=400):
    """Return the Step of a graph from `before_fusion`: fused, patched, in place.

    :param tries: of `lay_out`; None: without a layout, and not checked again
    """
    choice, apart = options.choice, ()
    if choice is not None:
        graph = fuse_forward(
            graph, lambda layer: choice.planes.get(layer, 0), choice.adds.__contains__
        )
        graph = patch_front(graph, choice.grid, choice.last)
        apart = choice.apart
    else:
        if options.fuse_forward:
            graph = fuse_forward(graph, options.planes)
        graph = patch_front(graph, options.patch_grid)
    graph, taken = share_in_place(graph, apart=apart) if options.in_place else (graph, {})
    if tries is not None:
        check(graph)
    found = tuple(buffers(graph, taken, options.input_in_arena))
    layout = Layout({}, 0, 0) if tries is None else lay_out(found, tries)
    return Step(graph, taken, found, layout, options.input_in_arena)
