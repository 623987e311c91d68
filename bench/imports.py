# SPDX-License-Identifier: MIT
"""Models of others: which files are imported, by name, and why the rest is refused.

Files are those of installed packages, and of folders and wheels that MODELS names, separated by
colons: wheels of PyPI, copies of mlcommons/tiny and tensorflow/tflite-micro from GitHub.
tflite-micro's `seanet` folder has 125 files of one operator each, most of them int16; they are
left out. Files of the same bytes count once. `imports.count` says how many came in. A file that
leaves edges of its input open is imported for a shape of SHAPES.

    MODELS=DIR:FILE.whl make bench NAME=imports
"""

import hashlib
import importlib.util
import os
import sys
import zipfile
from pathlib import Path

from acclimate_host.errors import AcclimateError
from acclimate_host.model.import_onnx import import_onnx
from acclimate_host.model.import_tflite import network_from_tflite
from acclimate_host.paths import repository
from bench import common

PACKAGES = ("pymicro_wakeword", "tflite_micro", "rapidocr", "rapidocr_onnxruntime")
# Of one input by a part of the file's name: PaddleOCR's recognizers, classifiers and detectors,
# and nudenet's.
SHAPES = {
    "_rec_": (3, 48, 64),
    "_cls_": (3, 48, 192),
    "_det_": (3, 64, 64),
    "320n": (3, 320, 320),
}
TARGETS = [
    ("imports.count", ">=", 35),
    ("imports.files", None, None),
    ("imports.other_errors", "=", 0),
]


def _is_model(name):
    return name.endswith((".tflite", ".onnx")) and "seanet" not in name


def _folder(folder):
    for path in sorted(Path(folder).rglob("*")):
        if path.suffix == ".whl":
            yield from _wheel(path)
        elif path.is_file() and _is_model(str(path)):
            yield f"{Path(folder).name}/{path.relative_to(folder)}", path.read_bytes()


def _wheel(path):
    with zipfile.ZipFile(path) as wheel:
        for name in sorted(filter(_is_model, wheel.namelist())):
            yield name, wheel.read(name)


def models():
    """Yield (name, bytes) of each model; a file that two places have comes once."""
    folders = [
        Path(spec.origin).parent for spec in map(importlib.util.find_spec, PACKAGES) if spec
    ]
    folders += [Path(part) for part in os.environ.get("MODELS", "").split(":") if part]
    seen = set()
    for folder in folders:
        for name, data in _wheel(folder) if folder.suffix == ".whl" else _folder(folder):
            digest = hashlib.sha256(data).digest()
            if digest not in seen:
                seen.add(digest)
                yield name, data


def imported(name, data):
    """Return ("int8" or "float", "") of a model, or ("", why not)."""
    try:
        network = _network(name, data)
    except AcclimateError as error:
        return "", str(error)
    return "int8" if network.quantized else "float", ""


def _network(name, data):
    if name.endswith(".tflite"):
        return network_from_tflite(data)
    try:
        return import_onnx(data)
    except AcclimateError as error:
        shape = next((shape for part, shape in SHAPES.items() if part in name), None)
        if shape is None or "input_shape" not in str(error):
            raise
        return import_onnx(data, input_shape=shape)


def main():
    rows, errors = {}, {}
    for name, data in models():
        try:
            kind, why = imported(name, data)
        except Exception as error:  # what no importer may let out
            kind, why = "", f"{type(error).__name__}: {error}"
            errors[name] = why
        rows[name] = {"as": kind, "why_not": why}
        print(f"  {kind or '-':6} {name}{': ' if why else ''}{why[:160]}")
    count = sum(bool(row["as"]) for row in rows.values())
    result = {"count": count, "files": len(rows), "other_errors": len(errors), "models": rows}
    path = common.write("imports", {"imports": result})
    missed = common.table("Imported models of others", {"imports": result}, TARGETS)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
