# SPDX-License-Identifier: MIT
"""The bench of imports: files of packages, folders and wheels, each once and by name."""

import zipfile
from pathlib import Path

import pytest

from bench import imports

wakeword = pytest.importorskip("pymicro_wakeword")
MODEL = (Path(wakeword.__file__).parent / "models" / "alexa.tflite").read_bytes()


def test_models_of_folders_and_wheels_come_once_and_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "PACKAGES", ("pymicro_wakeword", "no_such_package"))
    (tmp_path / "same.tflite").write_bytes(MODEL)
    (tmp_path / "text.md").write_bytes(b"no model")
    with zipfile.ZipFile(tmp_path / "a-1-py3.whl", "w") as wheel:
        wheel.writestr("a/broken.onnx", b"no model")
        wheel.writestr("a/seanet_add.tflite", b"left out")
    monkeypatch.setenv("MODELS", str(tmp_path))
    found = dict(imports.models())
    assert sum(name.startswith("pymicro_wakeword/") for name in found) == 4
    assert [name for name in found if not name.startswith("pymicro_wakeword/")] == [
        "a/broken.onnx"
    ]
    assert imports.imported("alexa.tflite", MODEL) == ("int8", "")
    kind, why = imports.imported("a/broken.onnx", found["a/broken.onnx"])
    assert kind == "" and why.startswith("model: no ONNX model")
