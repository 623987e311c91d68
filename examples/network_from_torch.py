# SPDX-License-Identifier: MIT
"""A PyTorch network for a board that goes on learning; docs/training.md goes on from here.

    pip install torch scikit-learn onnx
    python examples/network_from_torch.py

It trains on upright digits and writes net.onnx, samples.npy (what the network knows, to choose
the ranges of int8) and user.npz (what one user will show it: digits turned and inverted).
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

EPOCHS = 30


def block(inputs, wide, outputs, stride=1):
    """An inverted residual as in MobileNetV2, without the residual."""
    return nn.Sequential(
        nn.Conv2d(inputs, wide, 1, bias=False),
        nn.BatchNorm2d(wide),
        nn.ReLU6(),
        nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
        nn.BatchNorm2d(wide),
        nn.ReLU6(),
        nn.Conv2d(wide, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6()
        )
        self.first, self.second = block(8, 32, 8), block(8, 32, 16, stride=2)
        self.third = block(16, 64, 16)
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.second(x + self.first(x))
        x = x + self.third(x)
        return self.last(x.mean((2, 3)))


def digits():
    """Return (images (count, 1, 8, 8) from 0 to 1, labels) in a fixed random order."""
    data = load_digits()
    order = np.random.default_rng(1).permutation(len(data.images))
    x = (data.images[order] / 16).astype(np.float32)[:, None]
    return x, data.target[order]


def user_data(x, labels):
    """Return the arrays of user.npz: 200 digits to learn from, 100 to choose by, the others."""
    turned = np.ascontiguousarray(1 - np.rot90(x[900:], axes=(2, 3)))
    labels = labels[900:]
    return {
        "x": turned[:200],
        "labels": labels[:200],
        "x_validate": turned[200:300],
        "labels_validate": labels[200:300],
        "x_test": turned[300:],
        "labels_test": labels[300:],
    }


def train(model, x, labels):
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[part]), labels[part]).backward()
            optimizer.step()
        schedule.step()


def main():
    torch.manual_seed(1)
    x, labels = digits()
    model = Net()
    train(model, x[:900], labels[:900])
    model.eval()
    with torch.no_grad():
        right = (model(torch.from_numpy(x[900:])).argmax(1).numpy() == labels[900:]).mean()
    print(f"{right:.0%} right on upright digits it has not seen")
    torch.onnx.export(model, torch.zeros(1, 1, 8, 8), "net.onnx")
    np.save("samples.npy", x[:300])
    np.savez("user.npz", **user_data(x, labels))


if __name__ == "__main__":
    main()
