# SPDX-License-Identifier: MIT
"""The page: its weight, first picture and redraws; and what teaching a board three gestures takes.

Times are of headless Chromium on this machine, measured by Playwright; the median of some loads.
The board is the emulated nRF52840 that replays the watch recordings; instructions are those of all
steps of the training, by QEMU's instruction clock. It is taught until its first model is there.
"""

import statistics
import sys
from pathlib import Path

from acclimate_host.connect import open_board, why_not
from acclimate_host.page import files
from acclimate_host.teach import recordings
from acclimate_host.teach.session import Session, Settings
from bench.common import table, write

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
from harness import browser  # noqa: E402 (the browser that the tests use)

TARGETS = [
    ("page_bytes", "<=", 1_500_000),
    ("first_picture_s", "<=", 2),
    ("redraws_per_s", ">=", 20),
    ("teach.windows", None, None),
    ("teach.instructions", None, None),
    ("teach.unseen_right", ">=", 0.85),
    ("teach.heap_used_bytes", None, None),
]
LOADS = 5
DRAG_MOVES = 300
DRAG_S = 4
UNSEEN = 12  # windows of each gesture


def first_picture_s(chromium, address):
    """Seconds from the start of a load to the first boundary on the screen."""
    page = browser.Page(chromium, address)
    found = page.until(lambda: page.page.evaluate("window.firstPicture"))
    page.close()
    return found / 1000


def redraws_per_s(chromium, address):
    """Boundaries drawn in a second while one point of 60 is dragged to and fro."""
    page = browser.Page(chromium, address)
    page.until(lambda: page.page.evaluate("window.firstPicture"))
    for _ in range(2):  # the first time the browser still compiles
        found = page.page.evaluate(_DRAG, [DRAG_MOVES, DRAG_S])
    page.close()
    return found


_DRAG = """async ([moves, seconds]) => {
  const canvas = document.getElementById("points-canvas");
  const box = canvas.getBoundingClientRect();
  const send = (name, x, y) => canvas.dispatchEvent(new PointerEvent(name, {
    clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true }));
  canvas.setPointerCapture = () => {};
  const [x, y] = window.drawn()[0];
  const at = [((x + 4) / 8) * box.width, ((3 - y) / 6) * box.height];
  send("pointerdown", ...at);
  window.redraws.length = 0;
  const start = performance.now();
  for (let k = 0; performance.now() - start < seconds * 1000; k++) {
    send("pointermove", at[0] + 60 * Math.sin(k / 9), at[1] + 60 * Math.cos(k / 9));
    await new Promise((next) => setTimeout(next, 8));
  }
  send("pointerup", ...at);
  return window.redraws.length / ((performance.now() - start) / 1000);
}"""


def teach():
    """Teach the emulated board; windows, instructions, and how it then does on unseen ones."""
    labels = recordings.LABELS
    with open_board("nrf52840", icount=10) as board:
        session = Session(board, Settings(labels), data=recordings.replay_file())
        session.set_up()
        state = {"taught": False}
        while not state["taught"]:
            for gesture in range(len(labels)):
                session.perform(gesture)
                for _ in range(4):
                    state = session.poll()
                session.tell(gesture)
        first = len(session.windows)
        right = 0
        for gesture in range(len(labels)):
            session.perform(gesture, unseen=True)
            for _ in range(3):
                session.poll()
            right += sum(session.poll()["said"] == gesture for _ in range(UNSEEN))
        _, hz = board.ticks()
        return {
            "windows": first,
            "instructions": board.instructions(state["ticks"], hz),
            "unseen_right": right / (UNSEEN * len(labels)),
            "heap_used_bytes": state["heap"][0],
        }


def main():
    reason = browser.why_not()
    if reason:
        raise SystemExit(f"bench playground: {reason}")
    figures = {"page_bytes": sum(path.stat().st_size for path in files.folder().iterdir())}
    with browser.opened() as chromium, browser.served() as address:
        loads = [first_picture_s(chromium, address) for _ in range(LOADS)]
        figures["first_picture_s"] = round(statistics.median(loads), 3)
        figures["redraws_per_s"] = round(redraws_per_s(chromium, address), 1)
    reason = why_not("nrf52840")
    if reason:
        print("left out:", reason)
    else:
        figures["teach"] = teach()
    path = write("playground", figures)
    missed = table("The page", figures, TARGETS)
    print(f"written to {path}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
