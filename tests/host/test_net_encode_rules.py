# SPDX-License-Identifier: MIT
"""What a program's header says, read with nothing but the table in docs/numerics.md."""

import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from net_cases import OPTIMIZERS, step_of, trained_net, values_for

from acclimate_host.compile import encode as module
from acclimate_host.compile.encode import encode, place
from acclimate_host.compile.step import Options, inference_step, training_step
from acclimate_host.model.build import Builder
from acclimate_host.model.graph import GraphError
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network
from acclimate_host.sparse.scheme import Scheme, full

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"


def fields_of_the_page():
    """{name: (offset, bytes)} of the header's table, and how long the header is."""
    lines = PAGE.read_text(encoding="utf-8").split("### Program header")[1].split("###")[0]
    found = {}
    for line in lines.splitlines():
        row = re.match(r"\| *(\d+) *\| *(\d+) *\| *`?(\w+)`? *\|", line)
        if row:
            found[row[3]] = int(row[1]), int(row[2])
    return found, max(at + size for at, size in found.values())


FIELDS, HEADER_BYTES = fields_of_the_page()


def header(program):
    return {
        name: int.from_bytes(program.code[at : at + size], "little")
        for name, (at, size) in FIELDS.items()
    }


def real(bits):
    return struct.unpack("<f", bits.to_bytes(4, "little"))[0]


def with_pairs(network, x, y):
    """The network with (scale, zero point) of its input and its output."""
    tensors = dict(network.graph.tensors)
    for name, (scale, zero) in ((network.input, x), (network.output, y)):
        tensors[name] = replace(tensors[name], scale=scale, zero_point=zero)
    return replace(network, graph=replace(network.graph, tensors=tensors))


def small(outputs=3, kernel=1, edges=(4, 5)):
    net = Builder("small", (2, *edges))
    y = net.conv("c0", net.x, 5, kernel=kernel)
    return net.finish(net.dense("fc", y, outputs))


def floats(graph, seed=1):
    random = np.random.default_rng(seed)
    named = {n: t.shape for n, t in graph.tensors.items() if t.kind == "frozen"}
    return Network(graph, {n: random.normal(0, 0.2, s).astype("f4") for n, s in named.items()})


@pytest.mark.parametrize("x, y", [((0.05, -1), (0.25, 7)), ((0.5, 100), (0.125, -128))])
def test_scales_and_zero_points_are_those_of_the_input_and_the_output(x, y):
    network = with_pairs(values_for(small(), 1), x, y)
    said = header(encode(inference_step(network.graph), network))
    assert said["magic"] == int.from_bytes(b"ANET", "little")
    assert (said["input_zero"], said["output_zero"]) == (x[1] % 256, y[1] % 256)
    assert real(said["input_scale"]) == np.float32(x[0])
    assert real(said["output_scale"]) == np.float32(y[0])
    assert (said["dtype"], said["outputs"], said["input_bytes"]) == (0, 3, 40)


def test_a_float_program_has_no_scales_and_no_table_and_four_bytes_a_number():
    network = floats(small())
    for step in (inference_step(network.graph), training_step_of(network)):
        said = header(encode(step, with_loss(network) if step.graph.nodes[-1].phase else network))
        assert (said["dtype"], said["input_bytes"], said["table"]) == (1, 160, 0)
        assert real(said["input_scale"]) == real(said["output_scale"]) == 1.0


def training_step_of(network):
    return training_step(with_loss(network).graph, Scheme(0))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("seed", range(4))
def test_the_parts_of_a_program_lie_where_its_header_says(seed, optimizer):
    network = with_loss(values_for(small(3 + seed, 3), seed))
    program = encode(step_of(network.graph, full(network.graph)), network, optimizer)
    said, code = header(program), program.code
    assert said["optimizer"] == OPTIMIZERS.index(optimizer)
    before_crc = FIELDS["crc"][0]
    assert HEADER_BYTES == before_crc + 4
    rest = zlib.crc32(code[HEADER_BYTES:], zlib.crc32(code[:before_crc]))
    assert said["crc"] == rest
    behind = HEADER_BYTES + said["forward"] + said["training"]
    assert said["training"] > 0 and behind <= said["constants"] and said["constants"] % 4 == 0
    assert len(code) == said["constants"] + said["constants_bytes"]
    assert said["weights_bytes"] == len(program.weights) > 0
    assert said["arena_bytes"] == program.arena_bytes >= said["weights"] + said["weights_bytes"]
    # Each name's bytes lie behind each other, and all of them are trained ones.
    ends = [(at, at + size) for _, at, size in program.parts]
    assert ends[0][0] == 0 and all(a[1] <= b[0] for a, b in zip(ends, ends[1:], strict=False))
    # Section 4: A[i] = round(32768 exp(-16 i s)), then B[i] = round(32768 exp(-i s)).
    at = said["constants"] + said["table"]
    steps = network.graph[network.output].scale * np.arange(16)
    wanted = 32768 * np.exp(-np.concatenate([16 * steps, steps]))
    assert np.abs(np.frombuffer(code[at : at + 64], "<u2") - wanted).max() <= 0.5


@pytest.mark.parametrize("is_in_arena", [False, True])
def test_an_input_in_the_arena_is_named_by_its_place_and_one_more(is_in_arena):
    network = with_loss(values_for(small(3, 3), 1))
    options = Options(input_in_arena=is_in_arena)
    step = training_step(network.graph, Scheme(1), options)
    program = encode(step, network)
    said, at = header(program), program.layout.offsets.get(network.input)
    if not is_in_arena:
        assert said["input"] == 0
    else:
        assert said["input"] - 1 == place(step, network).at(network.input)
        assert at is None or said["input"] - 1 == at


# ---- what of the device package is needed ------------------------------------------------------

ALL, RARE, TARGET = 1, 2, 4


def needs(network, scheme=None, optimizer="plain"):
    step = inference_step(network.graph)
    if scheme is not None:
        step = training_step(network.graph, scheme)
    return header(encode(step, network, optimizer))["needs"]


def test_biases_and_dense_layers_alone_need_the_smallest_module():
    network = with_loss(values_for(small(edges=(1, 1)), 1))
    assert needs(values_for(small(), 1)) == 0
    assert needs(network, Scheme(0)) == needs(network, Scheme(1)) == 0
    assert needs(with_loss(values_for(small(edges=(4, 5)), 1)), Scheme(1)) == 0
    pixel = full(network.graph)
    assert needs(network, pixel) == 0  # one tap over one place
    for optimizer in OPTIMIZERS[1:]:
        assert needs(network, Scheme(0), optimizer) == ALL


@pytest.mark.parametrize("edges, kernel, wanted", [((4, 5), 1, ALL), ((1, 1), 3, ALL)])
def test_a_convolution_that_learns_needs_all(edges, kernel, wanted):
    network = with_loss(values_for(small(3, kernel, edges), 1))
    assert needs(network, Scheme(0, (("c0", 2),))) == wanted
    assert needs(network, Scheme(1)) == 0


def test_rare_instructions_and_targets_are_told():
    plain = values_for(small(edges=(1, 1)), 1)
    assert needs(with_loss(plain, decay=0.01), Scheme(0)) == RARE
    for loss in ("mse", "huber", "binary"):
        assert needs(with_loss(plain, loss), Scheme(0)) == RARE | TARGET
    net = Builder("looked", (3, 2, 2))
    y = net.conv("c0", net.x, 3)
    graph = net.finish(net.dense("fc", net.multiply("m", y, net.pool("p", y)), 2))
    assert needs(values_for(graph, 1)) == RARE
    assert needs(with_loss(values_for(graph, 1)), Scheme(0)) == RARE


# ---- refused -----------------------------------------------------------------------------------


def test_code_beyond_what_the_header_can_count_is_refused(monkeypatch):
    size = FIELDS["training"][1]
    assert module.CODE_LIMIT == (1 << 8 * size) - 1 and size == FIELDS["forward"][1]
    network = with_loss(values_for(trained_net(1), 1))
    step = step_of(network.graph, full(network.graph))
    said = header(encode(step, network))
    size = said["forward"] + said["training"]
    monkeypatch.setattr(module, "CODE_LIMIT", size)
    encode(step, network)
    monkeypatch.setattr(module, "CODE_LIMIT", size - 1)
    with pytest.raises(GraphError, match=f"the code has {size} bytes; a program has {size - 1}"):
        encode(step, network)


def test_an_unknown_optimizer_is_refused_with_all_that_are_known():
    network = values_for(small(), 1)
    words = "optimizer: expected one of " + ", ".join(OPTIMIZERS) + ", got 'adam'"
    with pytest.raises(GraphError, match=re.escape(words)):
        encode(inference_step(network.graph), network, "adam")
    for name in OPTIMIZERS:
        encode(inference_step(network.graph), network, name.upper())
