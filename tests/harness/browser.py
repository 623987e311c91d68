# SPDX-License-Identifier: MIT
"""Headless Chromium for tests of the page: without a network, and any error of the page fails."""

import shutil
import threading
import time
from contextlib import contextmanager

import pytest

from acclimate_host.errors import Missing
from acclimate_host.page import files
from acclimate_host.page.serve import HOST, server
from harness import runtimes

WAIT_S = 60


def why_not():
    """Return why the page cannot be tested here, or None."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    if shutil.which("chromium") is None:
        return "chromium is not installed"
    try:
        files.folder()
    except Missing as error:
        return str(error)
    return None


def need():
    """Skip the test where there is no browser or page; in CI that is a failure."""
    reason = why_not()
    if reason and runtimes.must_run():
        pytest.fail(f"the browser must run in CI: {reason}")
    if reason:
        pytest.skip(reason)


@contextmanager
def opened():
    """Give a Chromium; one for a file of tests."""
    need()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served():
    """Give the address of the page on this computer."""
    with server(0) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://{HOST}:{http.server_address[1]}/"
        http.shutdown()
        thread.join()


class Page:
    """A page at an address, and what went wrong on it: `faults` must stay empty."""

    def __init__(self, browser, address, width=1100, scheme="light"):
        self.origin = address.split("?")[0].rstrip("/")
        self.faults = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(WAIT_S * 1000)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._on_console)
        self.page.route("**/*", self._on_request)
        self.bytes = {}
        self.page.on("response", self._on_response)
        self.page.goto(address)

    def _on_console(self, message):
        if message.type == "error":
            self.faults.append(message.text)

    def _on_request(self, route):
        if route.request.url.startswith((self.origin, "data:", "blob:")):
            return route.continue_()
        self.faults.append(f"asked for {route.request.url}")
        route.abort()

    def _on_response(self, response):
        if response.status >= 400:
            self.faults.append(f"{response.status}: {response.url}")

    def text(self, name):
        return self.page.inner_text("#" + name)

    def tab(self, name):
        self.page.click(f"#to-{name}")

    def until(self, question, seconds=WAIT_S):
        """Wait until a function answers with something true, and return it."""
        deadline = time.monotonic() + seconds
        while True:
            found = question()
            if found:
                return found
            assert time.monotonic() < deadline, f"waited {seconds} s; faults: {self.faults}"
            self.page.wait_for_timeout(50)

    def color(self, canvas, x, y):
        """The pixel at a share of a canvas, as [red, green, blue]."""
        return self.page.evaluate(
            """([id, x, y]) => {
              const c = document.getElementById(id);
              const at = [Math.floor(x * (c.width - 1)), Math.floor(y * (c.height - 1))];
              return Array.from(c.getContext("2d").getImageData(...at, 1, 1).data).slice(0, 3);
            }""",
            [canvas, x, y],
        )

    def close(self):
        self.page.close()
        assert not self.faults, self.faults
