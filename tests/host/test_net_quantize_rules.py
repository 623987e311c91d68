# SPDX-License-Identifier: MIT
"""What the quantizer chooses, number by number: ranges, scales, tables, windows, refusals."""

import math

import numpy as np
import pytest

from acclimate_host.model.build import Builder
from acclimate_host.model.float_run import FloatRun
from acclimate_host.model.graph import GraphError
from acclimate_host.model.importing import BIAS_LIMIT
from acclimate_host.model.int8 import Int8Run
from acclimate_host.model.network import Network
from acclimate_host.model.quantize import quantize
from harness.errors import naming


def network_of(build, y, seed=1, **values):
    """Return a float Network; weights are seeded unless they are given."""
    graph, random, found = build.finish(y), np.random.default_rng(seed), {}
    for name, tensor in graph.tensors.items():
        if tensor.kind in ("frozen", "state") and not name.endswith(".table"):
            made = random.normal(0, 0.5, tensor.shape)
            found[name] = np.asarray(values.get(name, made), np.float32)
    return Network(graph, found)


def samples_of(network, count=40, seed=2):
    shape = network.graph[network.input].shape
    return np.random.default_rng(seed).normal(0, 1, (count, *shape))


def near(network, small, samples, steps=1.5):
    """Tell whether the output is within some steps of the float one's."""
    got = small.real_output(Int8Run(small).predict(small.quantize_input(samples)))
    apart = np.abs(got - FloatRun(network).predict(samples))
    return (apart <= steps * small.graph[small.output].scale).all()


def one_layer(**values):
    build = Builder("one", (2, 3, 3))
    return network_of(build, build.conv("c", build.x, 3, 1, relu=False), **values)


# ---- scales ---------------------------------------------------------------------------------


def test_a_range_is_255_steps_from_its_least_to_its_most_and_holds_0():
    network = one_layer()
    samples = samples_of(network)
    small, report = quantize(network, samples)
    made = FloatRun(network)(samples)["c.y"]
    y, row = small.graph["c.y"], report.layers[0]
    assert (row.low, row.high) == (made.min(), made.max())
    assert y.scale == pytest.approx((made.max() - made.min()) / 255)
    assert y.zero_point == round(-128 - made.min() / y.scale)
    above, _ = quantize(network, np.abs(samples) + 3)
    assert above.graph["x"].zero_point == -128  # 0 is in each range, though no sample has it
    below, _ = quantize(network, -np.abs(samples) - 3)
    assert below.graph["x"].zero_point == 127


def test_a_dead_activation_has_a_scale_of_a_255th():
    network = one_layer(**{"c.w": np.zeros((3, 2, 1, 1)), "c.b": np.zeros(3)})
    small, report = quantize(network, samples_of(network))
    assert small.graph["c.y"].scale == pytest.approx(1 / 255)
    assert report.layers[0].dead == 3 and report.layers[0].step == math.inf


def test_functions_between_fixed_ends_have_fixed_scales_and_others_what_they_show():
    for function, pair in (("sigmoid", (1 / 256, -128)), ("tanh", (1 / 128, 0)), ("gelu", None)):
        build = Builder("table", (2, 3, 3))
        network = network_of(build, build.lookup("t", build.x, function))
        samples = samples_of(network)
        small, report = quantize(network, samples)
        y, made = small.graph["t.y"], FloatRun(network)(samples)["t.y"]
        if pair:
            assert (y.scale, y.zero_point) == pair
            ends = [(end - pair[1]) * pair[0] for end in (-128, 127)]
            assert [report.layers[0].low, report.layers[0].high] == ends
        else:
            assert y.scale == pytest.approx((made.max() - min(made.min(), 0)) / 255)
        assert near(network, small, samples, 4)


def test_weights_have_a_scale_for_each_channel_about_0():
    network = one_layer()
    small, report = quantize(network, samples_of(network))
    weight, real = small.graph["c.w"], network.values["c.w"]
    assert weight.zero_point == small.graph["c.b"].zero_point == 0
    assert weight.scale == pytest.approx(np.abs(real).max(axis=(1, 2, 3)) / 127)
    unit = np.array(weight.scale) * small.graph["x"].scale
    assert small.graph["c.b"].scale == pytest.approx(unit)
    assert np.abs(small.values["c.b"] - network.values["c.b"] / unit).max() <= 0.5
    wide, _ = quantize(network, samples_of(network), headroom=0.5)
    assert wide.graph["c.w"].scale == pytest.approx(1.5 * np.array(weight.scale))
    assert 0 < report.layers[0].weight_error < 0.01 and report.layers[0].dead == 0


def test_a_dead_channel_takes_the_usual_scale_and_its_bias_is_kept():
    weights = np.array([[1, 2], [0, 0], [3, 4], [0.5, 0.25]])[:, :, None, None]
    build = Builder("dead", (2, 3, 3))
    y = build.conv("c", build.x, 4, 1, relu=False)
    network = network_of(build, y, **{"c.w": weights, "c.b": np.full(4, 0.1)})
    small, report = quantize(network, samples_of(network))
    scale = small.graph["c.w"].scale
    assert scale[1] == pytest.approx(np.median(np.array(scale)[[0, 2, 3]]))
    assert report.layers[0].dead == 1
    assert small.values["c.b"] * small.graph["c.b"].scale == pytest.approx(0.1, rel=1e-2)


def test_the_bias_of_a_dead_channel_is_not_lost_behind_large_inputs():
    build = Builder("large", (2, 3, 3))
    y = build.conv("c", build.x, 3, 1, relu=False)
    values = {"c.w": np.zeros((3, 2, 1, 1)), "c.b": np.array([0.25, 0.1, -0.2])}
    network = network_of(build, y, **values)
    samples = 1e6 * samples_of(network)
    small, report = quantize(network, samples)
    assert near(network, small, samples, 1.01) and report.layers[0].error < 0.01


def test_a_bias_stays_within_half_of_its_limit():
    weights = np.array([[1e-8, 2e-8], [1, 2], [3, 4]])[:, :, None, None]
    network = one_layer(**{"c.w": weights, "c.b": np.array([5.0, 1, 1])})
    small, _ = quantize(network, samples_of(network))
    assert BIAS_LIMIT / 2 * 0.999 < small.values["c.b"][0] <= BIAS_LIMIT / 2 * 1.001
    assert np.abs(small.values["c.b"][1:]).max() < 2**20


# ---- joined signals, windows ----------------------------------------------------------------


def joined(form):
    build = Builder("joined", (2, 3, 3))
    left = build.conv("c0", build.x, 2, 1, relu=False)
    right = build.conv("c1", build.x, 3, 1, relu=False)
    if form == "free":
        parts = [left, right]
    elif form == "read elsewhere":
        parts = [left, build.conv("c2", left, 2, 1, relu=False)]
    elif form == "input":
        parts = [build.x, right]
    elif form == "twice":
        parts = [left, left]
    else:
        parts = [build.lookup("t", left, "sigmoid"), right]
    return network_of(build, build.concat("j", parts))


@pytest.mark.parametrize(
    "form, tables", [("free", 0), ("read elsewhere", 1), ("input", 1), ("twice", 1), ("table", 1)]
)
def test_parts_of_a_whole_have_its_scale_by_a_table_where_they_have_their_own(form, tables):
    network = joined(form)
    samples = samples_of(network)
    small, _ = quantize(network, samples)
    graph = small.graph
    node = next(node for node in graph.nodes if node.op == "concat")
    y = graph[node.outputs[0]]
    assert {(graph[n].scale, graph[n].zero_point) for n in node.inputs} == {
        (y.scale, y.zero_point)
    }
    made = [n for n in graph.nodes if n.op == "lookup" and n.attrs["function"] == "identity"]
    assert len(made) == tables and len(set(node.inputs)) == 2
    if form == "read elsewhere":
        values = FloatRun(network)(samples)["c0.y"]
        assert graph["c0.y"].scale == pytest.approx((values.max() - values.min()) / 255)
    assert near(network, small, samples)


def test_each_of_several_wholes_is_joined():
    build = Builder("two", (2, 3, 3))
    first = build.concat("j0", [build.x, build.conv("c0", build.x, 3, 1, relu=False)])
    second = build.concat("j1", [build.conv("c1", first, 2, 1), build.conv("c2", first, 2, 1)])
    network = network_of(build, second)
    samples = samples_of(network)
    small, _ = quantize(network, samples)
    assert [n.attrs["layer"] for n in small.graph.nodes if n.op == "concat"] == ["j0", "j1"]
    assert near(network, small, samples, 4)


def test_a_window_begins_with_the_stored_values_of_what_it_holds():
    build = Builder("stream", (2, 1, 1))
    network = network_of(build, build.window("w", build.x, 4))
    samples = samples_of(network)
    small, _ = quantize(network, samples)
    name = next(t.name for t in small.graph.tensors.values() if t.kind == "state")
    x, y = small.graph["x"], small.graph[name]
    assert (y.scale, y.zero_point) == (x.scale, x.zero_point)
    real = (small.values[name].astype(float) - y.zero_point) * y.scale
    inside = np.clip(network.values[name], -128 * y.scale, 127 * y.scale)
    assert np.abs(real - inside).max() <= y.scale
    assert small.values[name].dtype == np.int8


# ---- refusals -------------------------------------------------------------------------------


def test_shares_outside_of_their_limits_are_refused():
    network = one_layer()
    samples = samples_of(network)
    for percentile in (50, 49, 100.5, 101, math.nan):
        with pytest.raises(GraphError, check=naming("percentile", percentile)):
            quantize(network, samples, percentile=percentile)
    for headroom in (-0.1, 4.1, math.nan):
        with pytest.raises(GraphError, check=naming("headroom", headroom)):
            quantize(network, samples, headroom=headroom)
    for percentile, headroom in ((50.5, 0), (100, 4)):
        quantize(network, samples, percentile, headroom)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e39])
def test_samples_that_are_no_float32_numbers_are_refused(value):
    network = one_layer()
    samples = samples_of(network)
    samples[3, 1, 2, 0] = value
    with pytest.raises(GraphError, match="samples: expected"):
        quantize(network, samples)


def test_samples_of_other_kinds_and_shapes_are_refused():
    network = one_layer()
    for wrong in (np.zeros((0, 2, 3, 3)), np.zeros((2, 3, 3)), np.zeros((4, 3, 3, 2)), "text"):
        with pytest.raises(GraphError, match="samples: expected"):
            quantize(network, wrong)
    with pytest.raises(GraphError, match="expected real numbers, got complex"):
        quantize(network, samples_of(network) * 1j)
    whole = samples_of(network).astype(np.int16)
    assert quantize(network, whole)[0].graph["x"].scale == pytest.approx(np.ptp(whole) / 255)
    with pytest.raises(GraphError, match="quantized already"):
        quantize(quantize(network, samples_of(network))[0], samples_of(network))


def test_agreement_is_the_share_of_samples_with_the_same_largest_output():
    build = Builder("pick", (2, 1, 1))
    network = network_of(
        build, build.dense("fc", build.x, 2),
        **{"fc.w": np.eye(2)[:, :, None, None], "fc.b": np.zeros(2)},
    )  # fmt: skip
    samples = np.array([[1, 0], [0, 1], [0.5, 0.5004], [-1, 1]])[:, :, None, None]
    small, report = quantize(network, samples)
    found = Int8Run(small).predict(small.quantize_input(samples)).argmax(axis=1)
    assert found.tolist() == [0, 1, 0, 1] and report.agreement == 0.75


def test_what_no_integer_holds_is_refused_by_its_layer():
    network = one_layer(**{"c.w": np.full((3, 2, 1, 1), 1e12), "c.b": np.zeros(3)})
    with pytest.raises(
        GraphError, match=r"c\.y: one step of its layer's sums is .* most is 2\^30"
    ):
        quantize(network, 0 * samples_of(network))
    build = Builder("normal", (4, 3, 1))
    network = network_of(build, build.norm("n", build.x, 1e-5))
    with pytest.raises(GraphError, match="x: a normalization over 4 channels, eps 1e-05 on steps"):
        quantize(network, 1e-6 * samples_of(network))


def test_the_report_has_a_line_for_each_layer_with_its_numbers():
    build = Builder("told", (2, 3, 3))
    y = build.lookup("t", build.conv("c", build.x, 3, 1, relu=False), "gelu")
    network = network_of(build, y)
    samples = samples_of(network)
    small, report = quantize(network, samples)
    made = FloatRun(network)(samples)
    for row, name in zip(report.layers, ("c.y", "t.y"), strict=True):
        assert row.step == pytest.approx(small.graph[name].scale / made[name].std())
    assert (report.layers[1].weight_error, report.layers[1].dead) == (0.0, 0)
    first, *lines = str(report).splitlines()
    assert first.split() == "layer range clipped step/std w error error dead".split()
    assert [line.split()[0] for line in lines] == ["c", "t", "same"]


def test_samples_may_have_the_models_own_shape():
    build = Builder("row", (5, 1, 1))
    network = network_of(build, build.dense("fc", build.x, 2))
    samples = samples_of(network)
    wanted, _ = quantize(network, samples)
    found, _ = quantize(network, samples[:, :, 0, 0])
    assert found.graph["fc.y"].scale == wanted.graph["fc.y"].scale


def test_values_of_a_window_at_the_ends_are_kept():
    build = Builder("ends", (1, 1, 1))
    window = build.window("w", build.x, 4)
    name = next(t.name for t in build.tensors.values() if t.kind == "state")
    held = np.reshape([-99.0, 99.0, 0.0, 0.0], build.tensors[name].shape)
    small, _ = quantize(network_of(build, window, **{name: held}), np.ones((2, 1, 1, 1)))
    assert (small.values[name].min(), small.values[name].max()) == (-128, 127)
