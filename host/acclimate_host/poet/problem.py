# SPDX-License-Identifier: MIT
"""What is planned: a graph of tensors, a budget and a plan, as frozen values with JSON."""

import math
from dataclasses import asdict, dataclass, field

from ..errors import AcclimateError

KINDS = ("compute", "pagein", "pageout", "free")
_NUMBERS = (
    "ram_bytes", "workspace_bytes", "compute_energy", "compute_time", "pagein_energy",
    "pagein_time", "pageout_energy", "pageout_time",
)  # fmt: skip


class PlanError(AcclimateError):
    """A problem or plan that cannot be meant; the text is one line."""


@dataclass(frozen=True)
class Node:
    """A tensor and the operator that makes it; energies in J, times in s."""

    id: str
    deps: tuple = ()
    ram_bytes: int = 0
    workspace_bytes: int = 0
    compute_energy: float = 0.0
    compute_time: float = 0.0
    pagein_energy: float = 0.0
    pagein_time: float = 0.0
    pageout_energy: float = 0.0
    pageout_time: float = 0.0
    recomputable: bool = True
    pageable: bool = True


@dataclass(frozen=True)
class Budget:
    """Limits; None means none. The deadline is in seconds.

    erase_budget: blocks of erase_block_bytes that the page store may erase in one step; a
    page-out erases the blocks that its tensor fills. 0 bytes: a store that is not erased.
    """

    ram_bytes: int
    deadline: float | None = None
    aux_bytes: int | None = None
    erase_budget: int | None = None
    erase_block_bytes: int = 0

    def __post_init__(self):
        for name in ("ram_bytes", "deadline", "aux_bytes", "erase_budget", "erase_block_bytes"):
            value = getattr(self, name)
            optional = name not in ("ram_bytes", "erase_block_bytes")
            if not (_is_amount(value) or (optional and value is None)):
                raise PlanError(f"budget: {name} is {value!r}; it must be finite and >= 0")


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, and the bytes (weights, gradients) that always stay."""

    nodes: tuple
    resident_bytes: int = 0
    index: dict = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if not self.nodes:
            raise PlanError("the graph is empty; give at least one node")
        index = {node.id: i for i, node in enumerate(self.nodes)}
        if len(index) != len(self.nodes):
            raise PlanError("two nodes share an id; ids must differ")
        if not _is_amount(self.resident_bytes):
            raise PlanError(f"resident_bytes is {self.resident_bytes!r}; it must be >= 0")
        for i, node in enumerate(self.nodes):
            _check_node(node, i, index)
        object.__setattr__(self, "index", index)


def _is_amount(value):
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and math.isfinite(value) and value >= 0


def _check_node(node, position, index):
    for name in _NUMBERS:
        value = getattr(node, name)
        if not _is_amount(value):
            raise PlanError(f"node {node.id}: {name} is {value!r}; it must be finite and >= 0")
    for dep in node.deps:
        if dep not in index:
            raise PlanError(f"node {node.id}: unknown dependency {dep}")
        if index[dep] >= position:
            raise PlanError(f"node {node.id}: needs {dep}, which is not before it (a cycle?)")


def check_budget(graph, budget):
    """Refuse a RAM budget in which some single operator cannot run."""
    for node in graph.nodes:
        inputs = sum(graph.nodes[graph.index[d]].ram_bytes for d in set(node.deps))
        need = graph.resident_bytes + inputs + node.ram_bytes + node.workspace_bytes
        if need > budget.ram_bytes:
            raise PlanError(f"node {node.id} needs {need} bytes of RAM; have {budget.ram_bytes}")


def to_json(graph, budget, plan=(), claim=None):
    """The one object (dict) of the file format.

    recomputable, pageable, erase_budget and erase_block_bytes stand there only where they
    differ from what they are without being named.
    """
    return {
        "nodes": [_without_defaults(node, ("recomputable", "pageable"), {"deps": list(node.deps)})
                  for node in graph.nodes],
        "resident_bytes": graph.resident_bytes,
        "budget": _without_defaults(budget, ("erase_budget", "erase_block_bytes"), {}),
        "plan": [list(step) for step in plan],
        "claim": dict(claim or {}),
    }


def _without_defaults(value, names, changed):
    data = dict(asdict(value), **changed)
    for name in names:
        if data[name] == type(value).__dataclass_fields__[name].default:
            del data[name]
    return data


def from_json(data):
    """(graph, budget, plan, claim) of such an object; raises PlanError."""
    try:
        nodes = tuple(Node(**dict(n, deps=tuple(n.get("deps", ())))) for n in data["nodes"])
        graph = Graph(nodes, data.get("resident_bytes", 0))
        budget = Budget(**data["budget"])
        plan = tuple((kind, name) for kind, name in data.get("plan", ()))
    except KeyError as error:
        raise PlanError(f"not a planning problem: {error} is missing") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise PlanError(f"not a planning problem: {error}") from None
    return graph, budget, plan, data.get("claim", {})
