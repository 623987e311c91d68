# SPDX-License-Identifier: MIT
"""``acclimate plan --page-parameters``: which parameters stay in RAM, and a plan for the rest."""

from acclimate_host.poet import networks
from acclimate_host.poet.graphs import layers_graph
from acclimate_host.poet.inputs import Problem, budget_of, cost_table, whole
from acclimate_host.poet.parameters import (
    Paged,
    layer_parameters,
    plan_parameters,
    with_parameters,
)
from acclimate_host.poet.problem import PlanError


def paged_plan(task, state, **options):
    """Return (Paged, Verdict of keeping all, rows) of a Task on a named network, in reverse mode.

    Percent of RAM are of what keeping everything needs, parameters and state included.

    :param state: bytes of the optimizer's state for each byte of a parameter
    :param options: of acclimate_host.poet.solve.solve
    """
    if task.model not in networks.names():
        raise PlanError(f"--page-parameters is for {', '.join(networks.names())}")
    if task.method != "poet":
        raise PlanError(f"--page-parameters is for the method poet, not {task.method}")
    if not 0 <= state <= 16:
        raise PlanError(f"--page-parameters {state:g}: expected 0 to 16 bytes of state a byte")
    table, layers = cost_table(task.board), networks.layers(task.model, as_published=False)
    graph = layers_graph(layers, table, "autodiff", updates=True)
    parameters = layer_parameters(layers, table, state)
    kept = Problem(with_parameters(graph, parameters, tuple(p.id for p in parameters)))
    block = table.figures.get("store.erase_block_bytes")
    budget = budget_of(kept, task.ram, task.deadline, task.storage, task.erases, block)
    found = plan_parameters(graph, parameters, budget, clock=task.clock, **options)
    return found, whole(kept.graph), _rows(found, parameters)


def _rows(found: Paged, parameters):
    """Rows about what is read and written; the layers that are computed again, without them."""
    paged = {p.id: p for p in parameters if p.id not in found.resident}
    runs = [name for kind, name in found.answer.plan if kind == "compute"]
    reads = [name for name in runs if name in paged]
    again = len(runs) - len(reads) - (len(found.graph.nodes) - len(paged))
    size, most = sum(p.ram_bytes for p in paged.values()), sum(p.ram_bytes for p in parameters)
    moved = sum(paged[name].ram_bytes for name in reads)
    written = sum(p.ram_bytes for p in paged.values() if p.update)
    return [
        ("computed again", str(again), "0"),
        ("parameters in storage, bytes", f"{size:,} of {most:,}", "0"),
        ("of them read / written, bytes", f"{moved:,} / {written:,}", "0 / 0"),
    ]
