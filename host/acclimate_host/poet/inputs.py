# SPDX-License-Identifier: MIT
"""What a name on the command line stands for: a planning graph, a cost table, an amount."""

from dataclasses import dataclass, field
from pathlib import Path

from .. import boards
from ..model.graph import GraphError
from . import costs, networks
from .evaluate import evaluate
from .graphs import STYLES, layers_graph, network_graph
from .onnx_layers import onnx_layers
from .problem import Budget, Graph, PlanError, from_json

_TABLE_OF_CORE = (("Cortex-M4", "m4"), ("Cortex-M0", "m0"), ("Xtensa", "esp32"))
_TABLE_OF_BOARD = {"mkr1000": "m0", "rpi4": "a72", "raspberry_pi_4": "a72", "jetson_tx2": "tx2"}
_LATEST = 1e12  # s, of a deadline
_UNITS = {"": 1, "k": 1024, "m": 1 << 20, "g": 1 << 30}


def cost_table(name):
    """CostProfile of a table's name or .toml file, or of a board's name or .toml (by its core)."""
    name = _TABLE_OF_BOARD.get(name, name)
    is_file = str(name).endswith(".toml")
    described = boards.is_description(name) if is_file and Path(name).is_file() else False
    if name in costs.names() or (is_file and not described):
        return costs.load(name)
    if described or name in boards.names():
        core = boards.load(name).core
        for start, table in _TABLE_OF_CORE:
            if core.startswith(start):
                return costs.load(table)
        raise PlanError(
            f"no cost table for {name} ({core}); use acclimate profile, or one of "
            f"{', '.join(costs.names())}"
        )
    raise PlanError(
        f"no cost table or board {name!r}; there are {', '.join(costs.names())}, "
        "the names that acclimate boards lists, and .toml files of acclimate profile"
    )


@dataclass(frozen=True)
class Problem:
    """graph, and where a file has them its budget, plan and claim; note: said before a plan."""

    graph: Graph
    budget: Budget | None = None
    plan: tuple = ()
    claim: dict = field(default_factory=dict)
    note: str = ""


def planning_graph(model, table, style="chain"):
    """Graph of a model as `planning_problem` reads it."""
    return planning_problem(model, table, style).graph


def planning_problem(model, table, style="chain", resident=False, dims=None):
    """Problem of a network by name, of a problem file (.json), or of an .onnx or .tflite file.

    An .onnx or .tflite file that the compiler runs gives its own training step; any other .onnx
    file its operators with a true reverse-mode backward pass and updates, and a note that says
    so. Both count parameters as resident; named networks where `resident` asks for it.
    """
    path = Path(model)
    if model in networks.names():
        if style not in STYLES:
            raise PlanError(f"unknown style {style!r}; there are {', '.join(STYLES)}")
        return Problem(network_graph(model, table, style, resident=resident))
    if path.suffix == ".json":
        try:
            return Problem(*from_json(_json(path)))
        except PlanError as error:
            named = str(error).startswith((path.name, "no file"))
            raise PlanError(str(error) if named else f"{path.name}: {error}") from None
    if path.suffix not in (".onnx", ".tflite"):
        raise PlanError(
            f"unknown model {model!r}; a .json, .onnx or .tflite file, or one of "
            f"{', '.join(networks.names())}"
        )
    if not path.is_file():
        raise PlanError(f"no file {model}")
    try:
        return Problem(_imported(path, table))
    except GraphError as error:
        if path.suffix != ".onnx":
            raise
        layers = onnx_layers(path, dims)
        graph = layers_graph(layers, table, "autodiff", resident=True, updates=True)
        return Problem(graph, note=f"planned by its operators only: {error}")


def _imported(path, table):
    from ..compile.scheduled import plain_step
    from ..model.losses import with_loss
    from ..sparse.scheme import full
    from .step_graph import step_graph

    if path.suffix == ".onnx":
        from ..model.import_onnx import import_onnx as read
    else:
        from ..model.import_tflite import import_tflite as read
    network = with_loss(read(path))
    return step_graph(plain_step(network.graph, full(network.graph)), network, table).graph


def _json(path):
    import json

    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise PlanError(f"no file {path}") from None
    except RecursionError:
        raise PlanError(f"{path.name}: no problem: nested too deeply") from None
    except (ValueError, OSError) as error:
        raise PlanError(f"{path.name}: not JSON: {error}") from None


def whole(graph):
    """Verdict on computing everything once, freeing each tensor after its last use."""
    last, steps = {}, []
    for node in graph.nodes:
        last[node.id] = node.id
        last.update(dict.fromkeys(node.deps, node.id))
    for node in graph.nodes:
        steps.append(("compute", node.id))
        steps += [
            ("free", name)
            for name in dict.fromkeys((*node.deps, node.id))
            if last[name] == node.id
        ]
    return evaluate(graph, Budget(1 << 62), steps)


def amount(text, graph=None, what="RAM"):
    """Bytes of "100k", "2m", "65536", or with a graph of "50%" of keeping everything."""
    word = str(text).strip().lower()
    try:
        if word.endswith("%") and graph:
            value = whole(graph).peak_ram * float(word[:-1]) / 100
        else:
            unit = word[-1:] if word[-1:] in ("k", "m", "g") else ""
            value = float(word[: len(word) - len(unit)]) * _UNITS[unit]
    except ValueError:
        units = "k, m, g or %" if graph else "k, m or g"
        raise PlanError(f"{what} {text!r}: expected bytes, or with {units}") from None
    whole_bytes = not word[-1:].isdigit() or value.is_integer()
    if not (0 <= value < 1 << 60 and whole_bytes):
        raise PlanError(f"{what} {text!r}: expected whole bytes, 0 to 2^60")
    return int(value)


def deadline(text, graph):
    """Seconds of "1.5x" (times computing everything once) or "2.5s"; None for None."""
    if text is None:
        return None
    word = text.strip().lower()
    try:
        if word.endswith("x"):
            value = float(word[:-1]) * whole(graph).compute_time
        else:
            value = float(word.removesuffix("s"))
    except ValueError:
        raise PlanError(f"deadline {text!r}: expected 1.5x or seconds as 2.5s") from None
    if not 0 < value < _LATEST:
        raise PlanError(f"deadline {text!r}: expected more than 0 s, less than {_LATEST:g} s")
    return value


def budget_of(problem, ram=None, due=None, storage=None, erases=None, block=None):
    """Budget of texts as the command line takes them; None: the file's own, or half the RAM.

    :param erases: blocks that a step may erase, of `block` bytes (None: the file's)
    """
    graph, own = problem.graph, problem.budget or Budget(amount("50%", problem.graph))
    block = own.erase_block_bytes if block is None else int(block)
    limit = own.erase_budget if erases is None else erases
    if limit is not None and not block:
        raise PlanError(f"erases {limit}: the cost table names no store.erase_block_bytes")
    return Budget(
        own.ram_bytes if ram is None else amount(ram, graph),
        own.deadline if due is None else deadline(due, graph),
        own.aux_bytes if storage is None else amount(storage, graph, "storage"),
        limit,
        block,
    )


@dataclass(frozen=True)
class Task:
    """One plan to make; texts as the command line takes them."""

    model: str
    board: str
    ram: str | None = None
    method: str = "poet"
    style: str = "chain"
    deadline: str | None = None
    storage: str | None = None
    clock: str = "serial"
    resident: bool = False
    dims: tuple = ()
    erases: int | None = None
    options: dict = field(default_factory=dict)  # of solve, for the exact methods

    def posed(self):
        """(Problem, Budget) of the task; raises PlanError where it is none."""
        table = cost_table(self.board)
        problem = planning_problem(self.model, table, self.style, self.resident, dict(self.dims))
        block = table.figures.get("store.erase_block_bytes")
        budget = budget_of(problem, self.ram, self.deadline, self.storage, self.erases, block)
        return problem, budget
