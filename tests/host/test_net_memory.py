# SPDX-License-Identifier: MIT
"""Extra memory as published, arenas, and layouts against exhaustive search."""

import itertools
import random

import net_reference as ref
import pytest

from acclimate_host.compile.arena import lay_out, live_bound, live_bytes, place
from acclimate_host.compile.patches import front_workspace, patch_regions
from acclimate_host.compile.step import KEPT_FLOAT, Options, inference_step, training_step
from acclimate_host.compile.storage import Buffer
from acclimate_host.model.graph import GraphError
from acclimate_host.model.zoo import backbone, names
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import full, last_layers, published

NETS = {name: backbone(name) for name in names()}
PUBLISHED = published(NETS)

SMALLEST = {"mbv2-w0.35": 49.8, "mcunet-5fps": 49.8, "proxyless-w0.3": 49.7}


def scheme_of(net, kib):
    return next(p.scheme for p in PUBLISHED if (p.net, p.extra_kib) == (net, kib))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.net}-{row.extra_kib}")
def test_extra_memory_is_the_published_one(row):
    extra = extra_memory(NETS[row.net], row.scheme)
    assert abs(extra.total_bytes / 1024 - row.extra_kib) <= 0.1


@pytest.mark.parametrize(
    "net, layers, kib",
    [
        ("mcunet-5fps", 12, 448),
        ("mcunet-5fps", 6, 276),
        ("proxyless-w0.3", 12, 266),
        ("proxyless-w0.3", 6, 139),
        ("mbv2-w0.35", 12, 224),
    ],
)
def test_extra_memory_of_the_last_layers(net, layers, kib):
    graph = NETS[net]
    assert round(extra_memory(graph, last_layers(graph, layers)).total_bytes / 1024) == kib


@pytest.mark.parametrize(
    "net, kib, limit",
    [("mbv2-w0.35", 49.8, 100), ("mcunet-5fps", 99.8, 152), ("proxyless-w0.3", 49.7, 115)],
)
def test_arena_stays_within_its_limit(net, kib, limit):
    step = training_step(NETS[net], scheme_of(net, kib))
    assert step.layout.size_bytes <= limit * 1024


def check_bytes(step):
    """Walk the step over an arena that knows the owner of each byte, without any values."""
    arena = ref.Arena(step)
    for i, node in enumerate(step.graph.nodes):
        arena.before(i, node)
        arena.after(i, node)


@pytest.mark.slow
@pytest.mark.parametrize("net", names())
def test_every_layout_of_the_backbones_is_sound_and_near_the_bound(net):
    graph = NETS[net]
    steps = [training_step(graph, row.scheme) for row in PUBLISHED if row.net == net]
    steps.append(inference_step(graph))
    steps.append(training_step(graph, full(graph)))
    steps.append(training_step(graph, full(graph), KEPT_FLOAT))
    steps.append(inference_step(graph, Options(patch_grid=4, input_in_arena=True)))
    options = Options(patch_grid=4, input_in_arena=True)
    steps.append(training_step(graph, scheme_of(net, SMALLEST[net]), options))
    for step in steps:
        check_bytes(step)
        assert step.layout.excess <= 0.02


def test_the_arena_check_finds_a_wrong_offset():
    step = training_step(NETS["mbv2-w0.35"], scheme_of("mbv2-w0.35", 49.8))
    largest = max(step.buffers, key=lambda buffer: buffer.size_bytes)
    step.layout.offsets[largest.name] -= 4
    with pytest.raises(AssertionError):
        check_bytes(step)


@pytest.mark.parametrize("seed", range(12))
def test_small_layouts_are_as_good_as_exhaustive_search(seed):
    choose = random.Random(seed)
    found = []
    for i in range(6):
        first = choose.randrange(6)
        found.append(Buffer(f"b{i}", 4 * choose.randint(1, 9), first, choose.randint(first, 6)))
    best = min(place(order)[0] for order in itertools.permutations(found))
    layout = lay_out(found)
    assert layout.size_bytes == best >= layout.bound_bytes


def test_live_bytes_count_both_ends():
    pair = [Buffer("a", 8, 0, 1), Buffer("b", 4, 1, 2)]
    assert live_bytes(pair, 3) == [8, 12, 4]
    assert live_bound(pair) == 12 and live_bound([]) == 0
    assert lay_out([]).size_bytes == 0


def test_a_patch_reads_its_halo():
    conv = {"kernel": 3, "stride": 2, "pad": 1}
    assert patch_regions(64, [conv], 0, 2) == [(0, 32), (0, 16)]
    assert patch_regions(64, [conv], 1, 2) == [(31, 64), (16, 32)]


def test_more_patches_than_rows_are_refused():
    node = inference_step(NETS["mbv2-w0.35"], Options(patch_grid=1)).graph.nodes[0]
    graph = inference_step(NETS["mbv2-w0.35"], Options(patch_grid=1)).graph
    with pytest.raises(GraphError, match="too many"):
        front_workspace(graph, (node,), 100)
