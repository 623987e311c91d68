# SPDX-License-Identifier: MIT
"""What is planned: a graph of tensors, a budget and a plan, as frozen values with JSON."""

from dataclasses import asdict, dataclass, field

from ..errors import AcclimateError

KINDS = ("compute", "pagein", "pageout", "free")
_NUMBERS = (
    "ram_bytes",
    "workspace_bytes",
    "compute_energy",
    "compute_time",
    "pagein_energy",
    "pagein_time",
    "pageout_energy",
    "pageout_time",
)


MOST = 1e19  # of any amount: sums and products of it are still numbers


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
            if not (optional and value is None):
                _check_amount("budget: ", name, value)  # a share may be a fraction


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
        _check_amount("", "resident_bytes", self.resident_bytes, whole=True)
        for i, node in enumerate(self.nodes):
            _check_node(node, i, index)
        object.__setattr__(self, "index", index)


def _check_amount(where, name, value, whole=False):
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (real and 0 <= value <= MOST and (value == int(value) or not whole)):
        expected = f"a {'whole ' if whole else ''}number from 0 to {MOST:g}"
        raise PlanError(f"{where}{name} is {_short(value)}; it must be {expected}")


def _short(value):
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _check_node(node, position, index):
    for name in _NUMBERS:
        whole = name in ("ram_bytes", "workspace_bytes")
        _check_amount(f"node {node.id}: ", name, getattr(node, name), whole)
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
        "nodes": [
            _without_defaults(node, ("recomputable", "pageable"), {"deps": list(node.deps)})
            for node in graph.nodes
        ],
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
    if not isinstance(data, dict):
        raise PlanError("not a planning problem: expected an object with nodes and budget")
    for key, kind in (("nodes", list), ("budget", dict), ("plan", list), ("claim", dict)):
        if key not in data and key in ("nodes", "budget"):
            raise PlanError(f"not a planning problem: {key} is missing")
        if not isinstance(data.get(key, kind()), kind):
            raise PlanError(f"not a planning problem: {key} is {_short(data[key])}")
    nodes = tuple(_node(place, entry) for place, entry in enumerate(data["nodes"]))
    graph = Graph(nodes, data.get("resident_bytes", 0))
    budget = _record(Budget, "budget", data["budget"], ("ram_bytes",))
    for step in data.get("plan", ()):
        if not isinstance(step, list) or [type(word) for word in step] != [str, str]:
            raise PlanError(f"not a planning problem: a step of the plan is {_short(step)}")
    return graph, budget, tuple(map(tuple, data.get("plan", ()))), data.get("claim", {})


def _node(place, entry):
    where = f"node {place}"
    if not isinstance(entry, dict):
        raise PlanError(f"not a planning problem: {where} is {_short(entry)}")
    deps = entry.get("deps", [])
    if not isinstance(entry.get("id", ""), str):
        raise PlanError(f"not a planning problem: {where}: id is {_short(entry['id'])}, no text")
    if not isinstance(deps, list) or not all(isinstance(dep, str) for dep in deps):
        raise PlanError(f"not a planning problem: {where}: deps is {_short(deps)}, no list of ids")
    for key in ("recomputable", "pageable"):
        if not isinstance(entry.get(key, True), bool):
            raise PlanError(f"not a planning problem: {where}: {key} is {_short(entry[key])}")
    return _record(Node, where, {**entry, "deps": tuple(deps)}, ("id", "ram_bytes"))


def _record(kind, where, entry, needed):
    """The dataclass of an object with some of its fields, of which some are needed."""
    unknown = [key for key in entry if key not in kind.__dataclass_fields__]
    if unknown:
        raise PlanError(f"not a planning problem: {where}: unknown key {_short(unknown[0])}")
    for key in needed:
        if key not in entry:
            raise PlanError(f"not a planning problem: {where}: {key} is missing")
    return kind(**entry)
