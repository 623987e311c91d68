# SPDX-License-Identifier: MIT
"""Put the page together: the files of playground/, MicroPython, the device package, and data.

usage: python tools/playground.py MICROPYTHON_PACKAGE PLANS CORE_WASM RESULT

CORE_WASM may be missing: the page then trains in pure Python. What the page needs of the host is
computed here: two models as capsules, a network and its samples; PLANS is of playground_plans.py.
"""

import base64
import json
import shutil
import sys
from array import array
from pathlib import Path

import numpy as np

from acclimate_host.capsules.build import build
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import Options, training_step
from acclimate_host.connect import package
from acclimate_host.model.build import Builder
from acclimate_host.model.network import as_bytes, with_loss
from acclimate_host.model.pretrain import pretrain
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.teach import session

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "playground"
TEACH = ROOT / "host" / "acclimate_host" / "teach"
NOR = ROOT / "host" / "acclimate_host" / "testing" / "nor.py"
PAGE_FILES = (".html", ".css", ".js", ".txt", ".svg")
LEARN, TEST = 60, 60


def machines():
    """Return {file name: bytes} of two capsules: a straight boundary, then a ring."""
    from acclimate.svm import SVM

    random = np.random.default_rng(3)
    points = random.integers(-110, 110, (160, 2))
    truths = ((points[:, 0] > points[:, 1]), (points**2).sum(1) < 65**2)
    found = {}
    for version, (name, truth) in enumerate(zip(("one", "two"), truths, strict=True), 1):
        machine = SVM(kernel="rbf", C=1, storage="int8")
        machine.fit(array("b", points.astype(np.int8).tobytes()), bytearray(truth.tolist()))
        path = ROOT / "out" / "playground" / f"{name}.svm"
        path.parent.mkdir(parents=True, exist_ok=True)
        machine.save(str(path))
        content = build({"WEIGHTS": path.read_bytes()}, "SVM", 7, version)
        path.unlink()
        found[f"{name}.capsule"] = content
    return found


def digits():
    """Return {file name: bytes}: an int8 network of digits, and those of a slanted hand."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x = (images.reshape(-1, 1, 8, 8) / 8 - 1).astype(np.float32)
    known, new = slice(0, 1200), slice(1200, 1200 + LEARN + TEST)
    maker = Builder("digits", (1, 8, 8))
    y = maker.conv("c0", maker.x, 8, 3, 1)
    y = maker.conv("c1", y, 12, 3, 2)
    y = maker.conv("c2", y, 16, 3, 2)
    graph = maker.classify(y, 10)
    network = pretrain(graph, x[known], labels[known], epochs=20)
    small, _ = quantize(network, x[:300])
    small = with_loss(small)
    step = training_step(small.graph, Scheme(3), Options(patch_grid=1))
    program = encode(step, small)
    slanted = np.stack([_slanted(image) for image in x[new]])
    rows = zip(as_bytes(small.quantize_input(slanted)), labels[new], strict=True)
    return {
        "digits.program": program.code,
        "digits.weights": program.weights,
        "digits.samples": b"".join(row + bytes([label]) for row, label in rows),
    }


def _slanted(image):
    """The image of another hand: rows moved sideways, the upper ones to the right."""
    out = np.full_like(image, -1)
    for line in range(8):
        by = (3 - line) // 2 + 1
        for column in range(8):
            if 0 <= column - by < 8:
                out[:, line, column] = image[:, line, column - by]
    return out


def packed(files):
    return {name: base64.b64encode(data).decode() for name, data in files.items()}


def device_files():
    """Return {path on the page's MicroPython: bytes}: the package as boards get it, programs."""
    files = {f"/acclimate/{name}": data for name, data in package.build(None, pure=True).items()}
    for path in sorted((SOURCE / "python").glob("*.py")):
        files[f"/page/{path.name}"] = path.read_bytes()
    files["/page/nor.py"] = NOR.read_bytes()
    for name, data in {**machines(), **digits()}.items():
        files[f"/page/{name}"] = data
    return files


def teach_files():
    """Return what the page sends to a board at the browser's own port."""
    sensors = {
        name: (TEACH / "sensors" / f"{name}.py").read_text()
        for name in session.SENSORS
        if name != "replay"
    }
    board = (TEACH / "on_board.py").read_text()
    return {"board": board, "sensors": sensors, "main": session.MAIN}


def main(micropython, plans, wasm, result):
    result = Path(result)
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir(parents=True)
    for path in sorted(SOURCE.iterdir()):
        if path.suffix in PAGE_FILES:
            shutil.copy(path, result)
    for name in ("micropython.mjs", "micropython.wasm"):
        shutil.copy(Path(micropython, name), result)
    if Path(wasm).exists():
        shutil.copy(wasm, result / "core.wasm")
    (result / "device.json").write_text(json.dumps(packed(device_files())))
    (result / "teach.json").write_text(json.dumps(teach_files()))
    shutil.copy(plans, result / "plans.json")
    total = sum(path.stat().st_size for path in result.iterdir())
    print(f"built {result} ({total} bytes)")


if __name__ == "__main__":
    main(*sys.argv[1:])
