# SPDX-License-Identifier: MIT
"""What MkDocs does beside turning docs/ into pages: hooks of mkdocs.yml.

README.md becomes the first page. The pages of reference/ are written from docstrings and formats.
A file of the repository that a page links to becomes a page of its own below source/, so that the
site needs no other address. Where `make playground` built it, the page to play with is play/.
"""

import posixpath
import re

import reference
from mkdocs.structure.files import File

from acclimate_host.paths import repository

ROOT = repository()
PLAY = ROOT / "out" / "playground" / "site"
_TRY = "[Open the page](play/index.html){ .md-button .md-button--primary }\n\n"
_LINK = re.compile(r"(\]\(|src=\"|href=\")(?![a-z]+:|#|/)([^)\s\"]+)")
_FENCED = re.compile(r"(^ *```.*?^ *```)", re.DOTALL | re.MULTILINE)
_LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".toml": "toml", ".json": "json"}
_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}


def on_config(config):
    """Put a page for each module into the navigation."""
    for part in config.nav:
        if "Reference" in part:
            rooms = reference.public_names(ROOT)
            part["Reference"] += [{room: f"reference/{room}.md"} for room in rooms]
    return config


def on_files(files, config):
    """Add the pages that are not in docs/."""
    made = {page: (ROOT / name).read_text("utf-8") for name, page in _PAGES.items()}
    made.update(reference.pages(ROOT))
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    for path in sorted(_linked(files)):
        files.append(File.generated(config, source_page(path), content=_shown(path)))
    for path in sorted(PLAY.glob("*")):
        files.append(File.generated(config, f"play/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links to files of the repository into links to their pages."""
    uri = page.file.src_uri
    if uri == "playground.md" and PLAY.is_dir():
        markdown = markdown.replace("\n\n", "\n\n" + _TRY, 1)
    return markdown if uri.startswith("source/") else rewritten(markdown, uri)


def rewritten(text, uri):
    """Return a page's text with links that work in the site; code blocks stay."""
    base = _folder(uri)

    def change(match):
        path, hash_, anchor = match[2].partition("#")
        target = posixpath.normpath(posixpath.join(base, path)) if path else ""
        new = _PAGES.get(target) or (
            posixpath.relpath(target, "docs") if target.startswith("docs/") else None
        )
        if path and new is None and (ROOT / target).is_file():
            new = source_page(target)
        if new is None:
            return match[0]
        here = posixpath.dirname(uri) or "."
        return match[1] + posixpath.relpath(new, here) + hash_ + anchor

    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(change, part) for part in parts[::2]]
    return "".join(parts)


def source_page(path):
    """Return the page that shows a file of the repository."""
    return f"source/{path}.md"


def _folder(uri):
    """The folder of the repository from which a page's links count."""
    if uri in _PAGES.values():
        return "."
    return posixpath.join("docs", posixpath.dirname(uri)) or "docs"


def _linked(files):
    """Return the paths of files outside docs/ that pages link to."""
    found = set()
    for file in files.documentation_pages():
        base = _folder(file.src_uri)
        for _, link in _LINK.findall(file.content_string):
            path = posixpath.normpath(posixpath.join(base, link.partition("#")[0]))
            if not path.startswith("docs") and path not in _PAGES and (ROOT / path).is_file():
                found.add(path)
    return found


def _shown(path):
    """The page of a file: its text as code."""
    text = (ROOT / path).read_text(encoding="utf-8")
    suffix = posixpath.splitext(path)[1]
    head = f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n"
    return f"{head}~~~~~~ {_LANGUAGES.get(suffix, 'text')}\n{text}\n~~~~~~\n"
