# SPDX-License-Identifier: MIT
"""Targets for models and plans: SVM files, network programs, ONNX, TensorFlow Lite, plan files.

As in ``fuzz_targets``. What is taken is used as well: a file that loads must predict, or refuse
its rows with one clear error.
"""

import contextlib
import functools
import io
import json
import os
import runpy
import tempfile
import zlib

from acclimate.net import FloatNet, Net, NetError
from acclimate.svm import SVM
from acclimate_host.errors import AcclimateError
from acclimate_host.model import import_onnx, import_tflite
from acclimate_host.paths import repository
from acclimate_host.poet import problem
from acclimate_host.poet.evaluate import evaluate
from acclimate_host.twin import net as twin_net

_LENGTH, _CRC_AT, _HEAD = 12, 72, 76
_SIZES, _DTYPE = (8, 24), 5  # of a program: the arena and the weights; which arithmetic


def _dressed(data):
    return (data[0] if data else 0), bytearray(data[1:])


def of_svm(data):
    """A file of a machine; repaired: its length and its CRC-32 are right."""
    form, data = _dressed(data)
    if form > 63 and len(data) > 48:
        data[_LENGTH : _LENGTH + 4] = len(data).to_bytes(4, "little")
        data[-4:] = zlib.crc32(data[:-4]).to_bytes(4, "little")
    try:
        machine = SVM.load(io.BytesIO(bytes(data)))
    except ValueError:
        return
    width = machine._model.d
    for row in ([0] * width, [1] * width, bytes(width)):
        try:
            machine.predict(row)
            machine.decision(row)
        except ValueError:  # a row that this store does not hold
            pass


def repair(data):
    """Make the CRC-32 of a program right."""
    sum_ = zlib.crc32(data[_HEAD:], zlib.crc32(data[:_CRC_AT]))
    data[_CRC_AT:_HEAD] = sum_.to_bytes(4, "little")


def of_network(data):
    """A byte program, run in C; repaired: its CRC-32 is right."""
    form, data = _dressed(data)
    if form > 63 and len(data) > _HEAD:
        repair(data)
    arena, weights = (int.from_bytes(data[at : at + 4], "little") for at in _SIZES)
    if arena > 1 << 20 or weights > arena:
        return  # a larger arena is another test's
    if twin_net.load() is not None:
        twin_net.register()
    kind = FloatNet if len(data) > _HEAD and data[_DTYPE] else Net
    try:
        net = kind(bytes(data), _noise(weights), bytearray(1 << 20))
        if net.input_bytes > 1 << 16:
            return
        x = _noise(net.input_bytes)
        net.predict(x)
        net.confidence()
        net.set_rate(0.02)
        for target in (0, [1] * 3):  # a class, or numbers for three outputs
            with contextlib.suppress(NetError):
                net.train_step(x, target)
    except NetError:
        pass


def _noise(n):
    return (b"\x05\xf3\x3c\x00\x81\x3d\x7f" * (n // 7 + 1))[:n]


@functools.cache
def program():
    """Return the program that inputs start from."""
    from acclimate_host.compile.encode import encode
    from acclimate_host.compile.step import training_step
    from acclimate_host.model.losses import with_loss
    from acclimate_host.model.quantize import quantize
    from acclimate_host.sparse.scheme import Scheme

    network, samples = _small()
    small = with_loss(quantize(network, samples)[0])
    return encode(training_step(small.graph, Scheme(0)), small)


def _small():
    import numpy as np

    x = np.random.default_rng(1).normal(size=(20, 1, 8, 8))
    path = repository() / "tests" / "host" / "onnx_files" / "torch_digits.onnx"
    return import_onnx.import_onnx(path), x


def of_onnx(data):
    """An ONNX file."""
    try:
        import_onnx.import_onnx(bytes(data[1:]))
    except AcclimateError:
        pass


def of_tflite(data):
    """A TensorFlow Lite file."""
    try:
        import_tflite.network_from_tflite(bytes(data[1:]), "fuzzed.tflite")
    except AcclimateError:
        pass


def of_plan(data):
    """A problem, and the plan and claim in it."""
    try:
        found = json.loads(bytes(data[1:]))
        graph, budget, plan, _ = problem.from_json(found)
        if plan:
            evaluate(graph, budget, plan)
    except (AcclimateError, json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        pass


TARGETS = {
    "svm_file": of_svm,
    "network": of_network,
    "onnx": of_onnx,
    "tflite": of_tflite,
    "plan": of_plan,
}


def seeds(name):
    """Return inputs to start from, or None for a name that is not here."""
    if name == "svm_file":
        found = list(_machines())
    elif name == "network":
        found = [bytes(program().code), *_of_all_kinds()]
    elif name == "onnx":
        folder = repository() / "tests" / "host" / "onnx_files"
        found = [min(folder.glob("*.onnx"), key=lambda p: p.stat().st_size).read_bytes()]
    elif name == "tflite":
        found = [b"\x1c\0\0\0TFL3" + bytes(64)]
    elif name == "plan":
        found = [_plan()]
    else:
        return None
    return [bytes([form]) + data for form in (0, 200) for data in found]


def _of_all_kinds():
    """The programs that the boards run in tests/device: every instruction is in one."""
    for path in sorted((repository() / "tests" / "device").glob("net_vectors_*.py")):
        yield bytes(runpy.run_path(str(path))["PROGRAM"])


def _machines():
    rows = [[0, 0], [0, 9], [9, 0], [9, 9], [20, 3], [22, 5]]
    for options in (
        {"kernel": "linear"},
        {"kernel": "rbf", "C": 10, "gamma": 0.1},
        {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 1.0, "scale": True},
        {"kernel": "rbf", "state": "fixed", "gamma": 0.1},
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.svm")
            SVM(**options).fit(rows, [0, 1, 1, 0, 2, 2]).save(path)
            with open(path, "rb") as file:
                yield file.read()


def _plan():
    nodes = [
        {"id": str(i), "deps": [str(i - 1)] if i else [], "ram_bytes": 100, "compute_energy": 1.0}
        for i in range(4)
    ]
    steps = [["compute", str(i)] for i in range(4)]
    found = {"nodes": nodes, "budget": {"ram_bytes": 1000}, "plan": steps}
    return json.dumps(found).encode()
