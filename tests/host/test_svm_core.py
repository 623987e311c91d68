# SPDX-License-Identifier: MIT
"""The SVM solver: pure Python, the C core (twin), scikit-learn, and bad input."""

import os
import random
import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest
from svm_cases import Fit, random_problem, same_everywhere

from acclimate.svm import parameters as p
from acclimate.svm import solver as _svm_py
from acclimate.svm.model import integer_weights
from acclimate_host.paths import built
from acclimate_host.twin import svm as twin_svm
from harness.clock import HANG_S

HERE = Path(__file__).parent
TWIN = twin_svm.load()
CORES = [_svm_py] + ([TWIN] if TWIN else [])
core = pytest.mark.parametrize("core", CORES, ids=["python", "twin"][: len(CORES)])
needs_twin = pytest.mark.skipif(TWIN is None, reason="make twin has not built the C core")
STATES = pytest.mark.parametrize("is_float", [False, True], ids=["fixed", "float"])


@pytest.mark.case("A15")
@needs_twin
@pytest.mark.parametrize("seed", range(8))
def test_fixed_point_in_c_equals_pure_python_bit_for_bit(seed):
    same_everywhere(TWIN, random.Random(seed), 12)


@needs_twin
def test_c_core_is_clean_under_sanitizers():
    library = built("sanitized", "libacclimate_svm.so")
    if not library.exists():
        pytest.skip("make sanitized has not built the C core")
    asan = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    code = (
        "import random, sys; sys.path.insert(0, sys.argv[1]);"
        "from svm_cases import same_everywhere; from acclimate_host.twin import svm as twin_svm;"
        "same_everywhere(twin_svm.load(sys.argv[2]), random.Random(99), 60)"
    )
    environment = dict(
        os.environ,
        LD_PRELOAD=asan,
        ASAN_OPTIONS="detect_leaks=0",
        PYTHONPATH=os.pathsep.join(sys.path),
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(HERE), str(library)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert run.returncode == 0, run.stderr[-3000:]


@core
@STATES
@pytest.mark.parametrize("kernel", [p.LINEAR, p.POLY, p.RBF])
def test_decisions_equal_scikit_learn(core, is_float, kernel):
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    digits = load_digits()
    six, other = digits.data[digits.target == 6][:60], digits.data[digits.target != 6][:60]
    x = np.stack([six, other], 1).reshape(120, 64)
    rows = [k if k % 2 == 0 else ~k for k in range(84)]
    flat = [int(v) for v in x[:84].ravel()]
    fit = Fit(core, flat, rows, 64, p.INT8, kernel, is_float, gamma=0.002, slots=40)
    name = {p.LINEAR: "linear", p.POLY: "poly", p.RBF: "rbf"}[kernel]
    model = SVC(C=1, kernel=name, gamma=0.002, coef0=1.0)
    model.fit(x[:84], [1 if r >= 0 else -1 for r in rows])
    assert fit.status == p.CONVERGED
    ours = np.array([fit.decide([int(v) for v in row]) for row in x[84:]])
    assert ((ours > 0) == (model.predict(x[84:]) > 0)).all()
    if kernel == p.LINEAR:
        w = fit.weights()
        collapsed = np.array([fit.linear(w, [int(v) for v in row]) for row in x[84:]])
        assert ((collapsed > 0) == (ours > 0)).all()


@core
def test_integer_weights_decide_as_the_float_ones(core):
    generator = random.Random(7)
    x, rows = random_problem(generator, p.INT8, 30, 7)
    fit = Fit(core, x, rows, 7, p.INT8, p.LINEAR, True)
    w = fit.weights()
    q = integer_weights(w, 7)
    out = array("i", [0])
    for _ in range(50):
        row = [generator.randint(-128, 127) for _ in range(7)]
        core.linear(out, 0, q, array("b", row), p.INT8)
        exact = fit.linear(w, row)
        assert abs(out[0] * 2.0 ** -q[0] - exact) < 1e-3 * max(1.0, abs(exact))


@core
@STATES
def test_cached_rows_and_step_size_do_not_change_the_result(core, is_float):
    x, rows = random_problem(random.Random(3), p.INT8, 20, 5)
    first = Fit(core, x, rows, 5, p.INT8, p.RBF, is_float)
    second = Fit(core, x, rows, 5, p.INT8, p.RBF, is_float, slots=20, iters=1)
    assert first.state == second.state


@core
@STATES
def test_contradicting_rows_end_with_all_alphas_at_c(core, is_float):
    fit = Fit(core, [0, 0, 1, 1], [~0, 1, ~2, 3], 1, p.INT8, p.LINEAR, is_float)
    scale = 1.0 if is_float else 2.0 ** fit.par[p.SCALE]
    assert [round(abs(a) / scale, 6) for a in fit.alphas] == [1.0, 1.0, 1.0, 1.0]
    assert abs(fit.work[p.BIAS]) < (1e-6 if is_float else 2)


@core
@STATES
@pytest.mark.parametrize("c", [1e-3, 1.0, 1e4])
def test_any_tolerance_ends(core, is_float, c):
    x, rows = random_problem(random.Random(4), p.INT16, 16, 3)
    fit = Fit(core, x, rows, 3, p.INT16, p.LINEAR, is_float, c=c, eps=1e-12, cap=3000)
    assert fit.status in (p.CONVERGED, p.NO_PROGRESS, p.CAPPED)


@core
@STATES
def test_warm_start_from_the_optimum_stays_there(core, is_float):
    x, rows = random_problem(random.Random(5), p.INT8, 24, 4)
    cold = Fit(core, x, rows, 4, p.INT8, p.RBF, is_float)
    warm = Fit(core, x, rows, 4, p.INT8, p.RBF, is_float, warm=cold.alphas)
    assert warm.status == p.CONVERGED
    assert warm.work[p.N_ITER] <= 2


@core
@STATES
def test_warm_alphas_outside_their_bounds_are_repaired(core, is_float):
    x, rows = random_problem(random.Random(6), p.INT8, 12, 4)
    wild = [(1 << 30) * (1 if k % 3 else -1) for k in range(12)]
    fit = Fit(core, x, rows, 4, p.INT8, p.RBF, is_float, warm=wild)
    assert fit.status == p.CONVERGED
    assert abs(sum(fit.alphas)) < (1e-4 if is_float else 1)


@core
@STATES
def test_bad_buffers_are_refused_and_left_alone(core, is_float):
    code = "f" if is_float else "i"
    par = array(code, [0] * p.PAR_COUNT)
    (p.fill_float if is_float else p.fill_fixed)(par, 1, p.INT8, p.LINEAR, 1.0, 1.0, 1e-3, 10)
    work = array(code, [7] * (core.work_words(2, is_float, 2) - 1))
    x = array("b", [1, 2])
    assert core.start(work, x, array("h", [0, ~1]), par) == p.WORK_TOO_SMALL
    assert set(work) == {7}
    work.append(7)
    assert core.start(work, x, array("h", [0, 1]), par) == p.BAD_ARGUMENT
    assert set(work) == {7}


@needs_twin
def test_rows_outside_the_store_and_unaligned_rows_are_refused():
    par = array("f", [0] * p.PAR_COUNT)
    work = array("f", [0] * TWIN.work_words(2, True, 2))
    p.fill_float(par, 1, p.INT8, p.LINEAR, 1.0, 1.0, 1e-3, 10)
    assert TWIN.start(work, array("b", [1, 2]), array("h", [0, ~2]), par) == p.BAD_ARGUMENT
    par[p.XTYPE] = p.INT16
    view = memoryview(bytearray(9))[1:]
    assert TWIN.start(work, view, array("h", [0, ~1]), par) == p.UNALIGNED


@core
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_numbers_that_are_not_finite_are_reported(core, bad):
    fit = Fit(core, [1.0, bad, -1.0], [0, 1, ~2], 1, p.FLOAT32, p.LINEAR, True)
    assert fit.status == p.NON_FINITE


@pytest.mark.case("I12")
@core
def test_votes_prefer_the_lowest_class_in_a_tie(core):
    assert core.vote(array("i", [1, -1, 1]), 3) == 0
    assert core.vote(array("f", [-0.5, -1.0, 2.0]), 3) == 1
    assert core.vote(array("f", [0.5, -1.0, -2.0]), 3) == 2


@pytest.mark.case("B7")
@pytest.mark.parametrize(
    ("arch", "name", "limit"),
    [
        ("armv6m", "_svm", 9216),
        ("armv7emsp", "_svm", 8192),
        ("armv7emsp", "_svm_fit", 12288),
        ("armv6m", "_svm_linear", 2560),
    ],
)
def test_module_size_stays_inside_its_limit(arch, name, limit):
    path = built("native", arch, name + ".mpy")
    if not path.exists():
        pytest.skip("make native has not built " + arch)
    assert path.stat().st_size <= limit


@core
@pytest.mark.parametrize("kernel", [p.LINEAR, p.POLY, p.RBF])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 3e38])
def test_a_start_that_failed_stays_failed(core, bad, kernel):
    """A step after it must not say that nothing, which it has, has converged."""
    fit = Fit(core, [1.0, bad, -1.0], [0, 1, ~2], 1, p.FLOAT32, kernel, True)
    if fit.status != p.NON_FINITE:
        assert kernel == p.RBF and bad == 3e38
        return
    assert core.step(fit.work, fit.x, fit.rows, fit.par, 10) == p.NON_FINITE


@core
@pytest.mark.parametrize("kernel", [p.LINEAR, p.POLY, p.RBF])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_decision_that_is_not_finite_is_reported(core, bad, kernel):
    fit = Fit(core, [1.0, 2.0, -1.0], [0, 1, ~2], 1, p.FLOAT32, kernel, True)
    row, out = array("f", [bad]), array("f", [0])
    assert core.decide(out, 0, fit.alphas, fit.rows, fit.x, row, fit.par, fit.work[p.BIAS]) == 3
    if kernel == p.LINEAR:
        assert core.linear(out, 0, fit.weights(), row, p.FLOAT32) == p.NON_FINITE


@core
def test_integer_weights_give_a_real_value_where_that_is_asked_for(core):
    fit = Fit(core, [3, 9, -4, 7], [0, ~1], 2, p.INT8, p.LINEAR, True)
    q, row = integer_weights(fit.weights(), 2), array("b", [5, -6])
    whole, real = array("i", [0, 0]), array("f", [0, 0])
    for pos in (0, 1):
        assert core.linear(whole, pos, q, row, p.INT8) == 0
        assert core.linear(real, pos, q, row, p.INT8) == 0
    assert whole[0] == whole[1] != 0
    core.vote(real, -1)
    assert real[0] == -real[1]
    for k in range(2):  # rounded once, to nearest even
        assert abs(real[k]) == abs(np.float32(whole[k])) * np.float32(2.0 ** -q[0])


@pytest.mark.parametrize("order", ["machine twin", "twin machine"])
def test_the_core_in_c_trains_whichever_is_imported_first(order):
    lines = {
        "machine": "import acclimate.svm.machine",
        "twin": "import acclimate_host.twin.svm",
    }
    text = "\n".join(
        [*(lines[name] for name in order.split()), "from acclimate.svm import model"]
        + ["print([type(model.core_for(fixed)).__name__ for fixed in (False, True)])"]
    )
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert found.stdout.split() == ["['Twin',", "'Twin']"]
