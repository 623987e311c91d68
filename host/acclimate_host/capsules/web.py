# SPDX-License-Identifier: MIT
"""The repository as a web application (ASGI): static files with ETags, ranges and caching."""

import asyncio
import socket
import time
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from acclimate_host.capsules.fleet_state import fleet_state
from acclimate_host.capsules.layout import REPORT
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.web_limits import (
    ACCEPTED_AT_ONCE,
    HEADER_BYTES,
    LEAVE_S,
    BoundedConnection,
)
from acclimate_host.errors import AcclimateError, Refused

# Nothing from elsewhere; style and script stand in the page itself.
_PAGE_POLICY = (
    "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
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


def _taker(reports):
    """Return the endpoint that takes what devices say of themselves."""

    async def take(request):
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                if len(body) > REPORT.bytes:
                    raise HTTPException(413)
        except ClientDisconnect:
            raise HTTPException(400) from None
        try:
            await run_in_threadpool(reports.take, bytes(body))
        except Refused as error:
            return PlainTextResponse(f"{error}\n", 403)
        return Response(status_code=204)

    return take


class Shared:
    """What costs much to find out: asked for once for all who want it within a second.

    :param find: a function without arguments, which runs in a thread.
    """

    def __init__(self, find, keep_s=1.0):
        self._find, self._keep_s = find, keep_s
        self._lock = asyncio.Lock()
        self._until, self._found = 0.0, None

    async def get(self):
        """Return what the function found: now, or a moment ago."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._found = await run_in_threadpool(self._find)
                self._until = time.monotonic() + self._keep_s
            return self._found


def _dashboard(folder, reports):
    """Return the routes of the fleet's page and of the JSON that it shows."""
    page = Path(__file__).resolve().parents[1] / "data" / "dashboard.html"
    headers = {"Content-Security-Policy": _PAGE_POLICY, "Cache-Control": "no-store"}

    shared = Shared(lambda: fleet_state(Repository(folder), reports))

    async def show(request):
        return FileResponse(page, headers=headers)

    async def state(request):
        fresh = {"Cache-Control": "no-store"}
        try:
            return JSONResponse(await shared.get(), headers=fresh)
        except Refused as error:  # a file is damaged: the page shows which
            return PlainTextResponse(f"{error}\n", 503, headers=fresh)

    return [Route("/fleet", show), Route("/fleet.json", state)]


def application(folder, reports=None, dashboard=False):
    """Return the ASGI application of a repository's folder.

    :param reports: a Reports, which takes what devices post to ``/reports``.
    :param dashboard: also show the fleet at ``/fleet``.
    """
    Path(folder, "keys").mkdir(exist_ok=True)  # repositories of before have none
    routes = [
        Mount("/objects", _Objects(directory=f"{folder}/objects")),
        Mount("/models", _Manifests(directory=f"{folder}/models")),
        Mount("/keys", _Manifests(directory=f"{folder}/keys")),
    ]
    if reports is not None:
        routes.append(Route("/reports", _taker(reports), methods=["POST"]))
    if dashboard:
        routes += _dashboard(folder, reports)
    return Starlette(routes=routes)


def bounded_server(app, connection=BoundedConnection):
    """Return the server of an application: no client holds it longer or wider than allowed."""
    config = uvicorn.Config(
        app,
        http=connection,
        ws="none",
        log_level="error",  # what clients send wrong is no line of ours
        access_log=False,
        backlog=ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_graceful_shutdown=LEAVE_S,
    )
    return uvicorn.Server(config)


def serve(folder, host="127.0.0.1", port=8000, reports=None, dashboard=False):
    """Serve until interrupted; the address is printed once it answers."""
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise AcclimateError(f"{host}:{port}: {error.strerror}") from None
    at = listener.getsockname()
    print(f"serving {folder} at http://{at[0]}:{at[1]}", flush=True)
    if dashboard:
        print(f"the fleet is at http://{at[0]}:{at[1]}/fleet", flush=True)
    bounded_server(application(folder, reports, dashboard)).run(sockets=[listener])
