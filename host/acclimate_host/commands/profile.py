# SPDX-License-Identifier: MIT
"""``acclimate profile``: measure a board's operators and page store; write its cost table."""

import math
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from acclimate_host import boards
from acclimate_host.commands import (
    add_board_arguments,
    check_counts,
    check_output,
    open_chosen,
    progress,
    read_text,
    table,
    write_text,
)
from acclimate_host.commands.model_files import imported
from acclimate_host.connect import merge, package
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Missing
from acclimate_host.figures import tomllib
from acclimate_host.model.losses import with_loss
from acclimate_host.poet import costs
from acclimate_host.poet.inputs import cost_table
from acclimate_host.poet.measure import (
    EMULATED_CLOCK_HZ,
    ICOUNT_SHIFT,
    MEDIA,
    OPERATOR_OF,
    Bench,
    heap_bytes,
    mean_power,
    table_text,
)
from acclimate_host.poet.measure_shapes import (
    CORE_OF,
    instruction_seconds,
    measure_shapes,
    shapes_of,
)

_ESTIMATE = "estimate from instructions at {:g} MHz, one a cycle; no flash waits"


def add_arguments(parser):
    add_board_arguments(parser)
    add = parser.add_argument
    add(
        "--model",
        metavar="FILE",
        help="an .onnx or .tflite file: measure each shape of its int8 training step, too",
    )
    add("--like", metavar="BOARD", help="the board's description, for voltage and current")
    add(
        "--store",
        default="file",
        metavar="M",
        help="page store: file, raw, or Python that sets `medium` on the board (file)",
    )
    add("--voltage", type=float, metavar="V", help="supply, in volts")
    add("--current", type=float, metavar="A", help="while it computes, in amperes")
    add(
        "--power",
        metavar="CSV",
        help="of a power meter while it computes: time_s, current_a "
        "[, voltage_v] or time_s, power_w",
    )
    add("-o", "--out", metavar="FILE", help="write the cost table, a .toml")
    add("--rounds", type=int, default=3, help="runs of each operator (3)")


def run(args):
    if args.out and not args.out.endswith(".toml"):
        raise AcclimateError(f"--out {args.out}: a cost table is a .toml file")
    check_counts(args, rounds=1000)
    check_output(args.out)
    power = _power(args)
    found = _measure(args, with_loss(imported(args.model)) if args.model else None)
    progress("")
    _show(found)
    args.result = {
        "times": found.how,
        "shapes": found.seconds,
        "operators": [asdict(row) for row in found.rows],
        "pages": {
            name: {"latency_s": a, "bytes_per_s": b} for name, (a, b) in found.pages.items()
        },
    }
    text = _table(args, found, power)
    if args.out:
        write_text(args.out, text)
        print(f"written to {args.out}; use it with acclimate plan --board {args.out}")
    return 0


@dataclass(frozen=True)
class _Found:
    """rows, pages: as Bench gives them; shapes of the model, and seconds of those that fit.

    each: (core, seconds of an instruction, timings), or None for a core without a cost model.
    """

    how: str
    rows: list
    pages: dict
    shapes: list
    seconds: dict
    each: tuple | None


def _measure(args, network):
    """Return the _Found of the board that the arguments name."""
    options = {"icount": ICOUNT_SHIFT} if args.board in EMULATED_CLOCK_HZ else {}
    with open_chosen(args, **options) as board:
        _require_heap(board)
        install(board, only=["net", "pager"], yes=True)
        board.soft_reset()
        bench = Bench(board, _clock(args))
        rows = bench.operators(args.rounds, progress)
        store = args.store if args.store in MEDIA else args.store.replace("\\n", "\n")
        pages = bench.pages(store, progress)
        core = CORE_OF.get(board.info().arch)
        shapes = shapes_of(network, core) if network else []
        seconds = measure_shapes(bench, shapes, args.rounds, progress) if shapes else {}
    how = _ESTIMATE.format(bench.clock_hz / 1e6) if bench.emulated else "measured on the board"
    each = (core, *instruction_seconds(core, rows, shapes, seconds)) if core else None
    return _Found(how, rows, pages, shapes, seconds, each)


def _show(found):
    table(
        [
            (row.name, f"{1e3 * row.seconds:.4g}", f"{row.flop:,.0f}", f"{row.flop_per_s:,.0f}")
            for row in found.rows
        ],
        ("operator", "ms", "FLOP", "FLOP/s"),
    )
    table(
        [
            (name, f"{1e3 * latency:.4g}", f"{speed:,.0f}")
            for name, (latency, speed) in found.pages.items()
        ],
        ("page store", "latency, ms", "bytes/s"),
    )
    if found.shapes:
        rows = [
            (_milliseconds(found.seconds.get(s.text)), str(s.count), s.text) for s in found.shapes
        ]
        table(rows, ("ms", "nodes", "shape (-: too large for the board's heap)"))
    print(f"times: {found.how}")


def _milliseconds(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.4g}"


def _more(found, mark):
    """Return the figures of instructions and shapes, as `_table` takes them."""
    figures = {}
    if found.each:
        core, seconds, count = found.each
        source = f"median of {count} timings through the cost model's instructions: {mark}"
        figures["instructions." + core] = (seconds, source)
    return figures | {"shapes." + text: (s, mark) for text, s in found.seconds.items()}


def _require_heap(board):
    """Refuse, before anything is copied, a board whose heap does not hold what is measured."""
    info = board.info()
    unit_of = merge.layout(info.arch).unit_of
    files, loaded = package.build(info.arch, ["net"]), set()
    todo = {unit_of[name] for name in ("net.network", "net.training")}
    while todo:
        name = todo.pop()
        loaded.add(name)
        todo |= package.imports_at_head(name, info.arch) - loaded
    code = sum(len(files[name + ".mpy"]) for name in loaded)
    native = [
        len(files[name + ".mpy"])
        for name in package.natives(info.arch)
        if "_net" in name and name + ".mpy" in files
    ]
    needed = code + min(native, default=0) + heap_bytes()
    if needed > info.heap_free_bytes:
        raise Missing(
            f"{board.name}: too little heap to measure: {info.heap_free_bytes} bytes are free, "
            f"code and network take {needed}; use a shipped table"
        )


def _name(args):
    return args.like or args.board or "board"


def _description(args):
    name = _name(args)
    if args.like or name in boards.names():
        return boards.load(name)
    return None


def _clock(args):
    found = _description(args) if args.like else None
    return found.value("clock_hz") if found else None


def _power(args):
    """(W, source): of a CSV, of volts and amperes given or in the board file, or published."""
    for option, given in (("voltage", args.voltage), ("current", args.current)):
        if given is not None and not 0 < given < math.inf:
            raise AcclimateError(f"--{option} {given}: expected more than 0")
    found = _description(args)
    volts = args.voltage or (found.value("power.voltage_v") if found else None)
    if args.power:
        watts = mean_power(read_text(args.power), volts)
        return watts, f"mean of {Path(args.power).name}, a power meter's"
    amperes = args.current or (found.value("power.active_current_a") if found else None)
    if volts and amperes:
        return volts * amperes, f"{volts:g} V x {amperes:g} A, of the board file or given"
    try:
        published = cost_table(_name(args))
    except AcclimateError:
        raise AcclimateError(
            "energy: give --voltage and --current, --power, or --like a board that has them"
        ) from None
    watts = published.figures.get("compute_power_w", 0.0)
    return watts, f"assumption: the published table {published.name}"


def _table(args, measured, power):
    rows, pages, how = measured.rows, measured.pages, measured.how
    step = rows[-1]
    watts, source = power
    mark = f"{how}, {date.today().isoformat()}"
    figures = {
        "flop_per_s": (step.flop_per_s, f"{step.name}, int8: {mark}"),
        "compute_power_w": (watts, source),
    }
    for name in ("pagein", "pageout"):
        latency, speed = pages[name]
        figures[name + ".latency_s"] = (latency, f"{args.store}: {mark}")
        figures[name + ".bytes_per_s"] = (speed, f"{args.store}: {mark}")
        figures[name + ".power_w"] = (watts, "the processor moves the bytes: its own power")
    for row in rows:
        if row.name in OPERATOR_OF:
            figures["operators." + OPERATOR_OF[row.name]] = (row.flop_per_s, f"{row.name}: {mark}")
    found = _description(args)
    for key in ("erase_block_bytes", "endurance_cycles"):
        if found and found.value("flash." + key):
            figures["store." + key] = (found.value("flash." + key), f"boards/{found.name}.toml")
    figures |= _more(measured, mark)
    kind = "estimated" if "estimate" in how else "measured"
    title = found.title if found else (args.port or "board")
    text = table_text(_name(args), title, found.core if found else "", kind, 1, figures)
    costs.parse(tomllib.loads(text), "the new table")
    return text
