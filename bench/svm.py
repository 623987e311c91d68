# SPDX-License-Identifier: MIT
"""SVM: agreement with scikit-learn, instructions, bytes, against Algorithm 1 in the same run.

Instructions are counted by QEMU on the emulated boards: no cycles, no milliseconds.
"""

import sys
from array import array

import numpy as np

from acclimate.svm import parameters as p
from acclimate.svm import solver as _svm_py
from acclimate_host import boards
from acclimate_host.paths import built, repository
from bench import common, svm_accuracy, svm_api, svm_board, svm_core, svm_predict_only, svm_steps
from bench.svm_tasks import TASKS

BOARDS = {"m4f": ("nrf52840", "armv7emsp"), "m0": ("samd21", "armv6m")}
# Cached kernel rows of the Gram runs: all that training asks for, as far as memory allows.
GRAM_SLOTS = {"m4f": 48, "m0": 28}
PAPER_IDLE_PASSES = 10_000
TARGETS = [
    ("agree.iris", "=", 1.0),
    ("agree.digits", "=", 1.0),
    ("objective_gap.iris", "<=", 1e-3),
    ("objective_gap.digits", "<=", 1e-3),
    ("accuracy.same_labels", "=", 1.0),
    ("instructions.m4f.iris", "<=", 45_000),
    ("instructions.m4f.digits_gram", "<=", 900_000),
    ("instructions.m4f.digits", "<=", 3_000_000),
    ("instructions.m0.iris", "<=", 200_000),
    ("instructions.m0.digits_gram", "<=", 4_000_000),
    ("instructions.m0.digits", "<=", 9_000_000),
    ("predict.m4f", "<=", 250),
    ("predict.m0", "<=", 700),
    ("predict.m4f_api", None, None),
    ("api.predict.m4f", "<=", 1_500),
    ("api.predict_list.m4f", "<=", 8_000),
    ("api.predict_float.m4f", "<=", 4_000),
    ("api.predict_many.m4f", "<=", 450),
    ("api.fit.iris.m4f", "<=", 200_000),
    ("api.fit.digits_int8.m4f", "<=", 1_300_000),
    ("api.fit.digits_float32.m4f", "<=", 3_000_000),
    ("api.fit.digits_list.m4f", "<=", 6_000_000),
    ("api.first_fit.m4f", "<=", 6_000_000),
    ("api.features.m4f", "<=", 60_000),
    ("api.predict.m0", None, None),
    ("api.predict_list.m0", None, None),
    ("api.predict_many.m0", None, None),
    ("api.fit.iris.m0", None, None),
    ("api.predict.esp32", "<=", 2_250),
    ("api.predict_list.esp32", "<=", 12_000),
    ("api.predict_float.esp32", "<=", 6_000),
    ("api.predict_many.esp32", "<=", 675),
    ("api.fit.iris.esp32", "<=", 300_000),
    ("api.fit.digits_int8.esp32", "<=", 1_950_000),
    ("api.fit.digits_float32.esp32", "<=", 4_500_000),
    ("api.fit.digits_list.esp32", "<=", 9_000_000),
    ("api.first_fit.esp32", "<=", 9_000_000),
    ("api.features.esp32", "<=", 90_000),
    ("api.predict_only.ram.nrf52840", "<=", 8_192),
    ("api.predict_only.linear.nrf52840", "<=", 8_192),
    ("api.predict_only.scaled.nrf52840", "<=", 8_192),
    ("api.predict_only.files.nrf52840", "<=", 3),
    ("api.predict_only.ram.samd21", "<=", 7_168),
    ("api.predict_only.linear.samd21", "<=", 4_096),
    ("predict.m0_api", None, None),
    ("memory.m0.data_bytes", "<=", 8192),
    ("memory.m0.data_bytes_gram", "<=", 15360),
    ("memory.m0.peak_heap_bytes", None, None),
    ("memory.m0.peak_heap_bytes_with_small_svm", None, None),
    ("steps.m4f_max_instructions", "<=", 2_500_000),
    ("steps.m4f_python_max_instructions", "<=", 2_500_000),
    ("steps.m0_max_instructions", "<=", 1_500_000),
    ("size.armv6m", "<=", 9216),
    ("size.armv6m_linear", "<=", 2560),
    ("size.armv7emsp", "<=", 8192),
    ("size.armv7emsp_fit", "<=", 12288),
    ("core.rbf_predict.m4f", "<=", 18_000),
    ("core.rbf_train_ratio.m4f", "<=", 0.95),
    ("core.uint8_ratio.m4f", "<=", 1.01),
    ("size.armv6m_predict", "<=", 5120),
    ("size.armv7emsp_predict", "<=", 4608),
    ("size.xtensawin", None, None),
    ("energy.m4f.digits_j", None, None),
    ("energy.m0.digits_j", None, None),
    ("ratio.alg1_10.m4f_digits", None, None),
    ("ratio.alg1_10000.m4f_digits", None, None),
    ("ratio.alg1_10.m0_digits", None, None),
    ("ratio.alg1_10000.m0_digits", None, None),
]


def solve(core, task, is_float, xtype):
    """Train with one core; (decisions of the test rows, dual objective)."""
    n = task.n_train
    rows, par = task.rows(), task.par(is_float, xtype)
    work = array("f" if is_float else "i", [0] * core.work_words(n, is_float, 2))
    if xtype == p.FLOAT32:
        x = array("f", (task.x / task.scale).astype(np.float32).ravel().tolist())
        unit = 1.0
    else:
        x = array("b", task.x.ravel().tolist())
        unit = float(task.scale**2)
    status = core.start(work, x, rows, par)
    while status == p.RUNNING:
        status = core.step(work, x, rows, par, 1000)
    beta = work[p.HEAD : p.HEAD + n]
    out = array("f" if is_float else "i", [0])
    decisions = []
    for k in range(n, len(task.x)):
        row = x[k * task.d : (k + 1) * task.d]
        core.decide(out, 0, beta, rows, x, row, par, work[p.BIAS])
        decisions.append(1 if out[0] > 0 else -1)
    scale = 1.0 if is_float else 2.0 ** par[p.SCALE]
    return np.array(decisions), task.objective(np.array(beta, float) / scale * unit)


def accuracy(result):
    """Decisions and dual objective of every state against scikit-learn."""
    for task in TASKS:
        model = task.reference()
        right = model.predict(task.x[task.n_train :] / task.scale)
        best = task.reference_objective(model)
        for is_float, xtype in ((True, p.FLOAT32), (True, p.INT8), (False, p.INT8)):
            decisions, objective = solve(_svm_py, task, is_float, xtype)
            same = float(np.mean(decisions == right))
            gap = abs(objective - best) / best
            result["agree"][task.name] = min(result["agree"].get(task.name, 1.0), same)
            worst = max(result["objective_gap"].get(task.name, 0.0), gap)
            result["objective_gap"][task.name] = worst


def native(arch, name="_svm"):
    return built("native", arch, name + ".mpy")


def board_runs(result):
    """Training and prediction on the emulated boards, and Algorithm 1 on the same."""
    for key, (board, arch) in BOARDS.items():
        # Beside its samples and a kernel matrix the 32 KB board has room for the small build only.
        module = "_svm_linear" if arch == "armv6m" else "_svm"
        is_float = arch != "armv6m"
        counts = result["instructions"][key] = {}
        for task in TASKS:
            slots = {"": 8, "_gram": GRAM_SLOTS[key]} if task.name == "digits" else {"": 8}
            for suffix, count in slots.items():
                run = svm_board.train(board, task, native(arch, module), module, is_float, count)
                result["runs"][f"{key}.{task.name}{suffix}"] = run
                counts[task.name + suffix] = run["instructions"]
                result["agree"][task.name] = min(result["agree"][task.name], run["agree"])
            if arch == "armv6m":
                result["runs"][f"{key}_full.{task.name}"] = svm_board.train(
                    board, task, native(arch), "_svm", is_float, 8
                )
        result["predict"][key] = result["runs"][key + ".digits"]["predict"]
        compare(result, key, board, arch)


def compare(result, key, board, arch):
    """Ratios of Algorithm 1 to ours without a kernel matrix, 10 and 10 000 idle passes."""
    reference = common.build_module("svm_ref", arch)
    for task in TASKS:
        run = svm_board.algorithm_1(board, task, reference)
        more = PAPER_IDLE_PASSES - 10
        run["instructions_10000"] = run["instructions_10"] + more * run["instructions_idle_pass"]
        result["runs"][f"{key}.{task.name}_algorithm1"] = run
        ours = result["instructions"][key][task.name]
        name = f"{key}_{task.name}"
        result["ratio"]["alg1_10"][name] = run["instructions_10"] / ours
        result["ratio"]["alg1_10000"][name] = run["instructions_10000"] / ours


def energy(result):
    """Energy of one training at one instruction a cycle: a lower bound, of the chip alone."""
    for key, name in (("m4f", "feather_nrf52840"), ("m0", "metro_m0_express")):
        board = boards.load(name)
        result["energy"][key] = {
            "board": name,
            "source": board.figures["power.active_current_a"].source,
            **{
                task + "_j": board.energy_j(count / board.value("clock_hz"))
                for task, count in result["instructions"][key].items()
            },
        }


def memory(result):
    plain, gram = (result["runs"]["m0.digits" + suffix] for suffix in ("", "_gram"))
    result["memory"]["m0"] = {
        "data_bytes": plain["data_bytes"],
        "data_bytes_gram": gram["data_bytes"],
        "peak_heap_bytes": plain["peak_heap_bytes"],
        "peak_heap_bytes_gram": gram["peak_heap_bytes"],
        "peak_heap_bytes_with_small_svm": result["steps"]["cases"]["m0"]["peak_heap_bytes"],
        "how": "native code, samples, solver state and garbage; gc.mem_alloc after every 8 solver "
        "steps, collections off (with small_svm: after every step, collections on)",
    }


def steps(result):
    """The longest step of `fit_steps` on each board, native and in Python."""
    found = svm_steps.measure()
    result["steps"] = {"cases": found}
    for key, names in (
        ("m4f", [n for n in found if n.startswith("m4f") and "python" not in n]),
        ("m4f_python", [n for n in found if "python" in n]),
        ("m0", ["m0"]),
    ):
        longest = max(found[name]["max_instructions"] for name in names)
        result["steps"][key + "_max_instructions"] = longest
    for key in ("m4f", "m0"):
        result["predict"][key + "_api"] = found[key]["predict_call_instructions"]


def main():
    result = {
        "agree": {},
        "objective_gap": {},
        "instructions": {},
        "predict": {},
        "memory": {},
        "size": {},
        "energy": {},
        "ratio": {"alg1_10": {}, "alg1_10000": {}},
        "runs": {},
    }
    for arch in ("armv6m", "armv7emsp", "xtensawin", "x64"):
        if native(arch).exists():
            result["size"][arch] = native(arch).stat().st_size
        if native(arch, "_svm_fit").exists():
            result["size"][arch + "_fit"] = native(arch, "_svm_fit").stat().st_size
    for arch in ("armv6m", "armv7emsp"):
        if native(arch, "_svm_predict").exists():
            result["size"][arch + "_predict"] = native(arch, "_svm_predict").stat().st_size
    if native("armv6m", "_svm_linear").exists():
        result["size"]["armv6m_linear"] = native("armv6m", "_svm_linear").stat().st_size
    accuracy(result)
    result["accuracy"] = svm_accuracy.summary()
    board_runs(result)
    steps(result)
    result["api"] = svm_api.measure()
    result["api"]["predict_only"] = svm_predict_only.measure()
    result["core"] = svm_core.measure()
    memory(result)
    energy(result)
    path = common.write("svm", result)
    missed = common.table("SVM (instructions on emulated boards, bytes)", result, TARGETS)
    print(f"written to {path.relative_to(repository())}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
