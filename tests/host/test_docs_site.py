# SPDX-License-Identifier: MIT
"""The site of `make docs`: it builds without a warning, links hold, nothing comes from outside."""

import contextlib
import functools
import http.server
import importlib
import os
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from acclimate_host.figures import tomllib
from acclimate_host.paths import repository
from harness import browser, prose
from harness.clock import HANG_S

LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Links(HTMLParser):
    """What a built page links to, loads, and can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.places = [], [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if attrs.get(LOADED.get(tag)):
            self.loaded.append(attrs[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-d",
        folder,
    ]  # quiet, it would not count warnings
    path = os.pathsep.join(str(repository() / part) for part in ("device", "host"))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=repository(), env=environment, capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@contextlib.contextmanager
def served(folder):
    """Serve a folder to this computer; yields its address."""
    handler = functools.partial(_Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def built(site):
    """{path in the site: its Links}."""
    return {
        path.relative_to(site).as_posix(): Links(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
    }


@pytest.mark.slow
def test_no_link_of_the_site_is_dead(site, built):
    dead = []
    for name, page in built.items():
        if name == "404.html":  # its addresses begin at the root of a server
            continue
        for link in page.links:
            path, _, place = unquote(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            target = "index.html" if target == "." else target
            if not (site / target).is_file():
                dead.append(f"{name}: {link}")
            elif target in built and place not in built[target].places:
                dead.append(f"{name}: {link}, no such place")
    assert not dead, "\n".join(dead[:20])


@pytest.mark.slow
def test_nothing_is_loaded_from_another_address(site, built):
    outside = re.compile(r"^([a-z]+:)?//")
    for name, page in built.items():
        assert not [link for link in page.loaded if outside.match(link)], name
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text()), path


@pytest.mark.slow
def test_every_public_name_has_its_place_in_the_reference(built):
    text = (repository() / "tests" / "public_names.toml").read_text()
    for room, listed in re.findall(r"^(\w+) = \[(.*)\]$", text, re.MULTILINE):
        names = re.findall(r'"(\w+)"', listed)
        places = built[f"reference/{room}.html"].places
        assert names and {name.lower() for name in names} <= places, room


@pytest.mark.slow
def test_the_page_to_play_with_runs_inside_the_site(site):
    if not (site / "play").is_dir():
        pytest.skip("the playground was not built: make playground")
    with browser.opened() as chromium, served(site) as address:
        page = browser.Page(chromium, address)
        page.page.goto(address + "/playground.html")
        page.page.click("text=Open the page")
        page.page.wait_for_url("**/play/index.html")
        page.until(lambda: page.page.is_visible("canvas"))
        assert page.faults == []
        page.close()


@pytest.mark.slow
def test_search_finds_a_word_of_the_glossary_without_a_network(site):
    with browser.opened() as chromium, served(site) as address:
        page = browser.Page(chromium, address)
        found = page.page.locator(".md-search-result__link").first

        def asked():
            """Press keys, which is what the search listens to, until its index is there."""
            page.page.fill("input.md-search__input", "")
            page.page.locator("input.md-search__input").press_sequentially("arena glossary")
            page.page.wait_for_timeout(2000)
            return found.is_visible()

        page.until(asked)
        assert "Glossary" in page.page.locator(".md-search-result").inner_text()
        page.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def tool(monkeypatch):
    """The hooks of the site, as MkDocs loads them."""
    pytest.importorskip("mkdocs")
    monkeypatch.syspath_prepend(str(repository() / "tools" / "docs_site"))
    return importlib.import_module("hooks")


def test_links_to_files_of_the_repository_become_links_to_their_pages(tool):
    change = tool.rewritten
    assert change("[a](docs/svm.md#file)", "index.md") == "[a](svm.md#file)"
    assert change("[a](../examples/hvac.py)", "loop.md") == "[a](source/examples/hvac.py.md)"
    found = change("[a](../../README.md) [b](https://x.y/z.md)", "papers/poet.md")
    assert found == "[a](../index.md) [b](https://x.y/z.md)"
    code = "```text\n[a](../README.md)\n```"
    assert change(code, "loop.md") == code


def test_a_docstring_becomes_prose_code_and_a_table(tool):
    text = """Does a thing <here>.

        >>> 1 + 1
        2

    :param int width: numbers in a row,
        at least 1
    :raises ValueError: a | b
    """
    assert tool.reference.docstring(text) == [
        "Does a thing &lt;here&gt;.",
        "",
        *("```pycon", ">>> 1 + 1", "2", "```"),
        *("", "", "| | |", "|---|---|"),
        "| `width`, int | numbers in a row, at least 1 |",
        "| raises `ValueError` | a \\| b |",
    ]


@pytest.mark.parametrize("path", prose.pages(), ids=prose.name_of)
def test_no_sentence_of_a_page_is_long(path):
    long = prose.long_sentences(path.read_text(encoding="utf-8"))
    assert not long, "\n".join(f"{len(text.split())} words: {text}" for text in long)


def test_sentences_are_told_from_code_and_tables():
    words = " ".join(["word"] * 40)
    assert len(prose.long_sentences(f"One. {words}.\n\n- {words}.\n\n> {words}\n")) == 3
    quiet = f"```\n{words}\n```\n\n    $ {words}\n\n| {words} |\n|---|\n\n<!-- {words} -->\n"
    assert prose.long_sentences(quiet) == []


_PIP = re.compile(r"pip install (?:-\w+ )*'?(acclimate|\.)(\[[\w,]+\])?'?(?![\w-])")


def test_what_pip_shall_install_is_there_to_install():
    """Acclimate is not on PyPI: programs and pages take it from the clone."""
    metadata = tomllib.loads((repository() / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(metadata["project"]["optional-dependencies"])
    where_installed = "docs/install.md"  # it says when the other form works
    texts = [*prose.pages(), *repository().glob("examples/**/*.py")]
    texts += repository().glob("examples/**/*.ipynb")
    found = 0
    for path in texts:
        for what, asked in _PIP.findall(path.read_text(encoding="utf-8")):
            found += 1
            assert what == "." or prose.name_of(path) == where_installed, path
            assert set(filter(None, asked.strip("[]").split(","))) <= extras, (path, asked)
    assert found > 20
