# SPDX-License-Identifier: MIT
"""The fleet's page in a real browser: what it shows is what the command line prints."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import capsule_cases as cases
import pytest

from acclimate.pull import make_report
from acclimate.pull import reports as report
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import Limits, Rollout
from acclimate_host.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def serving(folder, *more):
    """Run ``acclimate serve``; give its address."""
    command = [sys.executable, "-m", "acclimate_host.cli", "serve", "--port", "0", *more]
    with subprocess.Popen([*command, str(folder)], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def halted(tmp_path_factory):
    """A repository whose rollout of version 2 has halted: 12 devices, 4 of them rolled back."""
    folder = tmp_path_factory.mktemp("fleet") / "repository"
    repository, reports = Repository(folder, cases.KEY), Reports(folder / "reports", cases.KEY)
    repository.publish(cases.capsule(1))
    rollout = Rollout(repository, 7, "all", reports)
    rollout.start(cases.capsule(2), (100,), limits=Limits(least=2))
    for device in range(1, 13):
        store = cases.store(cases.flash())
        store.swap_capsule(cases.capsule(1))
        if device <= 10:
            store.swap_capsule(cases.capsule(2))
        if device <= 4:
            store.rollback()
        reports.take(make_report(store, device, 1, report.TAKEN))
    assert rollout.step()["state"] == "halted"
    return folder


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium; make setup")
    with playwright.sync_playwright() as tool:
        opened = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def test_the_page_shows_versions_states_and_the_halt(halted, browser, tmp_path):
    with serving(halted, "--no-reports", "--dashboard") as url:
        page = browser.new_page()
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(url + "/fleet")
        page.wait_for_selector(".halted")
        text = page.inner_text("body")
        assert "12 devices have reported" in text
        assert "version 2 for 0 %" in text and "Version 2: 6 of 12 devices" in text
        assert "Version 1: 6 of 12 devices" in text
        assert "halted: 4 of 10 devices harmed (4 rolled back)" in text
        width = page.eval_on_selector(".bar .rolled", "e => e.parentElement.offsetWidth")
        assert page.eval_on_selector(".bar .rolled", "e => e.offsetWidth") * 3 == pytest.approx(
            width, abs=4
        )
        page.screenshot(path=os.environ.get("FLEET_PICTURE") or tmp_path / "fleet.png")
        assert not errors and all(one.startswith(url + "/fleet") for one in asked)
        page.close()


def test_what_devices_say_is_text_and_never_markup(tmp_path, browser):
    repository = Repository(tmp_path, cases.KEY)
    repository.publish(cases.capsule(1))
    folder = tmp_path / "reports"
    store = cases.store(cases.flash())
    Reports(folder, cases.KEY).take(make_report(store, 1, 1))
    (path,) = folder.glob("*.json")
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "state": "<img src=x onerror=document.title='bad'>"}))
    with serving(tmp_path, "--no-reports", "--dashboard") as url:
        page = browser.new_page()
        page.goto(url + "/fleet")
        page.wait_for_selector("table")
        assert "<img" in page.inner_text("body") and page.title() == "Acclimate fleet"
        page.close()


@pytest.mark.slow
def test_the_page_says_when_the_server_is_gone(halted, browser):
    with serving(halted, "--no-reports", "--dashboard") as url:
        page = browser.new_page()
        page.goto(url + "/fleet")
        page.wait_for_selector(".halted")
    page.get_by_text("cannot be read").wait_for()
    page.close()


def test_the_page_shows_the_json_that_the_command_prints(halted, capsys):
    assert main(["fleet", str(halted), "--sums", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    with serving(halted, "--no-reports", "--dashboard") as url:
        with urllib.request.urlopen(url + "/fleet.json") as reply:
            assert json.load(reply) == printed
    assert sum(row["devices"] for row in printed["devices"]) == printed["total"] == 12
    assert main(["fleet", str(halted), "--sums"]) == 0
    assert "rolled back" in capsys.readouterr().out


def test_a_damaged_file_is_named_where_the_fleet_would_be(halted, tmp_path):
    folder = shutil.copytree(halted, tmp_path / "copy")
    (folder / "models" / "7" / "all.man").write_bytes(b"half")
    with serving(folder, "--no-reports", "--dashboard") as url:
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(url + "/fleet.json")
        assert b"all.man: this is no manifest" in refused.value.read()


def test_without_being_asked_for_there_is_no_page(halted):
    with serving(halted, "--no-reports") as url:
        for path in ("/fleet", "/fleet.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(url + path)
