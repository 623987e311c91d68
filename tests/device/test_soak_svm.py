# SPDX-License-Identifier: MIT
"""The native solvers and networks bear being called for long, and being collected around."""
# RUNTIMES = ("desktop-native", "desktop-f32", "nrf52840", "esp32", "rv32")

from array import array

import soak
from net_vectors_mlp import INPUTS, PROGRAM, WEIGHTS

from acclimate import _native
from acclimate.net import Net
from acclimate.svm import parameters as p
from acclimate.svm import small as svm_small


def test_every_function_of_svm():  # case: A10, A11
    core = _native.load("svm")
    if core is None:
        return "no native module here"
    rows = array("h", [0, ~1, 2, ~3])
    x, row = array("b", [1, 2, -3, -4, 5, 6, -7, -8]), array("b", [9, 9])
    is_float, code, bias = True, "f", 0.0
    par, work = problem(core, is_float, code)
    if core.start(work, x, rows, par) < 0:  # a module for a core without a floating-point unit
        is_float, code, bias = False, "i", 0
        par, work = problem(core, is_float, code)
        assert core.start(work, x, rows, par) >= 0
    while core.step(work, x, rows, par, 10) == p.RUNNING:
        pass
    beta, fresh = work[p.HEAD : p.HEAD + 4], array(code, work)
    w, out = array(code, [0] * 4), array(code, [0])
    core.collapse(w, work, x, rows, par)
    head = (2, p.INT8, 0 if is_float else 1, b"\3\5", array(code, [0]), array("b", [0, 0]))
    head += (None, None)
    model = core.model(None, head, [w])
    answers, spans = bytearray(4), array("f", [0.0, 0.0])
    answering = {
        "model": ((None, head, [w]), lambda made: made(row) == 3),
        "predict_many": ((model, x, answers), lambda count: count >= 0 and answers[0] == 3),
        "linear": ((out, 0, w, row, p.INT8), lambda _: out[0] > 0),
        "decide": ((out, 0, beta, rows, x, row, par, bias), lambda _: out[0] > 0),
        "vote": ((array("i", [1, -1, 1]), 3), lambda label: label == 0),
    }
    cases = {
        "store": ((array("b", [0, 0]), 0, [1, 2], 2), lambda stored: stored),
        "work_words": ((4, is_float, 4), lambda n: n == len(work)),
        "start": ((fresh, x, rows, par), lambda status: status == p.RUNNING),
        "step": ((work, x, rows, par, 1), lambda status: status == p.CONVERGED),
        "collapse": ((w, work, x, rows, par), lambda status: status == 0),
    }
    if hasattr(core, "widen"):
        arguments = (spans, array("f", spans), [1.5, 2], array("f", spans))
        cases["widen"] = (arguments, lambda kind: kind == 0)
    cases.update(answering)
    soak.call(core, cases)
    fit = _native.load("svm_fit")
    if fit is not None:
        codes = (array, "b", "B", "h", "f", "i")
        options = (p.LINEAR, -1, 1.0, None, 0.0, 3, 1e-3, 100)
        cases = {"fit": ((x, b"\0\1\0\1", codes, options), trained)}
        cases["gamma"] = ((x, p.INT8, 2), lambda gamma: gamma > 0)
        soak.call(fit, cases)


def trained(run):
    found = None
    while found is None:
        found = run()
    return found[0] == b"\0\1"


def problem(core, is_float, code):
    par = array(code, [0] * p.PAR_COUNT)
    fill = p.fill_float if is_float else p.fill_fixed
    fill(par, 2, p.INT8, p.LINEAR, 1.0, 1.0, 1e-3, 100)
    return par, array(code, [0] * core.work_words(4, is_float, 4))


def test_a_small_machine_and_a_network():  # case: A10, A11
    if not svm_small.native or _native.load("net") is None:
        return "no native module here"
    X = bytearray([10, 1, 12, 2, 250, 200, 240, 220])
    small = svm_small.SVM(arena=bytearray(200))
    small.fit(X[:8], bytes([0, 0, 1, 1]))
    row = X[:2]
    net, x = Net(bytearray(PROGRAM), WEIGHTS), INPUTS[0]
    soak.collected(None)
    label = small.predict(row), net.predict(x)
    for _ in range(soak.CALLS * soak.SHARE // 100):
        assert (small.predict(row), net.predict(x)) == label
