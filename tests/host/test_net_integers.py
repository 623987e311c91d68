# SPDX-License-Identifier: MIT
"""The C core against a reference written from docs/numerics.md: every byte, every draw."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from net_cases import (
    OPTIMIZERS,
    RATE,
    pooled_net,
    predicting_net,
    sample,
    schemes,
    step_of,
    stored,
    trained_net,
    values_for,
)
from net_integers import Step, even
from net_integers import stored as stored_blocks

from acclimate_host.compile import program_format
from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import STATE
from acclimate_host.compile.step import Options, inference_step
from acclimate_host.compile.storage import owner
from acclimate_host.model.int8 import Int8Run
from acclimate_host.paths import built
from acclimate_host.sparse.scheme import Scheme, full

# What the compiler may or may not do must not change a byte.
OPTIONS = (
    {},
    {"fuse_forward": False, "in_place": False},
    {"in_place": False},
    {"fuse_forward": False},
)


@pytest.fixture(scope="module")
def net_class():
    if not built("twin", "libacclimate_net.so").exists():
        pytest.skip("twin of _net is not built; run: make twin")
    from acclimate.net import Net
    from acclimate_host.twin import net as twin_net

    twin_net.register()
    return Net


def open_net(net_class, program, seed=1):
    net = net_class(bytearray(program.code), program.weights, seed=seed)
    net.set_rate(*RATE)
    return net


def weights_of(step, network, reference, optimizer):
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    return encode(step, replace(network, values=values), optimizer).weights


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("seed", range(4))
def test_training_steps_give_the_reference_s_bytes(net_class, seed, optimizer):
    graph = trained_net(seed)
    network = values_for(graph, seed)
    for scheme, options in zip(schemes(graph), OPTIONS, strict=True):
        step = step_of(graph, scheme, **options)
        net = open_net(net_class, encode(step, network, optimizer), seed + 5)
        reference = Step(step, network, RATE, seed + 5, optimizer)
        random = np.random.default_rng(seed)
        for k in range(4):
            x, label = sample(graph, random), int(random.integers(graph["fc.y"].shape[0]))
            reference.move = optimizer != "accumulate" or k % 2 == 1
            net._put(STATE.offset("move"), int(reference.move))
            assert net.train_step(stored(x), label) == reference(x, label)
            found = (net.rails, net.moved, net.dead, net._get(STATE.offset("seed")))
            wanted = (reference.rails, reference.moved, reference.dead, reference.draw.x)
            assert found == wanted, (seed, k)
        assert bytes(net.weights()) == weights_of(step, network, reference, optimizer)
        assert net.moved > 0


@pytest.mark.parametrize("seed", range(9))
def test_steps_through_pools_give_the_reference_s_bytes(net_class, seed):
    from acclimate.net import interpreter as _net_py

    graph = pooled_net(seed)
    network = values_for(graph, seed)
    scheme = full(graph) if seed % 2 else Scheme(3, (("c0", 1), ("c1", 2)))
    for options in OPTIONS[:2]:
        step = step_of(graph, scheme, **options)
        program = encode(step, network)
        nets = [open_net(net_class, program, seed + 5) for _ in range(2)]
        nets[1]._native = _net_py
        reference, random = Step(step, network, RATE, seed + 5), np.random.default_rng(seed)
        for label in (0, 1, 2):
            x = sample(graph, random)
            shares = [net.train_step(stored(x), label) for net in nets]
            assert shares == [reference(x, label)] * 2
        wanted = weights_of(step, network, reference, "plain")
        assert [bytes(net.weights()) for net in nets] == [wanted] * 2
        assert wanted != program.weights


def test_the_input_of_a_max_pool_makes_room_for_its_gradient():
    """Kept for the backward pass, it costs no byte of the arena at the gradient itself."""
    graph = pooled_net(1)
    step = step_of(graph, full(graph))
    for name in ("m0", "m1"):
        node = next(n for n in graph.nodes if n.attrs.get("layer") == name)
        assert owner(name + ".gx", step.taken) == owner(node.inputs[0], step.taken)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_fused_or_in_place_the_bytes_are_the_same(net_class, seed):
    graph = trained_net(seed + 20)
    network, results = values_for(graph, seed), set()
    for options in OPTIONS:
        net = open_net(net_class, encode(step_of(graph, schemes(graph)[1], **options), network))
        random = np.random.default_rng(seed)
        for label in (0, 1, 1):
            net.train_step(stored(sample(graph, random)), label)
        results.add(bytes(net.weights()))
    assert len(results) == 1


@pytest.mark.parametrize("seed", range(6))
def test_streams_pools_pads_and_tables_predict_the_reference_s_bytes(net_class, seed):
    graph = predicting_net(seed)
    network = values_for(graph, seed)
    net = net_class(bytearray(encode(inference_step(graph), network).code))
    run, random = Int8Run(network), np.random.default_rng(seed)
    for _ in range(6):
        x = sample(graph, random)
        wanted = run(x[None])[network.output].ravel()
        assert net.predict(stored(x)) == wanted.argmax()
        assert np.array_equal(np.frombuffer(net.outputs(), np.int8), wanted)


@pytest.mark.parametrize("grid", (2, 3, 4))
def test_patches_give_what_whole_tensors_give(net_class, grid):
    from acclimate_host.model.build import Builder

    net = Builder("front", (3, 41, 38))
    y = net.conv("c0", net.x, 4, kernel=3, stride=1)
    y = net.conv("c1", y, 4, kernel=3, groups=4, stride=2)
    y = net.conv("c2", y, 5)
    y = net.conv("c3", net.conv("c4", y, 6), 6, kernel=5, groups=6)
    graph = net.classify(net.pool("p", y), 3)
    network = values_for(graph, grid)
    x, found = sample(graph, np.random.default_rng(grid)), []
    for number in (1, grid):
        step = inference_step(graph, Options(patch_grid=number))
        board = net_class(bytearray(encode(step, network).code))
        board.predict(stored(x))
        found.append(bytes(board.outputs()))
    assert found[0] == found[1]
    assert found[0] == Int8Run(network)(x[None])[network.output].tobytes()


def test_a_budget_of_instructions_cuts_a_step_anywhere(net_class):
    graph = trained_net(3)
    program = encode(step_of(graph, schemes(graph)[0]), values_for(graph, 3))
    x, results = stored(sample(graph, np.random.default_rng(0))), set()
    for budget in (1, 2, 3, 1000):
        net = open_net(net_class, program)
        yields = sum(1 for _ in net.train([(x, 1), (x, 0)], budget))
        results.add(bytes(net.weights()))
        assert yields >= 2 and (budget < 1000 or yields == 2)
    assert len(results) == 1


def test_inference_between_steps_changes_nothing(net_class):
    graph = trained_net(1)
    program = encode(step_of(graph, schemes(graph)[1]), values_for(graph, 1))
    random, results = np.random.default_rng(0), []
    inputs = [stored(sample(graph, random)) for _ in range(3)]
    for predicts in (False, True):
        net = open_net(net_class, program)
        for x in inputs:
            if predicts:
                net.predict(inputs[0])
            net.train_step(x, 1)
        results.append(bytes(net.weights()))
    assert results[0] == results[1]


def test_gradients_are_stored_with_the_exponent_of_the_largest_value():
    random = np.random.default_rng(0)
    for _ in range(200):
        blocks = [random.integers(-(1 << k), 1 << k, 5) for k in random.integers(1, 30, 6)]
        found, s = stored_blocks(blocks)
        most = max(np.abs(block).max() for block in blocks)
        assert even(most, s) <= 127 and (s == 0 or even(most, s - 1) > 127)
        for block, stored_block in zip(blocks, found, strict=True):
            assert np.abs(stored_block - block / 2.0**s).max() <= 1


def test_a_program_is_well_under_four_kilobytes():
    from acclimate_host.model.zoo import backbone
    from acclimate_host.sparse.scheme import from_ratios

    graph = backbone("mbv2-w0.35")
    scheme = from_ratios(graph, 16, [36, 39, 49], [1, 1, 0.5])
    program = encode(step_of(graph, scheme), values_for(graph, 0))
    assert program.code_bytes < 2800
    assert program.arena_bytes <= 100 * 1024


def test_generated_files_are_those_of_the_one_source():
    assert program_format.GENERATED.main(["--check"]) == 0


def test_a_changed_format_has_another_number():
    """Boards tell a program or a native module of another release by this number alone."""
    text = "".join(
        line for line in program_format.c_header().splitlines(True) if "NET_FORMAT " not in line
    )
    found = program_format.FORMAT, hashlib.sha256(text.encode()).hexdigest()[:16]
    assert found == (6, "cb36e19e546a7a56"), "raise FORMAT, then put both here"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_pure_python_gives_the_core_s_bytes(net_class, optimizer):
    from acclimate.net import interpreter as _net_py

    seed = OPTIMIZERS.index(optimizer)
    graph = trained_net(seed + 40)
    network = values_for(graph, seed)
    for scheme, options in list(zip(schemes(graph), OPTIONS, strict=True))[:3]:
        program = encode(step_of(graph, scheme, **options), network, optimizer)
        nets = [open_net(net_class, program) for _ in range(2)]
        nets[1]._native = _net_py
        random = np.random.default_rng(seed)
        for k in range(2):
            x, label = stored(sample(graph, random)), k % 2
            for net in nets:
                net._put(STATE.offset("move"), int(optimizer != "accumulate" or k % 2 == 1))
            assert nets[0].train_step(x, label) == nets[1].train_step(x, label)
            assert bytes(nets[0].weights()) == bytes(nets[1].weights())
            at, size = program.field("state"), program.field("kept_bytes")
            assert nets[0]._arena[at : at + size] == nets[1]._arena[at : at + size]


@pytest.mark.parametrize("seed", range(3))
def test_pure_python_predicts_streams(net_class, seed):
    from acclimate.net import interpreter as _net_py

    graph = predicting_net(seed)
    program = encode(inference_step(graph), values_for(graph, seed))
    nets = [net_class(bytearray(program.code)) for _ in range(2)]
    nets[1]._native = _net_py
    random = np.random.default_rng(seed)
    for _ in range(4):
        x = stored(sample(graph, random))
        assert nets[0].predict(x) == nets[1].predict(x)
        assert bytes(nets[0].outputs()) == bytes(nets[1].outputs())
