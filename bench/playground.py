# SPDX-License-Identifier: MIT
"""The page: its weight, its first picture, and redraws while a point is dragged.

Times are of headless Chromium on this machine, measured by Playwright; the median of some loads.
"""

import statistics
import sys
from pathlib import Path

from acclimate_host.page import files
from bench.common import table, write

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
from harness import browser  # noqa: E402 (the browser that the tests use)

TARGETS = [
    ("page_bytes", "<=", 1_500_000),
    ("first_picture_s", "<=", 2),
    ("redraws_per_s", ">=", 20),
]
LOADS = 5
DRAG_MOVES = 300
DRAG_S = 4


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


def main():
    reason = browser.why_not()
    if reason:
        raise SystemExit(f"bench playground: {reason}")
    figures = {"page_bytes": sum(path.stat().st_size for path in files.folder().iterdir())}
    with browser.opened() as chromium, browser.served() as address:
        loads = [first_picture_s(chromium, address) for _ in range(LOADS)]
        figures["first_picture_s"] = round(statistics.median(loads), 3)
        figures["redraws_per_s"] = round(redraws_per_s(chromium, address), 1)
    path = write("playground", figures)
    missed = table("The page", figures, TARGETS)
    print(f"written to {path}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
