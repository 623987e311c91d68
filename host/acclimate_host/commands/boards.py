# SPDX-License-Identifier: MIT
"""``acclimate boards``: the boards, and what each supports."""

import json
import sys
from dataclasses import asdict

from acclimate_host import boards
from acclimate_host.commands import table
from acclimate_host.connect import RUNNABLE, why_not


def add_arguments(parser):
    parser.add_argument("name", nargs="?", help="all of one board: its name, or a .toml file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args):
    if args.name:
        return _one(boards.load(args.name), args.json)
    found, errors = boards.load_all()
    if args.json:
        print(json.dumps([asdict(board) for board in found], indent=1))
    else:
        heads = ("name", "board", "arch", "RAM", "MicroPython", "CircuitPython", "here")
        table([_row(board) for board in found], heads)
        print("\nMicroPython, CircuitPython: native = loads native modules; pure = Python only")
    for error in errors:
        print(f"acclimate boards: {error}", file=sys.stderr)
    return errors[0].exit_code if errors else 0


def _row(board):
    ram = board.value("ram_bytes")
    return (
        board.name,
        board.title,
        board.arch,
        f"{ram // 1024} KB" if ram else "-",
        _support(board, "micropython"),
        _support(board, "circuitpython"),
        _here(board),
    )


def _support(board, runtime):
    native = board.native(runtime)
    if native is None:
        return "-"
    return {"yes": "native", "no": "pure"}.get(native, "pure (native: own build)")


def _here(board):
    if board.name not in RUNNABLE:
        return "by --port"
    return "no: " + why_not(board.name) if why_not(board.name) else "yes"


def _one(board, as_json):
    if as_json:
        print(json.dumps(asdict(board), indent=1))
        return 0
    print(f"{board.name}: {board.title} ({board.core}, {board.arch})")
    if board.note:
        print(f"  {board.note}")
    print(f"  what was run: {board.ran or 'not known'}")
    for name, figure in board.figures.items():
        print(f"  {name} = {figure.value}  [{figure.source}]")
    for support in board.runtimes:
        sha = "SHA-256 in hashlib" if support.has_sha256 else "no SHA-256 in hashlib"
        print(f"  {support.name}: native modules: {support.native}; {sha}  [{support.source}]")
        if support.note:
            print(f"    {support.note}")
    print("  not known: " + (", ".join(board.unknown()) or "nothing"))
    return 0
