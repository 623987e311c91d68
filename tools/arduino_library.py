# SPDX-License-Identifier: MIT
"""Make the Arduino library: the C cores, the C++ classes and three sketches in one folder.

usage: python tools/arduino_library.py FOLDER    # a new folder FOLDER/Acclimate, and Acclimate.zip

The cores stay where they are; this copies them, without the wrappers for MicroPython. The data of
the sketches comes from scikit-learn's digits.
"""

import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

import acclimate
from acclimate_host.capsules.build import build
from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import training_step
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import as_bytes
from acclimate_host.model.quantize import quantize
from acclimate_host.paths import repository
from acclimate_host.sparse.scheme import Scheme

CORES = {
    "common": ("divide.h",),
    "svm_linear": ("linear.c", "linear.h"),
    "codec": ("layout.h", "sha256.c", "sha256.h"),
    "net": ("*.h", "*.c", "*_m4f.S"),
}
LEFT_OUT = ("net_mod.c", "net_float.c", "float_*.h")  # the wrapper for MicroPython, and float32
# A library has no flags of its own: what the Makefile says stands at the head of each copy.
HEADS = {
    ".c": "#if defined(__ARM_FEATURE_DSP)\n#define NET_FAST\n#endif\n",
    ".S": "#if defined(__ARM_FEATURE_DSP)\n",
}
TAILS = {".S": "#endif\n"}
TRAIN, TEST = 84, 36
SHOWN, ASKED, PASSES = 300, 200, 4
RATE = (20972, -20)  # 0.02
KEY = bytes(range(1, 33))


def copy_cores(folder):
    """Copy the C files of the cores to the library's src folder."""
    for room, patterns in CORES.items():
        for pattern in patterns:
            for path in sorted((repository() / "native_modules" / room).glob(pattern)):
                if not any(path.match(left) for left in LEFT_OUT):
                    head, tail = (part.get(path.suffix, "") for part in (HEADS, TAILS))
                    (folder / path.name).write_text(head + path.read_text() + tail)


def array(kind, name, data, per_line=24):
    """Return a C array of bytes."""
    lines = [data[i : i + per_line] for i in range(0, len(data), per_line)]
    body = ",\n    ".join(", ".join(str(int(v)) for v in line) for line in lines)
    head = f"static const {kind} {name}[{len(data)}] __attribute__((aligned(4)))"
    return head + " = {\n    " + body + "\n};"


def header(path, *parts):
    head = ("// SPDX-License-Identifier: MIT", "// Made by tools/arduino_library.py.")
    path.write_text("\n".join([*head, "#include <stdint.h>", "", *parts]) + "\n")


def numbers(**values):
    return "enum { " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " };"


def write_digits(path):
    """Digit 6 against others, classes in turn: the task of the Edge2Train paper."""
    from sklearn.datasets import load_digits

    data = load_digits()
    rows = np.empty((TRAIN + TEST, 64), np.int8)
    half = (TRAIN + TEST) // 2
    rows[0::2], rows[1::2] = data.data[data.target == 6][:half], data.data[data.target != 6][:half]
    header(
        path,
        numbers(TRAIN=TRAIN, TEST=TEST, FEATURES=64),
        array("int8_t", "samples", rows.ravel()),
        array("uint8_t", "labels", np.arange(TRAIN + TEST) % 2 == 0),
    )


def network():
    """Return (program, quantized network, images (n, 64, 1, 1), labels) of an int8 network."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    data = load_digits()
    order = np.random.default_rng(1).permutation(len(data.data))
    x, labels = data.data[order] / 16, data.target[order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((24, 16), max_iter=60, random_state=1).fit(x[:900], labels[:900])
    samples = x.reshape(-1, 64, 1, 1)
    small = with_loss(quantize(import_mlp(model), samples[:300])[0])
    step = training_step(small.graph, Scheme(2, (("fc0", 64), ("fc1", 24))))
    return encode(step, small), small, samples, labels


def task(small, samples):
    """Return the inputs that the sketch learns and is asked: turned and inverted digits."""
    shown = samples[900 : 900 + SHOWN + ASKED].reshape(-1, 8, 8)
    turned = 1 - np.rot90(shown, axes=(1, 2)).reshape(-1, 64, 1, 1)
    return as_bytes(small.quantize_input(turned))


def write_network(path, capsule_path):
    """Program, weights and samples of a network, and a capsule of it."""
    program, small, samples, labels = network()
    inputs = np.frombuffer(b"".join(task(small, samples)), np.int8)
    header(
        path,
        numbers(
            ARENA_BYTES=program.arena_bytes,
            INPUT_BYTES=64,
            SHOWN=SHOWN,
            ASKED=ASKED,
            PASSES=PASSES,
            RATE_MANTISSA=RATE[0],
            RATE_EXPONENT=RATE[1],
        ),
        array("uint8_t", "net_program", program.code),
        array("uint8_t", "net_weights", program.weights),
        array("int8_t", "inputs", inputs),
        array("uint8_t", "labels", labels[900 : 900 + SHOWN + ASKED]),
    )
    sections = {"PROGRAM": bytes(program.code), "WEIGHTS": bytes(program.weights)}
    data = build(sections, "NETWORK", 7, 1, key=KEY, device=5)  # a bound is no section
    header(capsule_path, array("uint8_t", "capsule", data), array("uint8_t", "key", KEY))


def make(folder):
    """Write the library into folder/Acclimate; return that path."""
    source, target = repository() / "arduino", Path(folder) / "Acclimate"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("board"))
    properties = target / "library.properties"
    properties.write_text(properties.read_text().replace("@VERSION@", acclimate.__version__))
    copy_cores(target / "src")
    examples = target / "examples"
    write_digits(examples / "TrainSVM" / "digits.h")
    write_network(examples / "LearnNetwork" / "network.h", examples / "CheckCapsule" / "capsule.h")
    return target


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = make(sys.argv[1])
    shutil.make_archive(str(target), "zip", target.parent, target.name)
    print(f"wrote {target} and {target}.zip")


if __name__ == "__main__":
    main()
