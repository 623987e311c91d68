# SPDX-License-Identifier: MIT
"""The repository as a web application (ASGI): static files with ETags, ranges and caching."""

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from acclimate_host.errors import AcclimateError

_IMMUTABLE = "public, max-age=31536000, immutable"


class _Objects(StaticFiles):
    """Files that are named by their content: a cache may keep them for ever."""

    def file_response(self, *args, **kwargs):
        reply = super().file_response(*args, **kwargs)
        reply.headers["Cache-Control"] = _IMMUTABLE
        return reply


class _Manifests(StaticFiles):
    """Files that change: a cache must ask before each use."""

    def file_response(self, *args, **kwargs):
        reply = super().file_response(*args, **kwargs)
        reply.headers["Cache-Control"] = "no-cache"
        return reply


def application(folder):
    """Return the ASGI application of a repository's folder."""
    return Starlette(
        routes=[
            Mount("/objects", _Objects(directory=f"{folder}/objects")),
            Mount("/models", _Manifests(directory=f"{folder}/models")),
        ]
    )


def serve(folder, host="127.0.0.1", port=8000):
    """Serve until interrupted; the address is printed once it answers."""
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise AcclimateError(f"{host}:{port}: {error.strerror}") from None
    at = listener.getsockname()
    print(f"serving {folder} at http://{at[0]}:{at[1]}", flush=True)
    config = uvicorn.Config(application(folder), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
