# SPDX-License-Identifier: MIT
"""The files of the built page, and how a browser may use them: nothing from other addresses."""

from pathlib import Path

from acclimate_host.errors import Missing
from acclimate_host.paths import built, repository

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def folder():
    """Return the folder of the built page.

    :raises Missing: it was not built
    """
    if repository():
        path, hint = built("playground", "site"), "make playground builds it"
    else:
        path = Path(__file__).resolve().parent.parent / "data" / "playground"
        hint = "this wheel was built without it"
    if not (path / "index.html").exists():
        raise Missing(f"the page is not at {path}: {hint}")
    return path


def answer(path):
    """Return (headers, content) of a requested path such as ``/app.js``, or None.

    The folder is flat: a path with another slash, or a name that is not in it, is none.
    """
    name = path.partition("?")[0].removeprefix("/") or "index.html"
    file = folder() / name
    if "/" in name or file.suffix not in _TYPES or not file.is_file():
        return None
    headers = {
        "Content-Type": _TYPES[file.suffix],
        "Content-Security-Policy": _POLICY,
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return headers, file.read_bytes()
