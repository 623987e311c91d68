# SPDX-License-Identifier: MIT
"""The second part's server: a repository behind uvicorn, in a thread, with its bytes counted."""

import contextlib
import tempfile
import threading
import time

from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.errors import Missing


class Counted:
    """An ASGI application that counts the bytes of content that it sends."""

    def __init__(self, app):
        self._app = app
        self.bytes = 0

    async def __call__(self, scope, receive, send):
        async def counting(message):
            self.bytes += len(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, counting)


class Releases:
    """The versions of one model, published one after the other; ``url`` while it is served.

    :param model_id: which application. :param key: bytes, of the devices.
    """

    def __init__(self, folder, model_id, key):
        self._server = CapsuleServer(None, folder, model_id, key)
        self._capsules = []
        self.url = ""
        self.counted = None

    def publish(self, model):
        """Offer a model as the next version, with updates from all earlier ones."""
        self._server.model = model
        capsule = self._server.save()
        self._server.export(bases=self._capsules)
        self._capsules.append(capsule)
        return len(self._capsules)


@contextlib.contextmanager
def releases(model_id, key):
    """Serve Releases from a temporary folder while the block runs."""
    try:
        import uvicorn

        from acclimate_host.capsules.web import application
    except ImportError as error:
        raise Missing(f"part 2 needs {error.name}: pip install 'acclimate[serve]'") from None
    with tempfile.TemporaryDirectory() as folder:
        made = Releases(folder, model_id, key)
        made.counted = Counted(application(folder))
        config = uvicorn.Config(made.counted, port=0, log_level="warning", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            if not thread.is_alive():
                raise Missing("part 2: no web server could be started on this computer")
            time.sleep(0.01)
        made.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        try:
            yield made
        finally:
            server.should_exit = True
            thread.join(10)
