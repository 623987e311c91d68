# SPDX-License-Identifier: MIT
"""Edge2Train, Table 2 and Figure 4 on emulated boards, beside scikit-learn in the same run.

Instructions are QEMU's; times are those instructions at the board's clock and 1 to 1.6 cycles for
each (a range, as nothing was measured on hardware). Energy is power of the data sheet times the
time at one cycle: a lower bound, of the chip alone. Flash and RAM are the linker's, of the sketch
TrainSVM with its data, in C++ as the paper's programs are.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.svm import SVC

from acclimate.svm import parameters as p
from acclimate.svm import solver
from acclimate_host import boards
from acclimate_host.paths import built, repository
from bench import arduino, common, svm, svm_board
from bench.svm_tasks import TASKS, Task

CYCLES = (1.0, 1.6)  # for an instruction: Cortex-M without and with waits for flash and branches
BOARDS = {
    "m4f": ("nrf52840", "armv7emsp", "_svm", True, "feather_nrf52840"),
    "m0": ("samd21", "armv6m", "_svm_linear", False, "metro_m0_express"),
}
SIZES = {"iris": range(20, 101, 10), "digits": range(20, 121, 10)}
# The paper's Table 2: ms to train and to infer, accuracy in %, mJ for both, KB of flash and SRAM.
PAPER = {
    "m4f.iris": (33512.0, 0.067, 90.0, 5864.6, 0.011, 43.889, 12.392),
    "m4f.digits": (45744.0, 0.5, 92.85, 8005.2, 0.087, 65.488, 76.632),
    "m3.iris": (226190.0, 0.4, 83.34, 39583.2, 0.078, 30.112, 9.880),
    "m0.iris": (785607.0, 1.3, 90.0, 137481.2, 0.22, 29.31, 10.650),
    "cpu1.iris": (1.193, 0.006, 93.37, 21.474, 0.108),
    "cpu1.digits": (2.516, 0.341, 91.66, 45.288, 6.308),
}
TARGETS = [
    ("table2.m4f.iris.accuracy", ">=", 0.9),
    ("table2.m4f.digits.accuracy", ">=", 0.92),
    ("table2.m4f.digits.train_ms_most", "<=", 45744.0),
    ("table2.m0.iris.train_ms_most", "<=", 785607.0),
    ("table2.m4f.digits.infer_ms_most", "<=", 0.5),
    ("inference.m4f_times_faster_least", ">=", 3.5),
    ("no_fpu.instructions", None, None),
    ("no_fpu.time", None, None),
    ("fig4.m4f.digits.peaks_explained", None, None),
    ("board20k.ram_bytes", "<=", 20480),
]


def in_sklearn(task, repeats=200):
    """Return times of scikit-learn on this computer, the best of several, in ms."""
    real = task.x / task.scale
    x, y = real[: task.n_train], task.y[: task.n_train]
    model = task.reference()
    fit, infer = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        SVC(kernel="linear", C=1.0).fit(x, y)
        fit.append(time.perf_counter() - began)
        row = real[task.n_train][None]
        began = time.perf_counter()
        model.predict(row)
        infer.append(time.perf_counter() - began)
    right = model.predict(real[task.n_train :]) == task.y[task.n_train :]
    return {
        "train_ms": 1e3 * min(fit),
        "infer_ms": 1e3 * min(infer),
        "accuracy": float(right.mean()),
    }


def accuracy(task, is_float):
    """Return the share of right labels of the test rows: the board's solver, run here."""
    decisions, _ = svm.solve(solver, task, is_float, p.INT8)
    return float(np.mean(decisions == task.y[task.n_train :]))


def times(prefix, instructions, hz):
    """Return {prefix_ms_least, prefix_ms_most} of instructions at a clock."""
    return {
        f"{prefix}_ms_{end}": 1e3 * instructions * cycles / hz
        for end, cycles in zip(("least", "most"), CYCLES, strict=True)
    }


def table2(result):
    """Training and inference of both tasks on both boards."""
    for key, (name, arch, module, is_float, sheet) in BOARDS.items():
        board = boards.load(sheet)
        hz = board.value("clock_hz")
        for task in TASKS:
            mpy = built("native", arch, module + ".mpy")
            run = svm_board.train(name, task, mpy, module, is_float, 8)
            row = {
                "train_instructions": run["instructions"],
                "infer_instructions": run["predict"],
                "iterations": run["iterations"],
                "accuracy": accuracy(task, is_float),
                "agrees_with_sklearn": run["agree"],
                "data_bytes": run["data_bytes"],
                "train_mj": 1e3 * board.energy_j(run["instructions"] / hz),
                "infer_mj": 1e3 * board.energy_j(run["predict"] / hz),
                **times("train", run["instructions"], hz),
                **times("infer", run["predict"], hz),
            }
            theirs = PAPER.get(f"{key}.{task.name}")
            if theirs:
                row["times_faster_least"] = theirs[0] / row["train_ms_most"]
            result["table2"].setdefault(key, {})[task.name] = row


def first(task, count):
    """Return the task with its first `count` rows for training; a row is left to be asked."""
    x, y = (np.concatenate([part, part[-1:]]) for part in (task.x, task.y))
    return Task(task.name, x, y, count, task.scale)


def fig4(result):
    """Training size against instructions, and how much of the ups and downs iterations explain."""
    for key, (name, arch, module, is_float, _) in BOARDS.items():
        mpy = built("native", arch, module + ".mpy")
        for task in TASKS:
            rows = []
            for count in SIZES[task.name]:
                run = svm_board.train(name, first(task, count), mpy, module, is_float, 8)
                rows.append((count, run["instructions"], run["iterations"]))
            result["fig4"].setdefault(key, {})[task.name] = described(rows)


def described(rows):
    """Return what the curve of (rows, instructions, iterations) shows.

    `peaks_explained`: of the steps to a larger training set where the iterations fall or rise by
    more than the set grew, the share in which instructions move the same way.
    """
    rows = np.array(rows, float)
    growth = np.diff(np.log(rows), axis=0)
    odd = abs(growth[:, 2]) > growth[:, 0]
    same = np.sign(growth[:, 1]) == np.sign(growth[:, 2])
    per_step = rows[:, 1] / (rows[:, 2] * rows[:, 0])
    return {
        "rows": rows.astype(int).tolist(),
        "steps_down": int((growth[:, 1] < 0).sum()),
        "peaks_explained": float(same[odd].mean()) if odd.any() else 1.0,
        "correlation": float(np.corrcoef(np.log(rows[:, 1]), np.log(rows[:, 2]))[0, 1]),
        "spread_per_row_and_iteration": float(per_step.max() / per_step.min()),
        "last_over_first": float(rows[-1, 1] / rows[0, 1]),
    }


def compare(result):
    """Inference against the CPU, and what a missing FPU costs."""
    cpu, mcu = result["cpu"]["digits"], result["table2"]["m4f"]["digits"]
    result["inference"] = {
        "cpu_ms": cpu["infer_ms"],
        "m4f_times_faster_least": cpu["infer_ms"] / mcu["infer_ms_most"],
        "m4f_times_faster_most": cpu["infer_ms"] / mcu["infer_ms_least"],
        "m0_times_faster_least": cpu["infer_ms"]
        / result["table2"]["m0"]["digits"]["infer_ms_most"],
    }
    rows = {key: result["table2"][key]["iris"] for key in BOARDS}
    result["no_fpu"] = {
        "instructions": rows["m0"]["train_instructions"] / rows["m4f"]["train_instructions"],
        "time": rows["m0"]["train_ms_least"] / rows["m4f"]["train_ms_least"],
    }


def sketches(result):
    """Flash and RAM of the C++ sketch with the digits, and its run on a board of 20 KB."""
    reason = arduino.missing()
    if reason:
        print("left out:", reason)
        return
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, str(repository() / "tools"))
        import arduino_library

        library = arduino_library.make(folder)
        for core in arduino.CORES:
            made = arduino.Library(library, Path(folder) / "work", core)
            elf, size = made.sketch("TrainSVM")
            result["sketch"][core] = {**size, "printed": made.run(elf).strip()}
    result["board20k"] = result["sketch"]["m3"]


def main():
    result = {"paper": PAPER, "table2": {}, "fig4": {}, "sketch": {}, "cycles": CYCLES}
    result["cpu"] = {task.name: in_sklearn(task) for task in TASKS}
    table2(result)
    fig4(result)
    compare(result)
    sketches(result)
    print(common.write("edge2train", result))
    return 1 if common.table("Edge2Train", result, TARGETS) else 0


if __name__ == "__main__":
    sys.exit(main())
