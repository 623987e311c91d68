# SPDX-License-Identifier: MIT
"""The TFLite importer against TensorFlow Lite Micro's own interpreter, tensor by tensor."""

from pathlib import Path

import numpy as np
import pytest

from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_tflite import import_tflite, network_from_tflite
from acclimate_host.model.importing import FUNCTIONS, table
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.tflite_file import read_tflite

wakeword = pytest.importorskip("pymicro_wakeword")
runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")

MODELS = Path(wakeword.__file__).parent / "models"
NAMES = ("alexa", "hey_jarvis", "hey_mycroft", "okay_nabu")
ARENA_BYTES = 300_000


def interpreter(path):
    keep = runtime.InterpreterConfig.kPreserveAllTensors
    return runtime.Interpreter.from_file(
        str(path), arena_size=ARENA_BYTES, intrepreter_config=keep
    )


def frames(seed, count):
    """Return noise, then tones that move, then long silence: (count, 3, 40) int8."""
    random = np.random.default_rng(seed)
    noise = random.integers(-128, 128, (count, 3, 40))
    place = np.arange(count * 3).reshape(count, 3, 1) / 9
    tones = 127 * np.sin(place + np.arange(40) / random.uniform(2, 9)) * random.uniform(0.3, 1)
    kind = np.arange(count)[:, None, None] * 3 // count
    return np.choose(kind, [noise, tones.astype(int), np.full_like(noise, -128)]).astype(np.int8)


@pytest.mark.parametrize("name", NAMES)
def test_wake_word_model_gives_every_tensor_as_tflite_micro_does(name):
    path = MODELS / f"{name}.tflite"
    network, theirs = import_tflite(path), interpreter(path)
    tensors = read_tflite(path.read_bytes())[0].tensors
    activations = [i for i, t in enumerate(tensors) if t.dtype == "INT8" and t.data is None]
    run = Int8Run(network)
    # Which of the file's tensors an activation is: the first whose bytes agree, then for good.
    graph = network.graph
    layers = [n.outputs[0] for n in run.nodes if n.op in ("conv", "dense", "window")]
    candidates, seen = {}, set()
    for frame in frames(NAMES.index(name), 90):
        theirs.set_input(frame[None], 0)
        theirs.invoke()
        made = run(frame[None].reshape(1, 3, 1, 40).transpose(0, 3, 1, 2))
        last = int(theirs.get_output(0).ravel()[0])
        assert last == int(made[network.output].ravel()[0]) + 128
        seen.add(last)
        held = {i: theirs.GetTensor(i, 0)["tensor_data"] for i in activations}
        for layer in layers:
            mine = made[layer].transpose(0, 2, 3, 1)
            same = {
                i for i, value in held.items()
                if value.size == mine.size and (value.ravel() == mine.ravel()).all()
            }  # fmt: skip
            candidates[layer] = candidates.get(layer, same) & same
            assert candidates[layer], f"{layer} {graph[layer].shape}: no tensor of TFLM's agrees"
    assert len(seen) > 1


def test_scales_and_sizes_are_those_of_the_file():
    network = import_tflite(MODELS / "okay_nabu.tflite")
    assert network.graph["x"].shape == (40, 3, 1)
    assert network.graph["x"].zero_point == -128
    assert network.graph[network.output].scale == pytest.approx(1 / 256)
    assert not any(node.op in ("split", "concat") for node in network.graph.nodes)
    assert network.notes == ("output is uint8 in the file, here int8: value - 128",)


def test_damaged_and_foreign_files_are_refused_in_one_line():
    data = (MODELS / "alexa.tflite").read_bytes()
    for broken in (b"", data[:4], b"PK\3\4" + bytes(60), data[:4] + b"TFL2" + data[8:]):
        with pytest.raises(GraphError) as caught:
            network_from_tflite(broken, "model.tflite")
        assert str(caught.value).startswith("model.tflite") and "\n" not in str(caught.value)
    random = np.random.default_rng(1)
    for _ in range(60):
        changed = bytearray(data)
        for at in random.integers(8, 3000, 3):
            changed[at] ^= 1 << random.integers(8)
        try:
            network_from_tflite(bytes(changed), "model.tflite")
        except GraphError as error:
            assert "\n" not in str(error)


def test_tables_round_to_the_nearest_value():
    got = table(FUNCTIONS["sigmoid"], (0.1, 0), (1 / 256, -128))
    assert got[128] == 0 and got[0] == -128 and got[255] == 127
    assert (np.diff(got.astype(int)) >= 0).all()
