# SPDX-License-Identifier: MIT
"""Write tests/device/net_vectors_*.py: `python tests/host/net_vectors_source.py`.

What is expected comes from the reference that was written from docs/numerics.md.
"""

from dataclasses import replace
from pathlib import Path

import net_reference
import numpy as np
from net_cases import RATE, sample, step_of, stored, values_for
from net_integers import Step

from acclimate_host.compile.encode import encode
from acclimate_host.compile.instructions import read_code
from acclimate_host.compile.program_format import HEADER
from acclimate_host.compile.step import inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network, with_scales
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import Scheme, full

FOLDER = Path(__file__).resolve().parents[1] / "device"
SEED, STEPS = 9, 4


def mlp():
    net = Builder("mlp", (16, 1, 1))
    graph = net.classify(net.conv("c0", net.x, 8), 3)
    return graph, full(graph), "plain"


def small(graph_of=None):
    net = Builder("conv", (2, 6, 5))
    y = net.conv("c0", net.x, 6, kernel=3, stride=2)
    z = net.conv("c2", net.conv("c1", y, 9), 9, kernel=3, groups=9)
    y = net.add("a", y, net.conv("c3", z, 6, relu=False))
    return net.classify(net.pool("p", y), 3)


def biases():
    return small(), Scheme(3), "plain"


def pools():
    """The first layer learns through all kinds of pools, one after the other."""
    net = Builder("pools", (2, 7, 6))
    y = net.conv("c0", net.x, 5, kernel=3)
    y = net.sliding_pool("max_pool", "m", y, 3, 2, (1, 0, 1, 1))
    y = net.pad("n", y, (0, 1, 1, 0))
    y = net.sliding_pool("average_pool", "v", y, (3, 2), 1, (1, 1, 1, 0))
    y = net.sliding_pool("max_pool", "g", net.conv("c1", y, 4), 2, 1)
    return net.classify(net.pool("p", y), 3), Scheme(2), "plain"


def weights():
    return small(), Scheme(4, (("c0", 1), ("c1", 4), ("c2", 5), ("c3", 9))), "momentum16"


def squared():
    net = Builder("squared", (4, 2, 1))
    graph = net.finish(net.dense("fc", net.conv("c0", net.x, 6), 3))
    return graph, full(graph), "plain", ("huber", None, 0.5)


def binary():
    graph, scheme, optimizer, _ = squared()
    return graph, scheme, optimizer, ("binary",)


def same():
    """An autoencoder."""
    net = Builder("same", (8, 1, 1))
    graph = net.finish(net.dense("fc", net.conv("c0", net.x, 3), 8))
    return graph, full(graph), "wide", ("mse", "input")


def gates():
    """Products, a function, halves that are joined again and normalized, one made larger."""
    net = Builder("gates", (2, 4, 4))
    y = net.lookup("f", net.conv("c0", net.x, 4, kernel=3, relu=False), "silu")
    small = net.resize("r", net.conv("c1", y, 2, kernel=3, stride=2, relu=False), (2, 2))
    y = net.concat("j", [net.conv("c2", small, 2, relu=False), net.conv("c3", y, 3, relu=False)])
    y = net.norm("n", y)
    gate = net.lookup("s", net.conv("c4", net.pool("p", y), 5, relu=False), "sigmoid")
    return net.classify(net.multiply("m", y, gate), 3), Scheme(5), "plain"


def attention():
    """A transformer's block of two heads over four rows, trained whole."""
    net = Builder("attention", (3, 4, 1))
    y = net.conv("c0", net.x, 4, relu=False)
    z = net.norm("n", y)
    parts = [net.conv(f"c{i}", z, 4 if i < 3 else 6, relu=False) for i in (1, 2, 3)]
    z = net.conv("c4", net.attention("t", *parts, heads=2), 4, relu=False)
    return net.classify(net.pool("p", net.add("a", y, z)), 3), Scheme(5, (("c1", 4),)), "plain"


def attention_and_places():
    """The vectors of `attention`, and where the operands of its instructions lie."""
    found = vectors(attention)
    code = found["PROGRAM"][HEADER.bytes :]
    for op in ("ATTENTION", "ATTENTION_GRADIENT"):
        made = next(i for i in read_code(code) if i.op == op)
        at, places = HEADER.bytes + made.at + 1, []
        for _ in made.operands:
            places.append(at)
            while found["PROGRAM"][at] > 127:
                at += 1
            at += 1
        found[op] = places
    return found


def kinds():
    """A convolution as classifier, and in front of it a channel that is its bias alone."""
    net = Builder("kinds", (2, 4, 4))
    y = net.conv("c1", net.conv("c0", net.x, 5, kernel=3), 3, relu=False)
    graph, random = net.finish(net.pool("p", y)), np.random.default_rng(SEED)
    values = {
        name: random.normal(0, 0.4, tensor.shape).astype(np.float32)
        for name, tensor in graph.tensors.items()
        if tensor.kind == "frozen"
    }
    values["c0.w"][1] *= 1e-6 / np.abs(values["c0.w"][1]).max()
    values["c0.b"][1] = 5
    samples = random.normal(0, 1, (40, *graph["x"].shape))
    network = with_loss(quantize(Network(graph, values), samples)[0])
    return network.graph, Scheme(0), "plain", network


def vectors(case):
    """Return what a device test needs of one network."""
    graph, scheme, optimizer, *loss = case()
    network = loss.pop() if loss and isinstance(loss[0], Network) else values_for(graph, SEED)
    if loss:
        network = with_loss(network, *loss[0])
        graph = network.graph
    step = step_of(graph, scheme)
    program, reference = (
        encode(step, network, optimizer),
        Step(step, network, RATE, SEED, optimizer),
    )
    random = np.random.default_rng(SEED)
    inputs = [sample(graph, random) for _ in range(STEPS)]
    labels = [label_of(loss[0] if loss else None, random) for _ in inputs]
    outputs = Int8Run(network)(np.stack(inputs))[network.output].reshape(STEPS, -1)
    shares = [reference(x, label) for x, label in zip(inputs, labels, strict=True)]
    values = {k: reference.values[k].astype(v.dtype) for k, v in network.values.items()}
    return {
        "PROGRAM": program.code,
        "WEIGHTS": program.weights,
        "RATE": RATE,
        "SEED": SEED,
        "INPUTS": [bytes(stored(x)) for x in inputs],
        "LABELS": labels,
        "OUTPUTS": [row.astype(np.int8).tobytes() for row in outputs],
        "SHARES": shares,
        "TRAINED": encode(step, replace(network, values=values), optimizer).weights,
        "MOVED": reference.moved,
        "RAILS": reference.rails,
    }


def recurrent():
    """A recurrent layer whose state goes on from input to input."""
    net, random = Builder("lstm", (3, 1, 4)), np.random.default_rng(SEED)
    scales = {"scales": (0.011, 0.009, 0.008, 0.012), "again_scales": (0.007, 0.009, 0.01, 0.006)}
    y = net.lstm("r", net.x, 5, cell_power=-11, clip=20480, **scales)
    graph = net.finish(net.dense("fc", y, 3))
    known = {"x": (0.04, 5), "r.y": (0.0078, -2), "fc.y": (0.03, 4), "r.h": (0.0078, -2)}
    known.update({"fc.w": ((0.01,) * 3, 0), "fc.b": ((0.01 * 0.0078,) * 3, 0)})
    values = {
        name: random.integers(-127, 128, t.shape).astype(t.dtype)
        for name, t in graph.tensors.items()
        if t.kind == "frozen"
    }
    values["r.h"], values["r.c"] = np.full((5, 1, 1), -2, np.int8), np.zeros((5, 1, 1), np.int16)
    return Network(with_scales(graph, known), values), random


def svdf():
    """Two SVDF layers, of int16 and of int8 state; the second one's wraps around."""
    net, random = Builder("svdf", (3, 2, 2)), np.random.default_rng(SEED)
    y = net.svdf("s", net.x, 5, rank=2, memory=3)
    graph = net.finish(net.dense("fc", net.svdf("t", y, 4, memory=2, state="int8"), 3))
    known = {"x": (0.04, 5), "s.y": (0.05, -128), "t.y": (0.05, 9), "fc.y": (0.03, 4)}
    known.update({"s.wf": (0.01, 0), "s.wt": (2e-6, 0), "s.s": (0.0008, 0)})
    known.update({"t.wf": (0.01, 0), "t.wt": (0.005, 0), "t.s": (0.5, 70)})
    known.update({"fc.w": ((0.01,) * 3, 0), "fc.b": ((0.01 * 0.05,) * 3, 0)})
    values = {
        name: random.integers(-most, most + 1, t.shape).astype(t.dtype)
        for name, t in graph.tensors.items()
        for most in ({"int8": 127, "int16": 32767, "int32": 900}[t.dtype],)
        if t.kind == "frozen"
    }
    values["s.s"] = np.zeros(graph["s.s"].shape, np.int16)
    values["t.s"] = np.full(graph["t.s"].shape, 70, np.int8)
    return Network(with_scales(graph, known), values), random


def stream(network, random):
    """Return a program, inputs, and the outputs that follow each other."""
    graph, program = network.graph, encode(inference_step(network.graph), network)
    inputs, run = [sample(graph, random) for _ in range(STEPS)], Int8Run(network)
    outputs = [run(x[None])[network.output].astype(np.int8).tobytes() for x in inputs]
    return {
        "PROGRAM": program.code,
        "WEIGHTS": program.weights,
        "INPUTS": [bytes(stored(x)) for x in inputs],
        "OUTPUTS": outputs,
    }


def label_of(loss, random):
    if loss is None:
        return int(random.integers(3))
    if loss == ("mse", "input"):
        return None
    if loss == ("binary",):
        return tuple(random.integers(0, 2, 3).tolist())
    return tuple(random.normal(0, 1, 3).round(2).tolist())


def floating_loss(*loss):
    """A float32 network with a loss: what a step does to the biases of its last layer."""
    graph = squared()[0]
    random = np.random.default_rng(SEED)
    values = {
        name: random.normal(0, 0.5, tensor.shape).astype(np.float32)
        for name, tensor in graph.tensors.items()
        if tensor.kind == "frozen"
    }
    network = with_loss(Network(graph, values), *loss)
    program = encode(step_of(network.graph, Scheme(0)), network)
    x = random.normal(0, 1, graph["x"].shape).astype(np.float32)
    y = FloatRun(network).predict(x[None])[0]
    target = np.array(label_of(loss, random), float)
    if loss == ("binary",):
        p = 1 / (1 + np.exp(-y))
        value = -(target * np.log(p) + (1 - target) * np.log(1 - p)).mean()
        gradient = (p - target) / 3
    else:
        value, gradient = ((y - target) ** 2).mean(), 2 * (y - target) / 3
    bias = (values["fc.b"] - 0.01 * gradient).astype("<f4")
    at, size = next((at, size) for name, at, size in program.parts if name == "fc.b")
    return {
        "PROGRAM": program.code,
        "WEIGHTS": program.weights,
        "RATE": 0.01,
        "INPUT": np.ascontiguousarray(x.transpose(1, 2, 0)).tobytes(),
        "TARGET": tuple(target.tolist()),
        "LOSS": round(float(value), 6),
        "BIAS_AT": at,
        "BIAS": bias.tobytes()[:size],
    }


def floating(graph):
    """A float32 network: what float64 with numpy gives for one step."""
    for node in graph.nodes:
        if node.op == "conv":
            node.attrs["relu"] = True  # the reference limits layers without
    values = net_reference.parameters(graph, SEED)
    network = Network(graph, {k: v.astype(np.float32) for k, v in values.items()})
    step = step_of(graph, full(graph))
    program = encode(step, network)
    x = np.random.default_rng(SEED).normal(0, 1, graph["x"].shape).astype(np.float32)
    values.update(x=x.astype(np.float64), label=np.array(2))
    net_reference.Run(step.graph, values)
    trained = {k: values[k].astype(np.float32) for k in network.values}
    return {
        "PROGRAM": program.code,
        "WEIGHTS": program.weights,
        "RATE": net_reference.RATE,
        "INPUT": np.ascontiguousarray(x.transpose(1, 2, 0)).tobytes(),
        "LABEL": 2,
        "OUTPUTS": values["fc.y"].astype("<f4").tobytes(),
        "TRAINED": encode(step, Network(graph, trained)).weights,
    }


def _lines(value, indent):
    for at in range(0, max(1, len(value)), 16):  # without a byte: b""
        yield indent + 'b"' + "".join(f"\\x{byte:02x}" for byte in value[at : at + 16]) + '"'


def text(case):
    whole = (mlp, biases, pools, weights, squared, binary, same, gates, kinds)
    values = vectors(case) if case in whole else case()
    lines = ["# SPDX-License-Identifier: MIT"]
    lines.append('"""Made by tests/host/net_vectors_source.py: a network and its results."""')
    for name, value in values.items():
        if isinstance(value, bytes):
            lines += ["", f"{name} = (", *_lines(value, "    "), ")"]
        elif isinstance(value, list) and isinstance(value[0], bytes):
            lines += ["", f"{name} = ("]
            for item in value:
                lines += ["    (", *_lines(item, "        "), "    ),"]
            lines.append(")")
        else:
            lines += ["", f"{name} = {tuple(value) if isinstance(value, list) else value}"]
    return "\n".join(lines) + "\n"


CASES = {
    "mlp": mlp,
    "biases": biases,
    "weights": weights,
    "pools": pools,
    "squared": squared,
    "binary": binary,
    "same": same,
    "gates": gates,
    "attention": attention_and_places,
    "kinds": kinds,
    "recurrent": lambda: stream(*recurrent()),
    "svdf": lambda: stream(*svdf()),
    "float_binary": lambda: floating_loss("binary"),
    "float_squared": lambda: floating_loss("mse"),
    "float": lambda: floating(small()),
    "float_pools": lambda: floating(pools()[0]),
}


def path(name):
    return FOLDER / f"net_vectors_{name}.py"


if __name__ == "__main__":
    for name, case in CASES.items():
        path(name).write_text(text(case))
