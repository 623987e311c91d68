# SPDX-License-Identifier: MIT
"""The arrays that examples/network_from_torch.py writes, without PyTorch, and an autoencoder."""

import ast

import numpy as np
from sklearn.datasets import load_digits

from acclimate_host.paths import repository


def write():
    """Write samples.npy, user.npz and the files of digits that tutorials read."""
    names = {"np": np, "load_digits": load_digits}
    source = ast.parse((repository() / "examples" / "network_from_torch.py").read_text())
    kept = [node for node in source.body if getattr(node, "name", "") in ("digits", "user_data")]
    exec(compile(ast.Module(kept, []), "network_from_torch.py", "exec"), names)
    x, labels = names["digits"]()
    np.save("samples.npy", x[:300])
    user = names["user_data"](x, labels)
    np.savez("user.npz", **user)
    for part in ("", "_test"):
        pixels = (user["x" + part].reshape(-1, 64) * 16).round().astype(np.uint8)
        rows = np.column_stack([user["labels" + part].astype(np.uint8), pixels])[:20]
        with open("digits" + part, "wb") as file:
            file.write(rows.tobytes())


def autoencoder(path):
    """Write an ONNX file of 64 numbers, 8 between, and 64 numbers again."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(1)
    weights = {
        "a": draw.normal(0, 0.2, (64, 8)).astype(np.float32),
        "b": draw.normal(0, 0.2, (8, 64)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Gemm", ["flat", "a"], ["small"]),
        helper.make_node("Relu", ["small"], ["code"]),
        helper.make_node("Gemm", ["code", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "autoencoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 64])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
