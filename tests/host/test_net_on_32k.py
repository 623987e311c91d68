# SPDX-License-Identifier: MIT
"""A small MLP trains, and a small convolutional net its biases, on the emulated 32 KB board."""

import os

import pytest
from test_store_on_32k import ELF, functions

from acclimate_host.connect import open_board, package, why_not
from acclimate_host.errors import BoardError
from acclimate_host.paths import built
from harness.runtimes import DEVICE_TESTS

FILES = ("test_net_mlp", "test_net_conv", "test_net_pools")
_START = """
import gc
import _net_dense
from acclimate import _native
_native.register('net_dense', _net_dense)
import {file}
print({file}.{name}(), gc.mem_free())
"""


@pytest.fixture(scope="module")
def board():
    native = built("native", "armv6m", "_net_dense.mpy")
    reason = why_not("samd21")
    for path in (ELF, native):
        reason = reason or (None if path.exists() else f"{path.name} is not built")
    if reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with open_board("samd21", elf=ELF) as opened:
        opened.put_bytes(native.read_bytes(), "/_net_dense.mpy")
        vectors = ("net_vectors_mlp", "net_vectors_biases", "net_vectors_pools")
        for name in (*FILES, "net_checks", *vectors):
            source = DEVICE_TESTS / (name + ".py")
            opened.put_bytes(package.compile_file(source, source.name), f"/{name}.mpy")
        yield opened


@pytest.mark.parametrize("file,name", [(f, n) for f in FILES for n in functions(f)])
def test_networks_in_32_kb(board, file, name):
    board.soft_reset()
    try:
        answer = board.exec(_START.format(file=file, name=name))
    except BoardError as error:
        pytest.fail(f"{error.output}{error.traceback}", pytrace=False)
    assert answer.startswith("None")
