# SPDX-License-Identifier: MIT
"""Post-training quantization, and scikit-learn's networks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import inference_step
from acclimate_host.model.build import Builder
from acclimate_host.model.factors import multiplier, requantize
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.import_sklearn import import_mlp
from acclimate_host.model.int8 import Int8Run, accuracy
from acclimate_host.model.losses import with_loss
from acclimate_host.model.network import Network
from acclimate_host.model.quantize import quantize
from harness.errors import naming


def seeded(seed=1):
    """Every operator, with channels whose weights differ by a factor of 300."""
    build, random = Builder("net", (3, 12, 10)), np.random.default_rng(seed)
    y = build.conv("c0", build.x, 8, 3, 2)
    start = build.conv("c1", y, 6, relu=False)
    y = build.conv("c2", start, 12, limit=np.inf)
    y = build.conv("c3", y, 12, (3, 5), groups=12)
    y = build.conv("c4", y, 6, relu=False)
    y = build.add("a0", start, y)
    y = build.pad("pad", y, (1, 0, 0, 1))
    y = build.sliding_pool("max_pool", "m0", y, 2, 1)
    y = build.lookup("t0", y, "tanh")
    graph = build.finish(build.dense("fc", build.pool("p", y), 4))
    values = {}
    for name, tensor in graph.tensors.items():
        if name.endswith(".w"):
            spread = 1.5 / np.sqrt(np.prod(tensor.shape[1:]))
            each = 10 ** random.uniform(-1.25, 1.25, (tensor.shape[0], 1, 1, 1))
            values[name] = (random.normal(0, spread, tensor.shape) * each).astype(np.float32)
        elif name.endswith(".b"):
            values[name] = random.normal(0, 0.3, tensor.shape).astype(np.float32)
    return Network(graph, values), random.normal(0, 1, (60, 3, 12, 10))


def test_quantized_network_stays_near_the_float_one():
    network, samples = seeded()
    small, report = quantize(network, samples)
    wanted = FloatRun(network).predict(samples)
    got = small.real_output(Int8Run(small).predict(small.quantize_input(samples)))
    assert np.sqrt(((got - wanted) ** 2).mean()) / wanted.std() < 0.15
    assert report.agreement > 0.9
    assert [row.layer for row in report.layers][:3] == ["c0", "c1", "c2"]
    assert "same largest output" in str(report) and len(str(report).splitlines()) == 13


def test_every_channel_uses_its_whole_range():
    small, _ = quantize(*seeded())
    for name, value in small.values.items():
        if name.endswith(".w"):
            largest = np.abs(value.astype(int)).reshape(len(value), -1).max(axis=1)
            assert (largest == 127).all(), name


def test_percentile_clips_and_says_how_much():
    network, samples = seeded()
    samples[0, 0, 0, 0] = 1000.0
    _, whole = quantize(network, samples)
    _, cut = quantize(network, samples, percentile=99.5)
    assert all(row.clipped == 0 for row in whole.layers if row.layer not in ("t0", "p"))
    clipped = {row.layer: row.clipped for row in cut.layers}
    assert 0 < clipped["c1"] < 0.02
    assert cut.layers[1].high < whole.layers[1].high


def test_headroom_leaves_room_to_grow():
    small, _ = quantize(*seeded(), headroom=0.25)
    assert np.abs(small.values["c0.w"].astype(int)).max() == round(127 / 1.25)


@pytest.mark.parametrize("unit", [1e-36, 1e-20, 1e-10, 1e20])
@pytest.mark.parametrize("layer", ["c0", "c2"])
def test_a_signal_in_small_or_large_units_is_as_good_as_any(unit, layer):
    """What a layer gives in other units, and the next takes back, is the same network."""
    network, samples = seeded()
    _, wanted = quantize(network, samples)
    if layer == "c0":
        samples = samples * unit
        network.values["c0.w"] = (network.values["c0.w"] / unit).astype(np.float32)
    else:
        for name, factor in (("c2.w", unit), ("c2.b", unit), ("c3.w", 1 / unit)):
            network.values[name] = (network.values[name] * factor).astype(np.float32)
    _, report = quantize(network, samples)
    for got, row in zip(report.layers, wanted.layers, strict=True):
        assert got.error == pytest.approx(row.error, rel=0.3, abs=0.01), row.layer


def test_what_is_0_but_for_rounding_is_dead():
    network, samples = seeded()
    network.values["c3.w"] = network.values["c3.w"] * np.float32(1e-30)
    network.values["c3.b"] *= 0
    network.values["c4.b"] = np.full(6, 3.0, np.float32)  # 3 and rounding
    network.values["c4.w"] *= 0
    small, _ = quantize(network, samples)
    encode(inference_step(small.graph), small)


@pytest.mark.parametrize("size, named", [(1e39, "samples"), (1e300, "samples"), (1e-37, "x")])
def test_ranges_that_no_scale_of_a_board_has_are_refused(size, named):
    network, samples = seeded()
    with pytest.raises(GraphError, check=naming(named)):
        quantize(network, samples * size)


def test_a_layer_whose_outputs_leave_float32_is_named():
    network, samples = seeded()
    for name in ("c1.w", "c2.w"):  # no ReLU limits these
        network.values[name] *= np.float32(1e25)
    with pytest.raises(GraphError, match="^c2.*: expected a range of float32"):
        quantize(network, samples)


def test_dead_channel_and_huge_bias_stay_within_their_types():
    network, samples = seeded()
    network.values["c0.w"][2] = 0
    network.values["c1.w"][1] *= 1e-12
    network.values["c1.b"][1] = 3.0
    small, report = quantize(network, samples)
    assert report.layers[0].dead == 1
    assert np.abs(small.values["c1.b"]).max() <= 2**30
    wanted = FloatRun(network)(samples)["c1.y"]
    tensor = small.graph["c1.y"]
    got = Int8Run(small)(small.quantize_input(samples))["c1.y"] - float(tensor.zero_point)
    assert np.abs(got * tensor.scale - wanted).max() < 12 * tensor.scale


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda n, s: quantize(n, s[0]), "samples: expected (count, 3, 12, 10)"),
        (lambda n, s: quantize(n, s * np.nan), "finite"),
        (lambda n, s: quantize(n, s[:0]), "samples: expected"),
        (lambda n, s: quantize(n, s, percentile=10), "percentile"),
        (lambda n, s: quantize(n, s, headroom=-1), "headroom"),
        (lambda n, s: quantize(quantize(n, s)[0], s), "quantized already"),
    ],
)
def test_bad_arguments_are_refused(change, words):
    with pytest.raises(GraphError, match="^[^\n]*$") as caught:
        change(*seeded())
    assert words in str(caught.value)


@pytest.mark.case("J5")
def test_a_loss_is_refused_where_no_gradient_would_pass():
    network, samples = seeded()
    assert with_loss(with_loss(network)).graph.outputs == (network.output, "loss")
    build = Builder("net", (4, 1, 1))
    table = build.lookup("t", build.dense("fc", build.x, 3), "sigmoid")
    with pytest.raises(GraphError, check=naming("lookup")):
        with_loss(Network(build.finish(table), {}))
    build = Builder("net", (4, 1, 1))
    with pytest.raises(GraphError, match="one output; a softmax needs two"):
        with_loss(Network(build.finish(build.dense("fc", build.x, 1)), {}))


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.floats(2**-30, 2**20))
def test_requantization_is_two_roundings_of_the_exact_product(x, factor):
    """Written with Python's own integers from docs/numerics.md."""
    m, shift = multiplier(factor)
    assert m * 2.0 ** (shift - 31) == pytest.approx(factor, rel=2**-30)
    left = max(shift, 0)
    moved = ((x << left) + 2**31) % 2**32 - 2**31
    high = (moved * m + 2**30) // 2**31
    divisor = 2 ** max(-shift, 0)
    wanted = (abs(high) * 2 + divisor) // (2 * divisor) * (1 if high >= 0 else -1)
    assert int(requantize(np.int64(x), m, shift)) == wanted


def fitted(**options):
    data = load_digits()
    options = {"hidden_layer_sizes": (24, 12), "max_iter": 60, "random_state": 1, **options}
    return data.data, data.target, MLPClassifier(**options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("scaled", [False, True])
def test_mlp_gives_scikit_learns_probabilities(activation, scaled):
    x, labels, model = fitted(activation=activation)
    model = make_pipeline(StandardScaler(), model) if scaled else model
    model.fit(x, labels)
    network = import_mlp(model)
    rows = x[:50].reshape(50, -1, 1, 1)
    logits = FloatRun(network).predict(rows)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(model.predict_proba(x[:50]), abs=1e-5)
    small, report = quantize(network, x.reshape(len(x), -1, 1, 1))
    assert report.agreement > 0.97
    got = accuracy(small, small.quantize_input(x.reshape(len(x), -1, 1, 1)), labels)
    assert got > model.score(x, labels) - 0.02


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_binary_mlp_gets_two_outputs():
    x, labels, model = fitted()
    model.fit(x, labels > 4)
    logits = FloatRun(import_mlp(model)).predict(x[:80].reshape(80, -1, 1, 1))
    share = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    assert share == pytest.approx(model.predict_proba(x[:80])[:, 1], abs=1e-5)


def test_other_estimators_are_named():
    for model in (
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        MLPClassifier(),
    ):
        with pytest.raises(GraphError, match="^model: expected"):
            import_mlp(model)
