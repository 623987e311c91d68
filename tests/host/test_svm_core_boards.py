# SPDX-License-Identifier: MIT
"""The solver on the emulated boards gives the bits of the C core on the host, SMLAD or not."""

import os
import random

import pytest
from svm_cases import Fit, random_problem

from acclimate.svm import parameters as p
from acclimate_host.connect import open_board, why_not
from acclimate_host.paths import built
from acclimate_host.twin import svm as twin_svm

SCRIPT = """
from array import array
import {module} as core
x = array({code!r}, {x})
rows = array('h', {rows})
par = array({state!r}, {par})
work = array({state!r}, [0] * core.work_words({n}, {is_float}, 2))
status = core.start(work, x, rows, par)
while status == 0:
    status = core.step(work, x, rows, par, 5)
print(status, bytes(memoryview(work)[:{words}]).hex())
"""


def run_on_board(board, module, fit):
    """Status and head, alphas and gradient in hex, from the board."""
    is_float = fit.work.typecode == "f"
    par = array_before_start(fit)
    words = p.HEAD + 2 * len(fit.rows)
    text = SCRIPT.format(
        module=module,
        code=fit.x.typecode,
        x=list(fit.x),
        rows=list(fit.rows),
        state=fit.work.typecode,
        par=par,
        n=len(fit.rows),
        is_float=is_float,
        words=words,
    )
    return board.exec(text).split(), words


def array_before_start(fit):
    par = list(fit.par)
    par[p.K_SHIFT] = par[p.K_STEPS] = par[p.K_EXP] = 0
    return par


@pytest.mark.case("K9")
@pytest.mark.parametrize(
    ("name", "arch", "module", "is_float"),
    [
        ("nrf52840", "armv7emsp", "_svm", True),
        ("nrf52840", "armv7emsp", "_svm_q16", False),
        ("samd21", "armv6m", "_svm", False),
        ("esp32", "xtensawin", "_svm", False),
    ],
)
def test_board_and_twin_agree_bit_for_bit(name, arch, module, is_float):
    twin, file = twin_svm.load(), built("native", arch, module + ".mpy")
    reason = why_not(name) or (None if twin and file.exists() else "the core was not built")
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    generator = random.Random(11)
    with open_board(name) as board:
        board.put_bytes(file.read_bytes(), module + ".mpy")
        for xtype, kernel, d in (
            (p.INT8, p.LINEAR, 8),
            (p.INT8, p.RBF, 7),
            (p.UINT8, p.POLY, 5),
            (p.INT16, p.LINEAR, 3),
        ):
            x, rows = random_problem(generator, xtype, 12, d)
            fit = Fit(twin, x, rows, d, xtype, kernel, is_float, gamma=1e-4, cap=300)
            (status, bits), words = run_on_board(board, module, fit)
            assert int(status) == fit.status
            assert bits == bytes(fit.work)[: 4 * words].hex(), (xtype, kernel)
