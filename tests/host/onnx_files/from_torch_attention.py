# SPDX-License-Identifier: MIT
"""Writes torch_attention.onnx and torch_encoder.onnx beside this file, as `from_torch.py` does.

    python tests/host/onnx_files/from_torch_attention.py     # made with PyTorch 2.13

A block written by hand around MultiheadAttention, by the older exporter, and PyTorch's own
TransformerEncoderLayer of two heads, by the newer one.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent
ROWS, INPUTS, WIDTH, CLASSES = 16, 6, 8, 5


class Block(nn.Module):
    """Places of its own for each row, attention of one head and a GELU, each with a short cut."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(INPUTS, WIDTH)
        self.places = nn.Parameter(torch.randn(1, ROWS, WIDTH) * 0.3)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.attention = nn.MultiheadAttention(WIDTH, 1, batch_first=True)
        self.wide = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )
        self.last = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.first(x) + self.places
        z = self.norms[0](x)
        x = x + self.attention(z, z, z, need_weights=False)[0]
        return self.last((x + self.wide(self.norms[1](x))).mean(1))


def encoder():
    layer = nn.TransformerEncoderLayer(
        WIDTH, 2, 2 * WIDTH, batch_first=True, activation="gelu", norm_first=True
    )
    return nn.Sequential(
        nn.Linear(INPUTS, WIDTH), layer, nn.Flatten(), nn.Linear(ROWS * WIDTH, CLASSES)
    )


def without_notes(model):
    """Take away what the exporter says of its own source: two thirds of a small file."""
    for node in model.graph.node:
        del node.metadata_props[:]
    return model


def main():
    for name, make, options in (
        ("attention", Block, {"dynamo": False, "opset_version": 17}),
        ("encoder", encoder, {"dynamo": True, "opset_version": 18, "external_data": False}),
    ):
        torch.manual_seed(len(name))
        model = make().eval()
        for part in model.parameters():
            part.data += 0.2 * torch.randn_like(part)  # biases other than 0
        x = torch.randn(6, ROWS, INPUTS)
        with torch.no_grad():
            y = model(x)
        path = FOLDER / f"torch_{name}.onnx"
        torch.onnx.export(model, (x[:1],), str(path), **options)
        onnx.save(without_notes(onnx.load(path)), path)
        np.savez_compressed(FOLDER / f"torch_{name}.npz", x=x.numpy(), y=y.numpy())


if __name__ == "__main__":
    main()
