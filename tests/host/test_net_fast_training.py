# SPDX-License-Identifier: MIT
"""The fast kernels of the backward pass give the bytes of the plain ones, on any shape."""

import net_kernels_c as kernels
import numpy as np
import pytest

PLAIN, MOMENTUM16, MOMENTUM8, ACCUMULATE, WIDE = range(5)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return kernels.build(tmp_path_factory.mktemp("kernels"), True)


def words_of_channels(rng, case):
    """Give a convolution what the fast kernels take: one group, words of channels, even rows."""
    n = case.numbers
    n |= {"groups": 1, "cin": 4 * int(rng.integers(1, 6)), "cout": 2 * int(rng.integers(1, 6))}
    n["split"] = int(rng.choice([0, 4, n["cin"]]))
    n |= {"x_step": n["cin"], "x_pitch": n["w_in"] * n["cin"]}
    n |= {"y_step": n["cout"], "y_pitch": n["ow"] * n["cout"]}
    again = kernels.multipliers(rng, n["cout"], False)
    case.arrays["multiplier"], case.arrays["shift"] = again
    case.arrays["bias"] = np.zeros(n["cout"], np.int32)
    case.arrays["w"], case.arrays["wt"] = kernels.weights(rng, n, False)


def cases(seed, count, depthwise):
    rng = np.random.default_rng(seed)
    for number in range(count):
        case = kernels.random_case(rng, depthwise)
        if not depthwise and number % 2:
            words_of_channels(rng, case)
        yield case


def as_trained(rng, case):
    """All or some of the channels are trained."""
    n = case.numbers
    depth = n["cout"] if case.is_depthwise else n["cin"] // n["groups"]
    n["split"] = int(rng.integers(1, depth + 1))
    case.arrays["w"], case.arrays["wt"] = kernels.weights(rng, n, False)


@pytest.mark.parametrize("depthwise", [False, True], ids=["convolution", "depthwise"])
def test_gradients_of_the_input_are_those_of_plain_c(library, depthwise):
    for seed, case in enumerate(cases(6, 600, depthwise)):
        plain = kernels.input_gradient(library, case, seed, "plain")
        fast = kernels.input_gradient(library, case, seed, "fast")
        assert np.array_equal(plain[0], fast[0]), case
        assert plain[1] == fast[1], case
        assert np.all(fast[2] == 0x5A5A5A5A), case


def test_a_depthwise_gradient_may_write_over_the_gradient_that_it_reads(library):
    count = 0
    for seed, case in enumerate(cases(7, 3000, True)):
        n = case.numbers
        n |= {"stride_h": 1, "stride_w": 1}
        if n["h"] > n["oh"] or n["w_in"] > n["ow"]:
            continue
        count += 1
        plain = kernels.input_gradient(library, case, seed, "plain")
        fast = kernels.input_gradient(library, case, seed, "fast", in_place=True)
        assert np.array_equal(plain[0], fast[0]), case
    assert count > 300


@pytest.mark.parametrize("depthwise", [False, True], ids=["convolution", "depthwise"])
@pytest.mark.parametrize("optimizer", [PLAIN, MOMENTUM16, MOMENTUM8, ACCUMULATE, WIDE])
def test_updates_of_weights_are_those_of_plain_c(library, depthwise, optimizer):
    rng = np.random.default_rng(8)
    for seed, case in enumerate(cases(9, 500 if optimizer == PLAIN else 150, depthwise)):
        as_trained(rng, case)
        plain = kernels.weight_update(library, case, seed, "plain", optimizer)
        fast = kernels.weight_update(library, case, seed, "fast", optimizer)
        assert np.array_equal(plain[0], fast[0]), case
        assert np.array_equal(plain[1], fast[1]), case
        assert plain[2] == fast[2], case
        assert np.all(fast[3] == 0x5A5A5A5A), case


def test_an_update_with_little_work_gives_the_same(library):
    rng = np.random.default_rng(10)
    for seed, case in enumerate(cases(11, 100, False)):
        words_of_channels(rng, case)
        case.numbers |= {"kh": 3, "kw": 3}
        as_trained(rng, case)
        plain = kernels.weight_update(library, case, seed, "plain")
        fast = kernels.weight_update(library, case, seed, "fast", spare=8)
        assert np.array_equal(plain[0], fast[0]), case
        assert np.all(fast[3] == 0x5A5A5A5A), case


def test_rounding_at_random_is_unbiased(library):
    """A step of a quarter moves one weight in four, whatever the sign of the gradient."""
    rng = np.random.default_rng(12)
    case = next(cases(13, 1, False))
    size = 4096
    case.numbers |= {
        "h": 1, "w_in": 1, "oh": 1, "ow": 1, "kh": 1, "kw": 1, "stride_h": 1, "stride_w": 1,
        "pad_top": 0, "pad_left": 0, "groups": 1, "cin": size, "cout": 2, "split": size,
    }  # fmt: skip
    case.arrays["w"], case.arrays["wt"] = kernels.weights(rng, case.numbers, False)
    case.arrays["wt"] = np.zeros_like(case.arrays["wt"])
    case.arrays["multiplier"], case.arrays["shift"] = kernels.multipliers(rng, 2, False)
    case.arrays["bias"] = np.zeros(2, np.int32)
    for sign in (1, -1):
        moved = kernels.quarter_steps(library, case, sign)
        share = moved.reshape(-1, 2, 4).sum(axis=(0, 2)) / size
        # Four standard errors of a share of a quarter.
        assert np.all(np.abs(share + sign * 0.25) < 4 * np.sqrt(3 / 16 / size)), share
