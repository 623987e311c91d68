# SPDX-License-Identifier: MIT
"""Factors as integers against exact fractions, and the layers that stand in for a ReLU."""

import math
from fractions import Fraction

import numpy as np
import pytest

from acclimate_host.model.build import Builder
from acclimate_host.model.clamps import (
    SCALE,
    WEIGHT,
    clamp_name,
    clamped_nodes,
    inside_float,
    inside_limits,
    inside_name,
    one_weight_layer,
)
from acclimate_host.model.factors import (
    MULTIPLIER_ONE,
    even_shift,
    multiplier,
    multipliers,
    requantize,
    round_shift,
)
from acclimate_host.model.graph import GraphError
from acclimate_host.model.network import with_scales
from harness.errors import naming

ODD = (-9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 123456, -654321)


def away(fraction):
    """Return a fraction to the nearest whole number, halves away from zero."""
    whole = math.floor(abs(fraction) + Fraction(1, 2))
    return whole if fraction >= 0 else -whole


# ---- factors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "factor", [1.0, 0.5, 1 / 3, 0.9999999999, 1e-9, 2.0**-31, 123.4, 2.0**29.9]
)
def test_a_factor_is_the_nearest_one_of_31_bits(factor):
    m, shift = multiplier(factor)
    assert MULTIPLIER_ONE == 2**31 and 2**30 <= m < 2**31
    got = Fraction(m) * Fraction(2) ** (shift - 31)
    step = Fraction(2) ** (shift - 31)
    assert abs(got - Fraction(factor)) <= step / 2
    found = multipliers([[factor, 0.5]])
    assert [list(map(int, part)) for part in found] == [[m, 2**30], [shift, 0]]


def test_factors_at_the_ends():
    assert multiplier(1 - 2.0**-40) == (2**30, 1)  # it rounds up to 1
    assert multiplier(0.75) == (3 * 2**29, 0)
    assert multiplier(2.0**-32) == (2**30, -31)
    assert multiplier(2.0**-33) == (0, 0)
    assert multiplier(float(np.nextafter(2.0**30, 0)))[1] == 31
    for wrong in (0.0, -1.0, 2.0**30, math.inf, math.nan):
        with pytest.raises(GraphError, check=naming("factor", repr(wrong))):
            multiplier(wrong)


@pytest.mark.parametrize("e", [0, 1, 2, 5, 31])
def test_a_shift_rounds_halves_away_from_zero_or_to_even(e):
    for x in ODD:
        exact = Fraction(x, 2**e)
        assert round_shift(np.int64(x), e) == away(exact)
        assert even_shift(x, e) == round(exact)
    array = np.array(ODD)
    assert even_shift(array, e).tolist() == [round(Fraction(x, 2**e)) for x in ODD]
    assert round_shift(array, e).tolist() == [away(Fraction(x, 2**e)) for x in ODD]


@pytest.mark.parametrize("shift", [-9, -1, 0, 1, 3])
def test_a_sum_is_multiplied_in_two_roundings_within_32_bits(shift):
    random = np.random.default_rng(shift + 20)
    for m in (2**30, 2**31 - 1, int(random.integers(2**30, 2**31))):
        for x in (*ODD, 2**26, -(2**26), 2**31 - 1, -(2**31)):
            wide = x << max(shift, 0)
            wide = (wide + 2**31) % 2**32 - 2**31  # as a register holds it
            high = math.floor(Fraction(wide * m, 2**31) + Fraction(1, 2))
            assert requantize(x, m, shift) == away(Fraction(high, 2 ** max(-shift, 0)))
    x, m = np.array([[5, -7], [100, -100]]), np.array([[2**30], [2**31 - 1]])
    both = requantize(x, m, np.array([[0], [-1]]))
    assert both.tolist() == [[3, -3], [50, -50]]


# ---- a ReLU that is no layer's --------------------------------------------------------------


def graph_of(limit, scale=0.1, zero=-100):
    net = Builder("clamped", (3, 2, 2))
    y = net.add("a", net.x, net.conv("c", net.x, 3, 1, relu=True))
    assert net.clamp(y, limit)
    y = net.add("plain", y, net.x)
    return with_scales(net.finish(y), {"a.y": (scale, zero)})


def test_sums_with_a_relu_are_found_and_layers_are_not():
    graph = graph_of(6.0)
    (node,) = clamped_nodes(graph)
    assert node.attrs["layer"] == "a"
    assert (inside_name("a"), clamp_name("a")) == ("a.inside", "a.clamp")


@pytest.mark.parametrize(
    "limit, scale, zero, wanted",
    [
        (6.0, 0.1, -100, (-99, -41)),
        (6.0, 0.1, 67, (68, 126)),  # cut at 127
        (6.0, 0.1, 68, (69, 127)),  # 128 is beyond what is stored: nothing is cut there
        (math.inf, 0.1, -128, (-127, 127)),
        (0.4, 0.1, 0, (1, 3)),
    ],
)
def test_inside_is_what_a_limit_did_not_touch(limit, scale, zero, wanted):
    graph = graph_of(limit, scale, zero)
    assert inside_limits(graph, clamped_nodes(graph)[0]) == wanted


@pytest.mark.parametrize("limit", [6.0, 0.5, math.inf])
def test_inside_in_float32_is_above_0_and_below_the_limit(limit):
    low, high = np.frombuffer(inside_float(clamped_nodes(graph_of(limit))[0]), "<f4")
    assert low > 0 and np.nextafter(low, np.float32(0)) < np.finfo("f4").tiny
    if math.isinf(limit):
        assert math.isinf(high)
    else:
        assert high < limit and np.nextafter(high, np.float32(99)) == limit


@pytest.mark.parametrize("is_float", [True, False])
def test_the_layer_that_stands_in_gives_each_element_back(is_float):
    graph = graph_of(4.0, *((None, None) if is_float else (0.1, -100)))
    made, layer = one_weight_layer(graph, clamped_nodes(graph)[0], "a.clamp")
    assert WEIGHT * SCALE == 1 and made.nodes == (layer,) and made.name == "a.clamp"
    assert layer.op == "conv" and layer.inputs == ("a.y", "a.clamp.w", "a.clamp.b")
    assert layer.outputs == ("a.y",)
    assert layer.attrs == {
        "layer": "a.clamp", "kernel": 1, "stride": 1, "pad": 0, "groups": 3,
        "relu": True, "limit": 4.0,
    }  # fmt: skip
    assert made["a.y"] == graph["a.y"]
    assert made["a.clamp.w"].shape == (3, 1, 1, 1)
    assert made["a.clamp.w"].scale == (None if is_float else SCALE)
    assert (made["a.clamp.b"].shape, made["a.clamp.b"].dtype) == ((3,), "int32")
