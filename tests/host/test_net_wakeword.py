# SPDX-License-Identifier: MIT
"""The wake-word models as programs: the C core gives TensorFlow Lite Micro's bytes, and so does
the module of a Cortex-M4 on the emulated board."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acclimate.net import Net
from acclimate_host.compile.encode import encode
from acclimate_host.compile.program_format import HEADER
from acclimate_host.compile.prune import drop_dead
from acclimate_host.compile.step import inference_step
from acclimate_host.connect import open_board, why_not
from acclimate_host.model.import_tflite import import_tflite
from acclimate_host.model.tflite_file import read_tflite
from acclimate_host.paths import built
from acclimate_host.twin import net as twin_net

wakeword = pytest.importorskip("pymicro_wakeword")
runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

MODELS = Path(wakeword.__file__).parent / "models"
NAMES = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
_RAW_IN_FILE = 0x100000
_PREDICT = """
import _net, qboard
from array import array
flash = memoryview(qboard.Flash(qboard.RAW_START, {whole}))
program = flash[:{size}]
arena = bytearray({arena_bytes})
par = array('i', [0] * 9)
at = {table}
def number(at):
    value = shift = 0
    while True:
        b = program[at]
        at += 1
        value |= (b & 127) << shift
        shift += 7
        if b < 128:
            return value, at
for _ in range({windows}):
    to, at = number(at)
    start, at = number(at)
    n, at = number(at)
    for i in range(n):
        arena[to + i] = program[{constants} + start + i]
out = []
for i in range({count}):
    par[0], par[1], par[4] = 0, {forward}, 1 << 29
    x = flash[{size} + 120 * i:{size} + 120 * (i + 1)]
    s = _net.run(program, arena, x, par)
    out.append(s or arena[{output}])
print(out)
"""


def frames(seed, count):
    """Return stored inputs, (count, 120) int8: noise, noise of all strengths, silence."""
    random = np.random.default_rng(seed)
    noise = random.integers(-128, 128, (count, 120))
    level = random.integers(-128, 100, (count, 1)) // 2
    strength = random.uniform(0.05, 1, (count, 1))
    soft = np.clip(noise * strength + level, -128, 127).astype(int)
    kind = np.arange(count)[:, None] * 5 // count
    found = np.choose(kind, [noise, soft, soft, soft, np.full_like(noise, -128)])
    return found.astype(np.int8)


def by_tflite_micro(name, inputs):
    """Return the logits, in front of the logistic function, that TensorFlow Lite Micro holds."""
    path = MODELS / f"{name}.tflite"
    keep = runtime.InterpreterConfig.kPreserveAllTensors
    theirs = runtime.Interpreter.from_file(str(path), arena_size=300_000, intrepreter_config=keep)
    ops = read_tflite(path.read_bytes())[0].ops
    logits = next(op.outputs[0] for op in ops if op.name == "FULLY_CONNECTED")
    found = []
    for x in inputs:
        theirs.set_input(x.reshape(1, 3, 40), 0)
        theirs.invoke()
        found.append(int(theirs.GetTensor(logits, 0)["tensor_data"].ravel()[0]))
    return found


def program_of(name):
    """Return the program of a model up to its logits."""
    network = import_tflite(MODELS / f"{name}.tflite")
    logits = next(n.outputs[0] for n in network.graph.nodes if n.op == "dense")
    graph = drop_dead(replace(network.graph, outputs=(logits,)))
    return encode(inference_step(graph), replace(network, graph=graph))


@pytest.mark.parametrize("name", NAMES)
def test_the_core_predicts_what_tflite_micro_predicts(name):
    twin_net.register()
    program, inputs = program_of(name), frames(NAMES.index(name), 300)
    net, found = Net(bytearray(program.code), program.weights), []
    for x in inputs:
        net.predict(x.tobytes())
        found.append((net.outputs()[0] + 128) % 256 - 128)
    wanted = by_tflite_micro(name, inputs)
    assert found == wanted
    assert len(set(wanted)) > 20


@pytest.mark.case("J10")
def test_a_cortex_m4_predicts_what_tflite_micro_predicts():
    reason = why_not("nrf52840")
    native = built("native", "armv7emsp", "_net.mpy")
    if reason or not native.exists():
        pytest.skip(reason or f"{native.name} is not built")
    program, inputs = program_of("okay_nabu"), frames(7, 60)
    code, field = program.code + bytes(-len(program.code) % 4), program.field
    data = code + inputs.tobytes()
    names = {
        "size": len(code),
        "whole": -(-len(data) // 4096) * 4096,
        "count": len(inputs),
        "arena_bytes": program.arena_bytes,
        "output": field("output"),
        "table": HEADER.bytes + field("forward") + field("training"),
        "windows": field("windows"),
        "constants": field("constants"),
        "forward": field("forward"),
    }
    with open_board("nrf52840") as board:
        board.put_bytes(native.read_bytes(), "_net.mpy")
        with open(board.emulator.flash, "r+b") as flash:
            flash.seek(_RAW_IN_FILE)
            flash.write(data)
        board.soft_reset()
        found = ast.literal_eval(board.exec(_PREDICT.format(**names)))
    found = [(value + 128) % 256 - 128 for value in found]
    assert found == by_tflite_micro("okay_nabu", inputs)
