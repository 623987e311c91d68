# SPDX-License-Identifier: MIT
"""`python -m acclimate_host.demo`: a model meets a new user, and learns on the board."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from acclimate_host.commands.showing import progress
from acclimate_host.demo import deploy, network, protocol, second, summary, watch
from acclimate_host.demo.runner import Runner
from acclimate_host.errors import AcclimateError
from acclimate_host.paths import built, repository


def add_arguments(parser):
    parser.add_argument(
        "--board",
        default=os.environ.get("BOARD") or "desktop",
        help=", ".join(deploy.BOARDS) + " (all but the first emulated); default: $BOARD, "
        "else desktop",
    )
    parser.add_argument(
        "--port", default=os.environ.get("PORT") or None, help="a real board, e.g. /dev/ttyACM0"
    )
    parser.add_argument("--user", type=int, default=1, help="the new user, 1..10")
    parser.add_argument(
        "--updated", type=int, default=7, help="the user of part 2, whose models come by HTTP"
    )
    parser.add_argument(
        "--small",
        action="store_true",
        help="fewer features and samples, linear kernel; samd21 takes fewer exercises as well",
    )


def main():
    parser = argparse.ArgumentParser(prog="python -m acclimate_host.demo", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


def run(args):
    """Show all parts; return the exit code."""
    try:
        return _run(args)
    finally:
        progress("")


def _run(args):
    started = time.monotonic()
    try:
        progress("reading the recordings")
        recordings = watch.load(built("data", "watch.npz"))
        progress("starting the board, and installing what it needs")
        opened = deploy.open_for_demo(args.board, args.port)
    except (AcclimateError, FileNotFoundError) as error:
        print(f"acclimate demo: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 2)
    with opened.board as board:
        settings = protocol.SMALL if args.small else protocol.FULL
        if board.info().heap_free_bytes < 32 * 1024:
            settings = protocol.TINY
        progress("cutting the recordings into windows")
        try:
            session = protocol.session(protocol.windows(recordings, settings), settings, args.user)
        except ValueError as error:
            print(f"acclimate demo: --{error}", file=sys.stderr)
            return 2
        introduce(opened, settings, session)
        runner = Runner(board, settings)
        outcome = None
        try:
            outcome = runner.run(session)
            unit, clock = clock_of(board)
        except AcclimateError as error:
            if not deploy.is_full(error):
                print(f"acclimate demo: {error}", file=sys.stderr)
                return error.exit_code
            print(f"Left out  the main job: the heap of {args.board} is too small ({error})")
    if outcome is not None:
        finish(args, opened, settings, session, runner, outcome, unit, clock)
        print(f"The main job took {time.monotonic() - started:.0f} seconds on this computer.")
    try:
        second.run(args.board, args.port, args.updated, recordings)
    except AcclimateError as error:
        print(f"acclimate demo: {error}", file=sys.stderr)
        return error.exit_code
    network_part(args, recordings)
    print(f"\n{time.monotonic() - started:.0f} seconds in all, set-up not counted.")
    print("\n".join(what_next(args)))
    return 0


def what_next(args):
    """Return lines for a person who has seen the demo: the board's prompt, and what to read."""
    board = f"--port {args.port}" if args.port else f"--board {args.board}"
    command = "acclimate"
    if not shutil.which(command):
        command = os.path.relpath(Path(sys.executable).with_name(command))
    lines = [
        f"Next      {command} repl {board}",
        "          opens a prompt: paste the ten lines of README.md there, and it trains a model.",
    ]
    if repository():
        pages = "docs/tutorials/index.md begins with that; docs/examples.md has whole programs."
        lines.append(" " * 10 + pages)
    return lines


def introduce(opened, settings, session):
    """What is about to happen, in three lines."""
    names = ", ".join(watch.EXERCISES[e] for e in settings.exercises)
    print(f"Board     {opened.title}")
    for text in opened.left_out:
        print(f"Left out  {text}")
    print(f"Task      which shoulder exercise does the watch see? {names}")
    print(f"Data      real recordings of 10 people (PyPI: seglearn); user {session.user} is new")
    print(
        f"Model     {settings.machine['kernel']} SVM on {settings.features().width} features "
        f"of 2.56 s, computed on the board from raw samples\n"
    )


def clock_of(board):
    """(function that turns ticks into text, remark about it)."""
    if board.emulated and board.emulator.icount is not None:
        hz = int(board.exec("import qboard\nprint(qboard.HZ)"))
        per_tick = 1e9 / hz / (1 << board.emulator.icount)
        remark = "Instructions are counted by the emulator; not measured on hardware."
        return summary.ticks_as_instructions(per_tick), remark
    if board.emulated:
        hz = int(board.exec("import qboard\nprint(qboard.HZ)"))
        return summary.ticks_as_time(hz), "Times are the emulator's, not those of a board."
    return summary.ticks_as_time(1e6), "Times are those of the machine that ran it."


def finish(args, opened, settings, session, runner, outcome, unit, clock):
    """The table, and the picture when matplotlib is there."""
    rows = summary.result_rows(session, settings, outcome, runner.costs, unit)
    print()
    print("\n".join(summary.table(rows)))
    print(clock)
    name = args.port.replace("/", "_").strip("_") if args.port else args.board
    path = built("demo", f"user{args.user}-{name}.png")
    try:
        from acclimate_host.plots.learning import personalisation

        truths = [w.truth for w in session.unseen]
        before, after = (summary.share(truths, o)[2] for o in (outcome.before, outcome.after))
        personalisation(
            path,
            outcome,
            truths,
            (runner.margins_before, runner.margins_after),
            runner.shares,
            [watch.EXERCISES[e] for e in settings.exercises],
            (
                f"User {args.user} is new: {before:.0f} % right before, {after:.0f} % after",
                f"Trained on {opened.title}",
            ),
        )
    except ImportError:
        print("Left out  the picture (matplotlib is not installed)")
    else:
        print(f"Picture   {os.path.relpath(path)}")


def _pretraining(done, total):
    progress("training the network on the other people", done, total)


def network_part(args, recordings):
    """An int8 network learns the same user in an arena of a fixed size; leaves as a delta."""
    print("\nNetwork   an int8 net of 9,300 weights meets the same user, who now wears the watch")
    print("          the other way round, and learns on the board")
    if args.board == "samd21" and not args.port:
        print("Left out  the network: its files need more flash than this board has")
        return
    cache = built("data", f"network_without_user{args.user}.npz")
    if not cache.exists():
        print("  this computer trains it on the other people first, once: about 15 seconds")
    started = time.monotonic()
    folder = network.scratch_folder(args.board, args.port)
    try:
        opened = deploy.open_for_demo(args.board, args.port, ("net",))
        with opened.board as board:
            plan = network.prepare(
                recordings, args.user, cache, network.is_native(board), _pretraining
            )
            progress("")
            print(
                f"Arena     {plan.program.arena_bytes:,} bytes hold all that changes; the "
                f"rest, {len(plan.program.code):,} bytes, is only read"
            )
            if plan.epochs < network.EPOCHS:
                print(
                    f"Left out  native kernels: {plan.epochs} passes over {plan.learn} samples "
                    "in Python take about a minute"
                )
            result = network.run(board, plan, folder=folder)
            unit, clock = clock_of(board)
    except AcclimateError as error:
        print(f"Left out  the network: {error}")
        return
    whole, _, delta = network.capsules(plan, result.weights)
    print(
        f"  one training step {unit(result.step_ticks)}, one prediction "
        f"{unit(result.predict_ticks)}"
    )
    print(
        f"  what it learned: {len(result.weights)} bytes of weights, {len(delta)} bytes as a "
        f"signed delta capsule (whole: {len(whole):,})"
    )
    print(f"{clock}\nThe network took {time.monotonic() - started:.0f} seconds on this computer.")
    try:
        from acclimate_host.plots.arena import learning

        path = built("demo", f"network-user{args.user}-{args.board}.png")
        tensors = plan.step.layout.size_bytes
        learning(
            path,
            plan.step,
            f"One training step: tensors in {tensors:,} bytes; the arena of "
            f"{plan.program.arena_bytes:,} has state and work areas too",
            result.shares,
            f"User {args.user} has turned the watch",
        )
        print(f"Picture   {os.path.relpath(path)}")
    except ImportError:
        print("Left out  the picture (matplotlib is not installed)")


if __name__ == "__main__":
    sys.exit(main())
