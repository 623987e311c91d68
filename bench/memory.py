# SPDX-License-Identifier: MIT
"""Memory: published extra memory, whole training arenas, and full update in the same accounting.

All but `board` (bench/memory_board.py) is computed from layer dimensions by the compiler (128x128
input, batch 1, 10 classes); that a board runs in such an arena is a test's to show
(tests/host/test_net_board.py).
`arena` is the whole arena of the byte program: activations, int8 gradients, clamp masks, saved
inputs, every trained weight and bias, the work areas of all kernels and the interpreter's state,
with layers above 32x32 in 2x2 patches (exact halo); `tensors` is the same without work areas of
kernels and the state. The image itself stays in the caller's buffer; `with_input` puts it
into the arena too, with 2x2 and 4x4 patches.
Full update needs whole tensors, so no patches there. `ratio.kept_*` compares with a step that
keeps float32 gradients, neither fused nor in place, as a framework runs it. `ratio.paper_*` is
the paper's comparison: int8 activations and float32 gradients on both sides, full update as in
`kept`, sparse update with its updates fused (the paper's operator reordering), in place, in
2x2 patches; `ratio_paper` has it for every published scheme, `layout_excess_paper` what those
layouts, which no board runs, are above the lower bound.
"""

import sys

import numpy as np

from acclimate_host.compile.encode import encode
from acclimate_host.compile.step import (
    KEPT_FLOAT,
    PAPER_SPARSE,
    Options,
    inference_step,
    training_step,
)
from acclimate_host.connect import why_not
from acclimate_host.model.network import Network, with_scales
from acclimate_host.model.zoo import backbone, names
from acclimate_host.sparse.memory import extra_memory
from acclimate_host.sparse.scheme import full, last_layers, published
from bench import common, memory_board

SHORT = {"mbv2-w0.35": "mbv2", "mcunet-5fps": "mcunet", "proxyless-w0.3": "proxyless"}
PAPER = {"arena_kib": {"mbv2": 141, "mcunet": 206}, "ratio_full": "20 to 21"}
KIB = 1024
TARGETS = [
    ("scheme_error_kib_max", "<=", 0.1),
    ("last12_mcunet_kib", "=", 448),
    ("arena.mbv2_49", "<=", 100 * KIB),
    ("arena.mcunet_99", "<=", 152 * KIB),
    ("arena.proxyless_49", "<=", 115 * KIB),
    ("layout_excess_max", "<=", 0.02),
    ("code.mbv2_49", "<=", 4096),
    ("tensors.mbv2_49", None, None),
    ("with_input.grid4.mbv2_49", None, None),
    ("with_input.grid4.mcunet_99", None, None),
    ("with_input.grid4.proxyless_49", None, None),
    ("ratio.full_mbv2", None, None),
    ("ratio.full_mcunet", None, None),
    ("ratio.full_proxyless", None, None),
    ("ratio.paper_mbv2", None, None),
    ("ratio.paper_mcunet", None, None),
    ("ratio.paper_proxyless", None, None),
    ("ratio.kept_mbv2", None, None),
    ("ratio.kept_mcunet", None, None),
    ("ratio.kept_proxyless", None, None),
    *memory_board.TARGETS,
]
HEADLINE = {"mbv2": "mbv2_49", "mcunet": "mcunet_99", "proxyless": "proxyless_49"}


def measure():
    """Return the result of the bench."""
    nets = {name: backbone(name) for name in names()}
    rows = published(nets)
    result = {"accounting": " ".join(__doc__.split()), "paper": PAPER, "schemes": []}
    errors, excess = [], []
    result["arena"], result["with_input"] = {}, {"grid2": {}, "grid4": {}}
    result["tensors"], result["code"] = {}, {}
    networks = {name: _blank(graph) for name, graph in nets.items()}
    result["bound"], result["predict"] = {}, {}
    for row in rows:
        extra = extra_memory(nets[row.net], row.scheme).total_bytes / KIB
        errors.append(abs(extra - row.extra_kib))
        result["schemes"].append(
            {"net": row.net, "published_kib": row.extra_kib, "computed_kib": round(extra, 3)}
        )
        step = training_step(nets[row.net], row.scheme)
        key = f"{SHORT[row.net]}_{int(row.extra_kib)}"
        program = encode(step, networks[row.net])
        result["arena"][key] = program.arena_bytes
        result["code"][key] = program.code_bytes
        result["tensors"][key] = step.layout.size_bytes
        result["bound"][key] = program.layout.bound_bytes
        excess += [step.layout.excess, program.layout.excess]
        for grid in (2, 4):
            options = Options(patch_grid=grid, input_in_arena=True)
            layout = training_step(nets[row.net], row.scheme, options).layout
            result["with_input"][f"grid{grid}"][key] = layout.size_bytes
            excess.append(layout.excess)
    excess += _whole(nets, result)
    if not why_not(memory_board.BOARD):
        memory_board.measure(result, nets, rows, SHORT)
    result["layout_excess_paper"] = max(_as_the_paper(nets, rows, result))
    result["scheme_error_kib_max"] = round(max(errors), 4)
    last = extra_memory(nets["mcunet-5fps"], last_layers(nets["mcunet-5fps"], 12))
    result["last12_mcunet_kib"] = round(last.total_bytes / KIB)
    result["layout_excess_max"] = max(excess)
    return result


def _blank(graph):
    """Return a network of zeros: an arena does not depend on the weights."""
    scales = {n: (1.0, 0) for n, t in graph.tensors.items() if t.dtype in ("int8", "int32")}
    values = {
        n: np.zeros(t.shape, t.dtype) for n, t in graph.tensors.items() if t.kind == "frozen"
    }
    return Network(with_scales(graph, scales), values)


def _whole(nets, result):
    """Add full update and inference of each net, and the ratios; return the excesses."""
    result["full"], result["kept_float"], result["ratio"], excess = {}, {}, {}, []
    for name, graph in nets.items():
        short = SHORT[name]
        steps = {
            "full": training_step(graph, full(graph)),
            "kept_float": training_step(graph, full(graph), KEPT_FLOAT),
            "predict": inference_step(graph),
        }
        for key, step in steps.items():
            result[key][short] = step.layout.size_bytes
            excess.append(step.layout.excess)
        sparse = result["tensors"][HEADLINE[short]]
        result["ratio"]["full_" + short] = result["full"][short] / sparse
        result["ratio"]["kept_" + short] = result["kept_float"][short] / sparse
    return excess


def _as_the_paper(nets, rows, result):
    """Add the ratios in the paper's accounting; return the excesses."""
    found, excess = {}, []
    for row in rows:
        layout = training_step(nets[row.net], row.scheme, PAPER_SPARSE).layout
        key = f"{SHORT[row.net]}_{int(row.extra_kib)}"
        found[key] = round(result["kept_float"][SHORT[row.net]] / layout.size_bytes, 2)
        excess.append(layout.excess)
    result["ratio_paper"] = found
    for short, key in HEADLINE.items():
        result["ratio"]["paper_" + short] = found[key]
    return excess


def main():
    result = measure()
    missed = common.table("memory (bytes, unless named otherwise)", result, TARGETS)
    print(f"  paper: {PAPER['arena_kib']} KB, full/sparse {PAPER['ratio_full']} (no scheme named)")
    print(f"  wrote {common.write('memory', result)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
