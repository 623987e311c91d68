# SPDX-License-Identifier: MIT
"""Take the pictures of docs/playground.md and docs/teach.md in headless Chromium.

usage: python tools/playground_pictures.py       (after make playground)
"""

import sys
from pathlib import Path

from PIL import Image

from acclimate_host.connect import open_board
from acclimate_host.teach import recordings
from acclimate_host.teach.bridge import Bridge
from acclimate_host.teach.session import Session, Settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from harness import browser  # noqa: E402 (the browser that the tests use)

IMAGES = ROOT / "docs" / "images"
WIDTH, COLORS = 900, 128


def shoot(page, name):
    page.page.wait_for_timeout(400)
    path = IMAGES / f"{name}.png"
    page.page.screenshot(path=path, full_page=True)
    Image.open(path).convert("RGB").quantize(COLORS).save(path, optimize=True)
    print(f"docs/images/{name}.png")


def play(chromium, address):
    """One picture a tab, each after something has happened."""
    page = browser.Page(chromium, address, WIDTH)
    page.until(lambda: page.text("points-steps").isdigit())
    page.page.mouse.move(1, 1)
    page.page.click("#points-moons")
    shoot(page, "playground_points")
    page.tab("drift")
    page.until(lambda: page.text("drift-now") == "100 %")
    page.page.click("#drift-jump")
    page.until(lambda: int(page.text("drift-kept")) >= 2)
    page.until(lambda: int(page.text("drift-now").split()[0]) >= 90)
    page.page.click("#drift-run")
    shoot(page, "playground_drift")
    page.tab("swap")
    page.until(lambda: page.text("swap-all"))
    shoot(page, "playground_swap")
    page.tab("network")
    page.until(lambda: "of" in page.text("net-right"))
    page.page.click("#net-train")
    page.until(lambda: page.text("net-seen") == "120")
    shoot(page, "playground_network")
    page.tab("plan")
    page.until(lambda: "%" in page.text("plan-ram-value"))
    shoot(page, "playground_plan")
    page.close()


def teach(chromium):
    """The page beside a board that has learned three gestures."""
    with open_board("nrf52840") as board:
        session = Session(board, Settings(recordings.LABELS), data=recordings.replay_file())
        session.set_up()
        bridge = Bridge(session)
        bridge.start()
        page = browser.Page(chromium, bridge.address, WIDTH)
        for turn in range(8):
            for gesture in range(len(recordings.LABELS)):
                session.perform(gesture)
                for _ in range(5 + turn % 2):
                    bridge.step()
                    page.page.wait_for_timeout(10)
                page.page.keyboard.press(str(gesture + 1))
                page.page.wait_for_timeout(80)
                bridge.step()
        for _ in range(8):
            bridge.step()
            page.page.wait_for_timeout(20)
        shoot(page, "teach")
        bridge.stop()


def main():
    with browser.opened() as chromium:
        with browser.served() as address:
            play(chromium, address)
        teach(chromium)


if __name__ == "__main__":
    main()
