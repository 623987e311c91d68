# SPDX-License-Identifier: MIT
"""The network's part of the demo: how recordings are split, and one result on host and board."""

import sys

import numpy as np
import pytest

from acclimate_host.capsules.build import read
from acclimate_host.connect import open_board, why_not
from acclimate_host.demo import network, on_board_net, watch
from acclimate_host.demo.network_task import factory_network, turned, user_task
from acclimate_host.model.network import Network
from acclimate_host.paths import built
from acclimate_host.twin import net as twin_net
from harness.errors import naming

pytestmark = pytest.mark.skipif(
    watch.source_path() is None and not built("data", "watch.npz").exists(),
    reason="seglearn is not installed",
)


@pytest.fixture(scope="module")
def recordings():
    return watch.load(built("data", "watch.npz"))


@pytest.fixture(scope="module")
def plan(recordings, tmp_path_factory):
    """The plan of user 3 around a network that nobody trained: training is not what is tested."""
    task = user_task(recordings, 3)
    random = np.random.default_rng(1)
    values = {}
    for name, tensor in task.graph.tensors.items():
        if tensor.kind == "frozen":
            spread = 1.3 / np.sqrt(np.prod(tensor.shape[1:])) if tensor.dtype == "int8" else 0.1
            values[name] = random.normal(0, spread, tensor.shape).astype(np.float32)
    cache = tmp_path_factory.mktemp("data") / "net.npz"
    np.savez(cache, **Network(task.graph, values).values)
    return network.prepare(recordings, 3, cache)


class Here:
    """Stands for a board: the same file runs in this process, on the twin."""

    lib = ""

    def __init__(self, folder):
        self.folder, self.names = folder, {}

    def put_bytes(self, data, path):
        with open(path, "wb") as file:
            file.write(data)

    def put(self, local, path):
        pass

    def exec(self, code, timeout_s=10):
        from contextlib import redirect_stdout
        from io import StringIO

        with redirect_stdout(StringIO()) as out:
            exec(code, self.names)
        return out.getvalue()


def here(plan, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "on_board_net", on_board_net)
    twin_net.register()
    return network.run(Here(folder), plan, lambda text: None, str(folder))


def test_no_part_of_a_users_samples_overlaps_another(recordings):
    task = user_task(recordings, 3)
    sizes = [len(part[1]) for part in (task.tune, task.validate, task.test)]
    assert sizes == [74, 27, 105]
    assert len(np.unique(task.tune[1])) == len(np.unique(task.test[1])) == 7
    with pytest.raises(ValueError, check=naming(11)):
        user_task(recordings, 11)


def test_a_watch_the_other_way_round_is_half_a_turn_of_both_sensors(recordings):
    task = user_task(recordings, 3)
    other = turned(task)
    for part in ("tune", "validate", "test"):
        (x, labels), (y, same) = getattr(task, part), getattr(other, part)
        assert np.array_equal(labels, same)
        for sensor in (0, 3):
            mine, theirs = x[:, sensor : sensor + 3], y[:, sensor : sensor + 3]
            assert np.array_equal(theirs[:, :2], -mine[:, :2])
            assert np.array_equal(theirs[:, 2], mine[:, 2])
    assert other.base is task.base


@pytest.mark.slow
@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
def test_a_task_on_which_learning_matters(recordings, tmp_path, monkeypatch):
    cache = tmp_path / "net.npz"
    factory_network(user_task(recordings, 1), cache)
    shares = here(network.prepare(recordings, 1, cache), tmp_path, monkeypatch).shares
    assert shares[0] < 0.5 and shares[-1] > 0.7, shares


@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
def test_learned_weights_leave_as_a_small_delta(plan, tmp_path, monkeypatch):
    result = here(plan, tmp_path, monkeypatch)
    whole, new, delta = network.capsules(plan, result.weights)
    assert result.weights != plan.program.weights
    assert len(delta) < 1000 < 10 * len(delta) < len(whole) == len(new)
    assert dict(read(new).sections)["WEIGHTS"] == result.weights
    assert plan.program.arena_bytes < 4096
    assert len(result.shares) == network.EPOCHS + 1


@pytest.mark.case("J6")
@pytest.mark.skipif(twin_net.load() is None, reason="the twin is not built")
@pytest.mark.skipif(why_not("desktop") is not None, reason="no desktop binary")
def test_the_board_learns_the_same_weights_as_the_host(plan, tmp_path, monkeypatch):
    wanted = here(plan, tmp_path, monkeypatch)
    path = built("stage", "x64")
    if not (path / "acclimate" / "_net.mpy").exists():
        pytest.skip("the native module is not built")
    with open_board("desktop", path=[path], heap_bytes=512 * 1024) as board:
        got = network.run(board, plan, lambda text: None, str(tmp_path))
    assert got.weights == wanted.weights and got.shares == wanted.shares


def test_every_pass_visits_every_sample(plan):
    for stride in network.strides(plan):
        assert len({i * stride % plan.learn for i in range(plan.learn)}) == plan.learn
    assert len(set(network.strides(plan))) == network.EPOCHS
