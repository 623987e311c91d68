# SPDX-License-Identifier: MIT
"""Tuner trains int8 networks and float ones on the twin, as its docstring says."""

import numpy as np
import pytest

from acclimate.net import FloatNet, Net
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.finetune import Setting, Tuner
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net

pytestmark = pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")


@pytest.fixture(scope="module")
def digits():
    """(a network that knows upright digits, upside down ones, labels)."""
    datasets = pytest.importorskip("sklearn.datasets")
    neural = pytest.importorskip("sklearn.neural_network")
    x, labels = datasets.load_digits(return_X_y=True)
    model = neural.MLPClassifier((16,), max_iter=30, random_state=1).fit(x / 16, labels)
    rows = (x / 16).reshape(-1, 8, 8)[:, ::-1].reshape(-1, 64, 1, 1)
    return import_mlp(model), rows, labels


@pytest.mark.parametrize("kind", [Net, FloatNet])
def test_a_network_learns_and_its_losses_fall(digits, kind):
    network, rows, labels = digits
    if kind is Net:
        network = quantize(network, rows[:200])[0]
    tuner = Tuner(network, Scheme(1, (("fc0", 64),)))
    assert type(tuner.net) is kind
    inputs = tuner.stored(rows)
    assert len(inputs[0]) == tuner.net.input_bytes
    before = tuner.accuracy(inputs[900:], labels[900:])
    losses = tuner.tune(inputs[:300], labels[:300], Setting(0.05, epochs=4))
    after = tuner.accuracy(inputs[900:], labels[900:])
    assert len(losses) == 4 and losses[-1] < 0.6 * losses[0]
    assert after > before + 0.2
    weights = tuner.weights()
    tuner.tune(inputs[:1], labels[:1], Setting(0.0001, epochs=1), weights)
    first = tuner.accuracy(inputs[900:], labels[900:])
    assert abs(first - after) < 0.05 and np.isfinite(losses).all()
