# SPDX-License-Identifier: MIT
"""From Keras to a network that learns on: the files of TensorFlow's own converter, int8 and float.

Needs TensorFlow, which no extra brings; without it these tests are skipped, and the files of
`onnx_files/` and `test_net_tflite.py` stand for it.
"""

import runpy

import numpy as np
import pytest

import acclimate_host.twin.net  # noqa: F401  (the board's C code)
from acclimate.net import Net
from acclimate_host import cli
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.import_tflite import import_tflite
from acclimate_host.model.int8 import Int8Run
from acclimate_host.paths import repository

tf = pytest.importorskip("tensorflow")
LEARNS = "--loss cross-entropy --biases 5 --channels c1:4 --channels c2:4 --channels c3:32"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the example writes."""
    made = tmp_path_factory.mktemp("keras")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        example = repository() / "examples" / "network_from_keras.py"
        runpy.run_path(str(example), run_name="__main__")
        yield made


def answers(path, images):
    """Return what TensorFlow Lite's own interpreter answers, in the file's own numbers."""
    interpreter = tf.lite.Interpreter(str(path))
    interpreter.allocate_tensors()
    (given,), (got,) = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for image in images.transpose(0, 2, 3, 1):
        interpreter.set_tensor(given["index"], image[None])
        interpreter.invoke()
        found.append(interpreter.get_tensor(got["index"])[0])
    return np.array(found)


def test_both_files_answer_as_their_own_interpreter(folder):
    images = np.load(folder / "samples.npy")[:100]
    small = import_tflite(folder / "net.tflite")
    rows = small.quantize_input(images)
    theirs = answers(folder / "net.tflite", rows)
    assert (abs(Int8Run(small).predict(rows).astype(int) - theirs) <= 1).all()
    real = import_tflite(folder / "net_float.tflite")
    theirs = answers(folder / "net_float.tflite", images)
    np.testing.assert_allclose(FloatRun(real).predict(images), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["net.tflite", "net_float.tflite"])
def test_what_was_compiled_learns_its_user(folder, name):
    out = folder / ("made_" + name)
    words = ["compile", str(folder / name), *LEARNS.split(), "--out", str(out)]
    assert cli.main([*words, "--samples", str(folder / "samples.npy")]) == 0
    net = Net((out / "net_program").read_bytes(), (out / "net_weights").read_bytes())
    user, row = np.load(folder / "user.npz"), bytearray(net.input_bytes)
    stream = [
        (bytes(net.quantize(x.ravel().tolist(), row)), int(label))
        for x, label in zip(user["x"], user["labels"], strict=True)
    ]
    before = net.evaluate(stream)
    net.set_rate(0.003)
    for _ in range(6):
        for _ in net.train(stream):
            pass
    assert net.evaluate(stream) > before + 0.2
