# SPDX-License-Identifier: MIT
"""What commands read: model files, samples and labels."""

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from acclimate_host.errors import AcclimateError
from acclimate_host.model.network import in_shape
from acclimate_host.model.quantize import quantize

_PARTS = ("", "_validate", "_test")
_NUMPY_FILES = (b"\x93NUMPY", b"PK")  # how an array and an archive begin


def add_input_shape(parser):
    """Add the option for what a model's file leaves open."""
    parser.add_argument(
        "--input-shape",
        metavar="C,H,W",
        help="of one input, such as 3,48,64, where a .onnx file leaves edges open",
    )


def _shape(text):
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise AcclimateError(f"--input-shape {text}: expected numbers such as 3,48,64") from None


def imported(name, input_shape=None):
    """Return the Network of a .onnx or .tflite file; its notes are printed.

    :param input_shape: text such as "3,48,64", or None
    """
    path = Path(name)
    if not path.exists():
        raise AcclimateError(f"{name}: no such file")
    if path.suffix == ".onnx":
        from acclimate_host.model.import_onnx import import_onnx

        network = import_onnx(path, None if input_shape is None else _shape(input_shape))
    elif path.suffix == ".tflite" and input_shape is not None:
        raise AcclimateError(f"--input-shape {input_shape}: {name} has a shape of its own")
    elif path.suffix == ".tflite":
        from acclimate_host.model.import_tflite import import_tflite

        network = import_tflite(path)
    else:
        raise AcclimateError(f"{name}: expected a .onnx or .tflite file")
    _print_notes(network.notes)
    return network


def _print_notes(notes):
    for note in notes:
        print(f"note: {note}")


def stored(network, samples, percentile=100.0, headroom=0.0):
    """Return the network in int8; a float one is quantized, with its report printed.

    :param samples: array (count, channels, height, width), or a function that gives it
    """
    if network.quantized:
        return network
    samples = samples() if callable(samples) else samples
    small, report = quantize(network, samples, percentile, headroom)
    print(report)
    _print_notes(small.notes[len(network.notes) :])
    return small


def array(name):
    """Return the array of a .npy file."""
    found = _opened(name, ".npy of numbers")
    if not isinstance(found, np.ndarray):
        raise AcclimateError(f"{name}: expected one array (.npy), got an archive")
    return found


def labelled(name, network):
    """Return {part: (x, labels)} of an .npz file; parts are "", "_validate" and "_test".

    Each part is `x` (count, channels, height, width) and `labels` (count,), for example
    `x_test` and `labels_test`; the first is needed.

    :raises AcclimateError: names the array, what was expected and what came
    """
    found = _opened(name, ".npz with x and labels", _PARTS)
    if isinstance(found, np.ndarray):
        raise AcclimateError(f"{name}: expected an archive (.npz) with x and labels, got an array")
    graph = network.graph
    shape, classes = graph[network.input].shape, graph[network.output].elements
    parts = {}
    for part in _PARTS:
        have = [key + part for key in ("x", "labels") if key + part in found]
        if len(have) == 1 or not (have or part):
            got = ", ".join(have) or "neither"
            raise AcclimateError(f"{name}: expected x{part} and labels{part}, got {got}")
        if have:
            parts[part] = _part(
                name, part, found["x" + part], found["labels" + part], shape, classes
            )
    return parts


def _part(name, part, x, labels, shape, classes):
    x = in_shape(x, shape)
    if x.ndim != 4 or x.shape[1:] != shape or not len(x):
        raise AcclimateError(
            f"{name}: x{part}: expected (count, {', '.join(map(str, shape))}), got {x.shape}"
        )
    if not (x.dtype.kind in "biuf" and np.isfinite(x).all()):
        raise AcclimateError(f"{name}: x{part}: expected finite real numbers")
    if labels.shape != (len(x),) or not np.issubdtype(labels.dtype, np.integer):
        raise AcclimateError(
            f"{name}: labels{part}: expected {len(x)} whole numbers, "
            f"got {labels.dtype} {labels.shape}"
        )
    if labels.min() < 0 or labels.max() >= classes:
        raise AcclimateError(
            f"{name}: labels{part}: expected 0 to {classes - 1}, "
            f"got {labels.min()} to {labels.max()}"
        )
    return x.astype(np.float64), labels.astype(np.int64)


def _opened(name, wanted, parts=()):
    """Return the array of a file, or {name: array} of an archive's parts."""
    try:
        with open(name, "rb") as file:
            if not file.read(6).startswith(_NUMPY_FILES):  # numpy would speak of pickles
                raise ValueError("this is no file of numpy.save or numpy.savez")
        found = np.load(name, allow_pickle=False)
        if isinstance(found, np.ndarray) or not parts:
            return found
        names = [key + part for part in parts for key in ("x", "labels")]
        return {key: found[key] for key in names if key in found}
    except FileNotFoundError:
        raise AcclimateError(f"{name}: no such file") from None
    except (OSError, ValueError, EOFError, MemoryError, BadZipFile, zlib.error) as error:
        text = " ".join(str(error).split())
        raise AcclimateError(f"{name}: expected a {wanted} ({text})") from None


def channels_of(texts):
    """Return ((layer, count), ...) of texts LAYER:COUNT.

    :raises AcclimateError: another form, or a layer that is named twice
    """
    found = [_channels(text) for text in texts]
    names = [layer for layer, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise AcclimateError(f"--channels {twice}: expected one number of channels, got two")
    return tuple(found)


def _channels(text):
    layer, _, count = text.rpartition(":")
    if not layer or not (count.isascii() and count.isdigit()):
        raise AcclimateError(f"--channels {text}: expected LAYER:COUNT, for example c4:8")
    return layer, int(count)
