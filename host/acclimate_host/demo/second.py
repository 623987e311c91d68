# SPDX-License-Identifier: MIT
"""Run the demo's second part on the board that was asked for, and show how it went."""

import os
import time

from acclimate_host.connect import open_board
from acclimate_host.demo import deploy, protocol, update_small
from acclimate_host.demo.summary import table
from acclimate_host.demo.update import NEEDED, ON_DESKTOP, UpdateDemo
from acclimate_host.errors import AcclimateError, BoardError, Missing, Refused
from acclimate_host.paths import built


def run(name, port, user, recordings):
    """Open a board, go through the updates, print the table and write the picture."""
    try:
        _run(name, port, user, recordings)
    except (Missing, Refused) as error:  # Refused: no room beside what the board has
        print(f"Left out  part 2: {error}")
    except BoardError as error:
        if not deploy.is_full(error):
            raise
        print(f"Left out  part 2 from here on: the heap of {port or name} is too small ({error})")


def _run(name, port, user, recordings):
    started = time.monotonic()
    print(f"\nPart 2    better and worse models come over HTTP, for user {user}")
    settings = protocol.FULL
    found = protocol.windows(recordings, settings)
    if name == "samd21" and not port:
        _smallest(recordings, user)
        return
    with _open(name, port) as board:
        way = "by its own sockets" if board.name == "desktop" else "over the serial line"
        title = f"{board.name}, HTTP {way}"
        try:
            demo = UpdateDemo(board, found, settings, user)
        except ValueError as error:
            raise AcclimateError(f"--updated: {error}") from None
        story = demo.run()
    print()
    print("\n".join(table(_rows(story))))
    _picture(story, user, name if not port else "port", title)
    print(f"Part 2 took {time.monotonic() - started:.0f} seconds on this computer.")


def _open(name, port):
    if port:
        return open_board(port)
    if name in (None, "", "desktop"):
        return deploy.open_for_demo(None, None, (*NEEDED, *ON_DESKTOP)).board
    return open_board(name)


def _rows(story):
    rows = [("model in use", "right on later windows")]
    for step, version, share in story.shares:
        rows.append((f"{step}: version {version}", f"{share:.0f} %"))
    for version, (_, sent) in story.capsules.items():
        rows.append((f"version {version}: sent over HTTP", f"{sent:,} bytes"))
    return rows


def _picture(story, user, name, title):
    path = built("demo", f"updates-user{user}-{name}.png")
    try:
        from acclimate_host.plots.updates import updates

        first, last = story.shares[0][2], story.shares[-1][2]
        what = f"User {user}: {first:.0f} % right before the updates, {last:.0f} % after"
        updates(path, story, (what, title))
    except ImportError:
        print("Left out  the picture (matplotlib is not installed)")
    else:
        print(f"Picture   {os.path.relpath(path)}")


def _smallest(recordings, user):
    """Two exercises in 32 KB: pull, verify, the board's own verdict, trial, roll back."""
    print("Left out  the power cut (the flash of this emulated board ends with the emulator)")
    print("Left out  updates by difference: whole capsules are pulled")
    found = protocol.windows(recordings, update_small.SETTINGS)
    try:
        demo = update_small.SmallDemo(found, user)
    except ValueError as error:
        raise AcclimateError(f"--updated: {error}") from None
    story = demo.run()
    print(f"  heap free beside store, machine and judge: {min(demo.free):,} bytes\n")
    print("\n".join(table(_rows(story))))
