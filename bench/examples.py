# SPDX-License-Identifier: MIT
"""The programs of examples/: run each, draw its picture, fill its output into docs/examples.md.

python -m bench.examples                     # or --board nrf52840; --only gesture,sound
"""

import argparse
import ast
import contextlib
import io
import re
import tempfile
from pathlib import Path

from acclimate_host.paths import repository
from acclimate_host.plots.style import AFTER, BEFORE, DROPPED, KEPT, MUTED, pyplot, save
from bench.common import write
from bench.example_runs import fleet_days, on_board, program

PAGE = repository() / "docs" / "examples.md"
IMAGES = repository() / "docs" / "images"


def columns(text, count):
    """Return the columns of a printed table of `count` whole numbers, as lists."""
    rows = re.findall(r"^ +" + r" +".join([r"(-?\d+)"] * count) + r"\b", text, re.MULTILINE)
    return [[int(row[i]) for row in rows] for i in range(count)]


def axes_of(title, what, per):
    """Return (figure, axes) of one small picture."""
    plt = pyplot()
    plt.rcParams["svg.fonttype"] = "none"  # letters as letters: smaller
    figure, axes = plt.subplots(figsize=(6.4, 2.9), layout="constrained")
    axes.set_title(title)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(what)
    axes.set_xlabel(per)
    return figure, axes


def made(name, *words):
    """Run a program of the computer's side; return its folder, which the caller removes."""
    folder = tempfile.TemporaryDirectory()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        program(name, *words, folder=folder.name)
    return folder, said.getvalue()


def gesture(board):
    text, _ = on_board(board, "gesture")
    rounds, shipped, learned = columns(text, 3)
    figure, axes = axes_of("A gesture that learns its user", "right of 18", "round")
    axes.plot(rounds, learned, "o-", color=AFTER, label="learning")
    axes.plot(rounds, shipped, "o-", color=BEFORE, label="as shipped")
    axes.set_ylim(0, 19)
    axes.legend(loc="lower right")
    return text, figure


def sound(board):
    folder, said = made("sound_tables")
    with folder:
        files = [Path(folder.name, "sound.tables")]
        text, value = on_board(board, "sound", files, ("kinds", "frontend"), "(alarm, scores)")
    alarm, scores = ast.literal_eval(value)
    figure, axes = axes_of("A machine that knows when it sounds wrong", "score", "window")
    axes.plot(range(1, len(scores) + 1), scores, color=AFTER)
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.axvline(40, color=DROPPED, linestyle=":")
    axes.annotate("the bearing begins to wear ", (40, min(scores)), ha="right", color=MUTED)
    axes.axvline(alarm, color=BEFORE)
    axes.annotate(" alarm", (alarm, max(scores)), va="top", color=BEFORE)
    return said + text, figure


def hvac(board):
    text, _ = on_board(board, "hvac")
    nights = re.findall(r"^ +(\d+) +-?\d+ C \| +(\d+) +(\d+) +(\d+)", text, re.MULTILINE)
    night, never, rule, learns = zip(*[map(int, row) for row in nights], strict=True)
    figure, axes = axes_of("A heating that learns its house", "minutes wrong", "night")
    axes.plot(night, never, color=DROPPED, label="never learns")
    axes.plot(night, rule, color=BEFORE, label="a rule")
    axes.plot(night, learns, color=AFTER, label="learns")
    axes.legend(loc="upper right", ncols=3)
    axes.set_ylim(0, 190)
    return text, figure


def keyword(board):
    folder, said = made("keyword_release")
    with folder:
        files = sorted(Path(folder.name, "words").iterdir())
        text, _ = on_board(board, "keyword_device", files, ("frontend",))
    rows = re.findall(r"^(\S+)\.acap ([a-z ]+?):.*\n  version (\d): (\d+) right", text, re.M)
    figure, axes = axes_of("A keyword model by capsule", "right of 16", "capsule that arrives")
    for at, (_, what, version, right) in enumerate(rows):
        axes.bar(at, int(right), color=KEPT if what == "confirmed" else DROPPED, width=0.6)
        axes.annotate(f"version {version}", (at, 0.4), ha="center", color="white")
    axes.set_xticks(range(len(rows)), [f"{name}.acap\n{what}" for name, what, *_ in rows])
    return said + text, figure


def fleet(_board):
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()):
            days = list(fleet_days(Path(folder), (1, 2, 3)))
    text = "".join(f"# day {n}\n{day}\n" for n, day in enumerate(days, 1)).replace("\r\n", "\n")
    right = [int(re.search(r"(\d+) of 40", day).group(1)) for day in days]
    figure, axes = axes_of("A device of a fleet", "right of 40", "day, and what came")
    bars = axes.bar(range(1, 4), right, color=AFTER, width=0.6)
    axes.bar_label(bars, [count or "no model yet" for count in right], padding=3)
    said = [day.splitlines()[-1].partition(":")[0] for day in days]
    axes.set_xticks(range(1, 4), [f"{n}: release {n} {what}" for n, what in enumerate(said, 1)])
    return text, figure


def paging(board):
    folder, said = made("paging_plan")
    with folder:
        files = [Path(folder.name, name) for name in ("net_program", "net_weights")]
        text, _ = on_board(board, "paging", files)
    arena, plain = (int(n.replace(",", "")) for n in re.findall(r"[\d,]{5,}", said)[:2])
    steps, right, _ = columns(text, 3)
    before = int(re.search(r"^ +0 +(\d+)$", text, re.MULTILINE).group(1))
    title = f"Training in {arena:,} bytes where all layers need {plain:,}"
    figure, axes = axes_of(title, "right of 30", "steps of training")
    axes.plot([0, *steps], [before, *right], "o-", color=AFTER)
    axes.set_ylim(0, 31)
    return said + text, figure


def federated(board):
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            program("federated", *[board, "desktop", "desktop"], folder=folder)
    rounds, average, *alone = columns(said.getvalue(), 5)
    figure, axes = axes_of("Three boards, one model", "right of 100", "round")
    axes.plot(rounds, average, "o-", color=AFTER, label="the average")
    for n, right in enumerate(alone):
        axes.plot(rounds, right, color=DROPPED, label=None if n else "each board alone")
    axes.set_xticks(rounds)
    axes.set_ylim(0, 100)
    axes.legend(loc="upper left")
    return said.getvalue(), figure


ALL = {f.__name__: f for f in (gesture, sound, hvac, keyword, fleet, paging, federated)}


def fill(page, name, text):
    """Return the page with an example's output in its place."""
    shown = "".join(line.rstrip() + "\n" for line in text.strip().splitlines())
    pattern = rf"(<!-- output: {name} -->\n```text\n).*?(```\n)"
    found, count = re.subn(pattern, lambda m: m[1] + shown + m[2], page, flags=re.S)
    if count != 1:
        raise ValueError(f"{PAGE}: expected one place for the output of {name}, found {count}")
    return found


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--board", default="desktop")
    parser.add_argument("--only", default=",".join(ALL))
    args, said = parser.parse_args(words), {}
    for name in args.only.split(","):
        said[name], figure = ALL[name](args.board)
        save(figure, IMAGES / f"example_{name}.svg")
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), name, said[name]), encoding="utf-8")
        print(f"{name}: docs/images/example_{name}.svg")
    print(write("examples", {"board": args.board, "output": said}))


if __name__ == "__main__":
    main()
