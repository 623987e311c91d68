# SPDX-License-Identifier: MIT
"""Teaching in the terminal: one block of lines that is drawn anew, and single keys."""

import os
import select
import shutil
import sys
import time
from contextlib import contextmanager

from acclimate_host.errors import AcclimateError, BoardError, ConnectError

_LOOK_AGAIN_S = 1


class Keys:
    """Single keys of a terminal, or the characters of a pipe; `next` returns "" without one."""

    def __init__(self, stream=sys.stdin):
        self._file = stream.fileno()
        self._is_terminal = os.isatty(self._file)
        self.ended = False

    @contextmanager
    def at_once(self):
        """Have keys come one by one, without echo, until the end of the block."""
        if not self._is_terminal:
            yield self
            return
        import termios
        import tty

        before = termios.tcgetattr(self._file)
        try:
            tty.setcbreak(self._file)
            yield self
        finally:
            termios.tcsetattr(self._file, termios.TCSADRAIN, before)

    def next(self, timeout_s=0):
        if self.ended or not select.select([self._file], [], [], timeout_s)[0]:
            return ""
        key = os.read(self._file, 1).decode("ascii", "replace")
        self.ended = not key
        return key


class Screen:
    """Lines that replace those drawn before, on a terminal; elsewhere only the changed word."""

    def __init__(self, stream=sys.stdout):
        self._out = stream
        self._is_terminal = stream.isatty()
        self._drawn = 0
        self._word = None

    def draw(self, lines, word):
        if not self._is_terminal:
            if word and word != self._word:
                print(word, file=self._out, flush=True)
            self._word = word
            return
        width = shutil.get_terminal_size().columns - 1
        text = f"\x1b[{self._drawn}F" if self._drawn else ""
        lines = [*lines, word]
        text += "".join("\x1b[K" + line[:width] + "\n" for line in lines)
        self._out.write(text)
        self._out.flush()
        self._drawn = len(lines)


def teach(session, trains=True, keys=None, screen=None):
    """Let a person teach until q or Ctrl-C; returns when the board is left."""
    keys, screen = keys or Keys(), screen or Screen()
    word = (
        "press the number of a gesture while you make it" if trains else "press a number to keep"
    )
    state = {}
    with keys.at_once():
        while not keys.ended:
            key = keys.next()
            if key in ("q", "\x03", "\x04"):
                return
            try:
                found = on_key(session, key, trains) if key else session.poll()
            except (ConnectError, BoardError) as error:
                word = f"{error}; {len(session.windows)} windows are kept here"
                screen.draw(shown(session, state, trains), word)
                state = again(session, keys, screen, state)
                if state is None:
                    return
                word = f"the board is back and knows all {len(session.windows)} windows again"
                continue
            except AcclimateError as error:
                word = str(error)
                continue
            word = found.get("word") or _told(session, found, key) or word
            if "told" in found:
                state = {**state, **found}
            screen.draw(shown(session, state, trains), word)


def again(session, keys, screen, state):
    """Try until the board is there again; None when the person gives up."""
    while True:
        if keys.next(_LOOK_AGAIN_S) in ("q", "\x03", "\x04") or keys.ended:
            return None
        try:
            return session.resume()
        except AcclimateError as error:
            screen.draw(shown(session, state, True), f"waiting for the board ({error}); q ends")
            time.sleep(_LOOK_AGAIN_S)


def on_key(session, key, trains):
    """Do what a key asks for."""
    count = len(session.settings.labels)
    if key.isdigit() and 1 <= int(key) <= count:
        return session.tell(int(key) - 1)
    play = "abcdefghi".find(key)
    if session.settings.sensor == "replay" and 0 <= play < count:
        return session.perform(play)
    play = "ABCDEFGHI".find(key)
    if session.settings.sensor == "replay" and 0 <= play < count:
        return session.perform(play, unseen=True)
    if trains and key == "t":
        return session.train()
    if trains and key == "s":
        return session.save()
    return {"word": f"{key!r} is no key here"}


def _told(session, found, key):
    """A sentence about what has just happened, or None."""
    labels = session.settings.labels
    if "saved" in found:
        text = "saved: from the next start on the board does this alone"
        return text + (f"; what it did before is {found['before']}" if found["before"] else "")
    verdict = found.get("verdict")
    if verdict:
        words = {"first": "it has learned", "kept": "it knows better now"}
        return words.get(verdict, "the new training was not better, so the old one stays")
    if "window" in found:
        return f"that was {labels[int(key) - 1]}: {len(session.windows)} windows so far"
    return found.get("note")


def shown(session, state, trains):
    """The lines about the board."""
    labels = session.settings.labels
    wide = max(map(len, labels))
    told = state.get("told", [0] * len(labels))
    lines = [f"{session.board.name}, sensor {session.sensor}: {_keys(session, trains)}", ""]
    confusion = state.get("confusion", [0] * len(labels) ** 2)
    said = state.get("said")
    heads = " ".join(label[:6].rjust(6) for label in labels)
    lines.append(f"{'':{wide + 6}} windows   {'said when it was: ' + heads if trains else ''}")
    for k, label in enumerate(labels):
        mark = "▶" if k == said else " "
        row = confusion[k * len(labels) : (k + 1) * len(labels)]
        cells = " " * 18 + " ".join(str(n).rjust(6) for n in row) if trains else ""
        own = " *" if k == session.performing else "  "
        lines.append(f"{mark} {k + 1} {label:{wide}}{own} {told[k]:7}   {cells}")
    lines.append("")
    if trains:
        lines.append(_learning(labels, state))
    return lines


def _keys(session, trains):
    count = len(session.settings.labels)
    words = [f"1-{count} name it"]
    if session.settings.sensor == "replay":
        last = "abcdefghi"[count - 1]
        words.append(f"a-{last} play it (A-{last.upper()}: unseen)")
    if trains:
        words += ["t train", "s save"]
    return ", ".join([*words, "q quit"])


def _learning(labels, state):
    said = state.get("said")
    more = ", ".join(labels[k] for k in state.get("lacking", ()))
    what = labels[said] if said is not None else "nothing yet"
    what += f", show more of {more}" if more else ""
    heap = state.get("heap", [0, 0])
    recent = state.get("recent")
    right = f"{recent / 10:.0f} % right lately" if recent is not None else "not told yet"
    busy = ", training" if state.get("training") else ""
    return (
        f"it says: {what} ({right}); {state.get('kept', 0)} trainings kept, "
        f"{state.get('discarded', 0)} not; heap {heap[0]:,} used, {heap[1]:,} free{busy}"
    )
