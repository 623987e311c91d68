# SPDX-License-Identifier: MIT
"""Samples of a model's own shape, (count, 30) or (count, 6, 64), are taken everywhere."""

import numpy as np
import pytest

from acclimate_host.commands.model_files import labelled
from acclimate_host.model.build import Builder
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.layer_errors import layer_errors
from acclimate_host.model.network import Network, in_shape
from acclimate_host.model.quantize import quantize
from acclimate_host.sparse.finetune import Tuner
from acclimate_host.sparse.scheme import Scheme
from acclimate_host.twin import net as twin_net


def network(shape):
    net = Builder("own", shape)
    graph = net.finish(net.dense("fc", net.x, 3))
    weight = np.random.default_rng(2).normal(size=(3, *shape)).astype(np.float32)
    return Network(graph, {"fc.w": weight, "fc.b": np.ones(3, np.float32)})


@pytest.mark.parametrize("own, shape", [((30,), (30, 1, 1)), ((6, 64), (6, 64, 1))])
def test_they_are_those_of_the_network(own, shape, tmp_path):
    real = network(shape)
    x = np.random.default_rng(1).normal(size=(20, *own))
    whole = x.reshape(20, *shape)
    small, wanted = quantize(real, x)[0], quantize(real, whole)[0]
    assert all(np.array_equal(small.values[k], v) for k, v in wanted.values.items())
    assert np.array_equal(FloatRun(real).predict(x), FloatRun(real).predict(whole))
    stored = small.quantize_input(x)
    assert np.array_equal(stored, small.quantize_input(whole)) and stored.shape == (20, *shape)
    run = Int8Run(small)
    assert np.array_equal(run.predict(stored.reshape(20, *own)), run.predict(stored))
    assert repr(layer_errors(real, x)) == repr(layer_errors(real, whole))
    np.savez(tmp_path / "x.npz", x=x, labels=np.arange(20) % 3)
    assert np.array_equal(labelled(tmp_path / "x.npz", small)[""][0], whole)
    if twin_net.load() is not None:
        tuner = Tuner(small, Scheme(0))
        assert tuner.stored(x) == tuner.stored(whole)


@pytest.mark.parametrize("other", [(20, 29), (20, 1, 30), (30,), (20, 5, 6)])
def test_others_are_refused(other):
    with pytest.raises(GraphError, match=r"samples: expected \(count, 30, 1, 1\), got"):
        quantize(network((30, 1, 1)), np.zeros(other))
    assert in_shape(np.zeros(other), (30, 1, 1)).shape == other
