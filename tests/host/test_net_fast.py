# SPDX-License-Identifier: MIT
"""Fast kernels give the bytes of the plain ones, on any shape, and stay in their buffers."""

import net_kernels_c as kernels
import numpy as np
import pytest

CASES = 800


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    return [kernels.build(tmp_path_factory.mktemp("kernels"), dsp) for dsp in (False, True)]


@pytest.fixture(scope="module", params=[0, 1], ids=["plain columns", "Cortex-M4 columns"])
def library(request, libraries):
    return libraries[request.param]


def same(library, case):
    want, mask, _ = kernels.run(library, case, "plain")
    got, fast_mask, behind = kernels.run(library, case, "fast")
    assert np.array_equal(want, got), case
    assert mask is None or np.array_equal(mask, fast_mask), case
    assert np.all(behind == 0x5A5A), case


@pytest.mark.slow
@pytest.mark.parametrize("depthwise", [False, True], ids=["convolution", "depthwise"])
def test_any_shape_gives_the_bytes_of_the_plain_kernel(library, depthwise):
    rng = np.random.default_rng(4)
    for _ in range(CASES):
        same(library, kernels.random_case(rng, depthwise))


def test_a_depthwise_layer_may_write_over_its_input(library):
    rng = np.random.default_rng(5)
    count = 0
    while count < 300:
        case = kernels.random_case(rng, True)
        n = case.numbers
        if case.rule or n["oh"] > n["h"] or n["ow"] > n["w_in"]:
            continue
        count += 1
        n |= {"y_step": n["x_step"], "y_pitch": n["x_pitch"]}
        case.first, case.end = 0, n["cout"]
        want, _, _ = kernels.run(library, case, "plain")
        got, _, _ = kernels.run(library, case, "fast", in_place=True)
        rows = np.arange(n["oh"])[:, None, None] * n["y_pitch"]
        at = rows + np.arange(n["ow"])[:, None] * n["y_step"] + np.arange(n["cout"])
        assert np.array_equal(want[at], got[at]), case


@pytest.mark.parametrize("taps", [1, 9])
def test_the_largest_sums_come_out_whole(library, taps):
    """-128 * -255 over 2048 channels, and the other way, beside a bias near 2^30."""
    rng = np.random.default_rng(taps)
    edge = 1 if taps == 1 else 3
    for value, weight, sign in ((-128, -128, 1), (-128, 127, -1), (127, -128, -1)):
        case = kernels.random_case(rng, False)
        case.numbers |= {
            "h": edge, "w_in": edge, "cin": 2048, "cout": 3, "groups": 1, "split": 4,
            "kh": edge, "kw": edge, "oh": 1, "ow": 1, "pad_top": 0, "pad_left": 0,
            "x_step": 2048, "x_pitch": 2048 * edge, "y_step": 3, "y_pitch": 3,
            "zero_x": 127 if value < 0 else -128, "low": -128, "high": 127,
        }  # fmt: skip
        case.rule, case.first, case.end = None, 0, 3
        w, wt = kernels.weights(rng, case.numbers, False)
        case.arrays = {
            "x": np.full(edge * edge * 2048, value, np.int8),
            "w": np.full_like(w, weight),
            "wt": np.full_like(wt, weight),
            "bias": np.full(3, sign * (1 << 30), np.int32),
            "multiplier": np.array([1 << 30, (1 << 31) - 1, 0x5A5A5A5A], np.int32),
            "shift": np.array([-24, -25, 0], np.int8),
        }
        same(library, case)
