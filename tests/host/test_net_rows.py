# SPDX-License-Identifier: MIT
"""Order of weight matrices: host and C agree, and nothing is lost."""

import ctypes
import doctest
import shutil
import subprocess

import numpy as np
import pytest

from acclimate_host.compile import rows
from acclimate_host.paths import repository
from harness.errors import naming

SHAPES = [(1, 1), (1, 9), (2, 4), (3, 6), (5, 27), (16, 3), (7, 40)]
SOURCE = """
#include "net_order.h"
uint32_t at(uint32_t n, uint32_t r, uint32_t d, uint32_t k) { return net_weight_at(n, r, d, k); }
uint32_t size(uint32_t n, uint32_t d) { return net_rows_bytes(n, d); }
"""


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("order")
    (folder / "order.c").write_text(SOURCE)
    command = ["gcc", "-shared", "-fPIC", f"-I{repository() / 'native_modules' / 'net'}"]
    subprocess.run([*command, "-o", folder / "order.so", folder / "order.c"], check=True)
    return ctypes.CDLL(str(folder / "order.so"))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_weight_lies_where_the_header_says(order, shape):
    matrix = np.random.default_rng(sum(shape)).integers(-128, 128, shape, np.int8)
    data = rows.pack_rows(matrix)
    assert len(data) == rows.rows_bytes(*shape) == order.size(*shape)
    flat = np.frombuffer(data, np.int8)
    for row, k in np.ndindex(shape):
        assert flat[order.at(shape[0], row, shape[1], k)] == matrix[row, k]


@pytest.mark.parametrize("shape", SHAPES)
def test_unpacking_gives_the_matrix_back(shape):
    matrix = np.random.default_rng(sum(shape)).integers(-128, 128, shape, np.int8)
    assert np.array_equal(rows.unpack_rows(rows.pack_rows(matrix), *shape), matrix)


def test_a_wrong_length_is_refused():
    with pytest.raises(ValueError, check=naming(24, "3 x 6", 23)):
        rows.unpack_rows(bytes(23), 3, 6)


def test_the_example_in_the_documentation_runs():
    assert doctest.testmod(rows).failed == 0
