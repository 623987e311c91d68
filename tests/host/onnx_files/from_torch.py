# SPDX-License-Identifier: MIT
"""Writes torch_*.onnx beside this file, with inputs and PyTorch's own outputs in torch_*.npz.

    python tests/host/onnx_files/from_torch.py     # made with PyTorch 1.13

torch_digits.onnx is the network of examples/network_from_torch.py, trained (needs scikit-learn).
Between them the models hold what PyTorch's exporter writes for the layers that boards run, with
its constants folded or not, for several versions of ONNX's operators.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[2] / "examples"))

import network_from_torch  # noqa: E402


class Mobile(nn.Module):
    """Normalization, ReLU6, depthwise, a residual, adaptive pooling, dropout."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU6()
        )
        self.block = nn.Sequential(
            nn.Conv2d(6, 12, 1, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU6(),
            nn.Conv2d(12, 12, 3, 1, 1, groups=12, bias=False),
            nn.BatchNorm2d(12),
            nn.ReLU6(),
            nn.Conv2d(12, 6, 1, bias=False),
            nn.BatchNorm2d(6),
        )
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(6, 4)
        )

    def forward(self, x):
        x = self.stem(x)
        return self.head(x + self.block(x))


class Functional(nn.Module):
    """As tutorials write it: functions, `view`, a mean over two axes, padding, max pooling."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, (3, 2))
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.first(x)), 2)
        x = functional.hardtanh(self.second(functional.pad(x, (1, 0, 0, 2))), 0, 4)
        x = x * 0.5 + 0.25
        x = x.mean((2, 3)).view(x.size(0), -1)
        return functional.log_softmax(self.last(x), dim=1)


class Signal(nn.Module):
    """One dimension: a sensor's channels over time."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(6, 8, 5, 2, 2), nn.BatchNorm1d(8), nn.ReLU(),
            nn.Conv1d(8, 8, 3, groups=8, padding=1), nn.ReLU(), nn.Conv1d(8, 10, 1),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(10, 3),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


class Grouped(nn.Module):
    """Stride 3, groups, dilation, odd edges, a flattened map, average pooling."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ZeroPad2d((0, 1, 2, 0)), nn.Conv2d(4, 8, 3, 3, groups=2), nn.ReLU(),
            nn.Conv2d(8, 8, 2, dilation=2, groups=4), nn.ReLU(), nn.AvgPool2d(2, 1),
            nn.Flatten(1), nn.Linear(8 * 2 * 3, 5), nn.Softmax(1),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


def perceptron():
    return nn.Sequential(nn.Linear(12, 10), nn.BatchNorm1d(10), nn.ReLU(), nn.Linear(10, 3))


def digits():
    model = network_from_torch.Net()
    x, labels = network_from_torch.digits()
    network_from_torch.train(model, x[:900], labels[:900])
    return model


# name: (model, shape of an input, options of the exporter)
MODELS = {
    "mobile": (Mobile, (1, 14, 13), {"opset_version": 17}),
    "mobile_unfolded": (Mobile, (1, 14, 13), {
        "opset_version": 11, "do_constant_folding": False,
        "training": torch.onnx.TrainingMode.PRESERVE,
    }),
    "mobile_batches": (Mobile, (1, 14, 13), {
        "opset_version": 13, "input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}},
    }),
    "functional": (Functional, (3, 12, 11), {"opset_version": 13}),
    "functional_9": (Functional, (3, 12, 11), {"opset_version": 9}),
    "functional_batches": (Functional, (3, 12, 11), {
        "opset_version": 17, "input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}},
    }),
    "signal": (Signal, (6, 40), {"opset_version": 14}),
    "grouped": (Grouped, (4, 13, 17), {"opset_version": 12}),
    "perceptron": (perceptron, (12,), {"opset_version": 16}),
    "digits": (digits, (1, 8, 8), {}),
}  # fmt: skip


def used(model):
    """Give an untrained model what training leaves: statistics and factors other than 0 and 1."""
    for part in model.modules() if not isinstance(model, network_from_torch.Net) else ():
        if isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            for value, low, high in (
                (part.running_mean, -0.5, 0.5),
                (part.running_var, 0.5, 2),
                (part.weight, 0.5, 1.5),
                (part.bias, -0.3, 0.3),
            ):
                value.data.uniform_(low, high)
    return model.eval()


def main():
    for name, (make, shape, options) in MODELS.items():
        torch.manual_seed(len(name))
        model = used(make())
        x = torch.randn(6, *shape)
        with torch.no_grad():
            y = torch.cat([model(sample[None]) for sample in x])
        torch.onnx.export(model, x[:1], str(FOLDER / f"torch_{name}.onnx"), **options)
        np.savez_compressed(FOLDER / f"torch_{name}.npz", x=x.numpy(), y=y.numpy())


if __name__ == "__main__":
    main()
