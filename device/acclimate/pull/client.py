# SPDX-License-Identifier: MIT
"""Pull a newer model from a repository over HTTP, straight into the slot that is not in use.

    client = Client(store, "http://models.example:8000", device=17)
    if client.pull():            # verified, and waits in the other slot
        store.trial()            # then store.confirm(), or a reset rolls back

``await client.apull()`` does the same beside other tasks.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

import gc

from acclimate.pull import http, sockets
from acclimate.pull.exchange import Pull, Refused, check_device
from acclimate.pull.http import HttpError

_LEAST_RATE = 16  # bytes per second, once a connection is older than timeout_s
_LEAST = 64  # bytes of a buffer; below it a pull gives up


class Client:
    """Pulls of one store from one repository.

    ``reason`` says why the latest pull took nothing: "unchanged", "current", "not in this
    rollout" or "here already".

    :param url: of the repository; its manifests are below ``models/``.
    :param model: model id; None takes that of ``store.wanted``.
    :param cohort: name of the manifest, such as "all" or "beta".
    :param device: number of this device, 0 to 2**30 - 1, for rollouts by percentage.
    :param timeout_s: how long the server may keep silent.
    :param wait_s: pause before the second connection; it doubles each time.
    :param limit_s: how long a whole pull may take, pauses included.
    :param context: an SSLContext for https, where certificates are to be checked.
    :param allow_http: follow a redirect from https to http.
    :param spread_s: a pull first waits a part of this that depends on the device's number, so
        that devices that start together do not ask together.
    :param object_key: 32 bytes that objects are encrypted with, or the path of a file with them:
        plain objects are then refused. It needs `acclimate install --with encrypted`.
    :param buffer_bytes: read at once, 64 or more; halved, down to 64, where the heap has no room.
    """

    def __init__(
        self,
        store: "Any",
        url: str,
        model: int | None = None,
        cohort: str = "all",
        device: int = 0,
        timeout_s: float = 20,
        wait_s: float = 1,
        attempts: int = 5,
        limit_s: float = 3600,
        context: "Any" = None,
        buffer_bytes: int = 512,
        allow_http: bool = False,
        spread_s: int = 0,
        object_key: bytes | str | None = None,
    ) -> None:
        model = store.wanted.model if model is None else model
        check_device(device)
        if buffer_bytes < _LEAST:
            raise ValueError("buffer_bytes: expected %d or more, got %s" % (_LEAST, buffer_bytes))
        self.store = store
        self.url = "%s/models/%d/%s.man" % (url.rstrip("/"), model, cohort)
        http.split(self.url)
        self.device = device
        self.etag = ""
        self.reason = ""
        self._pulled = 0  # the version that waits since the latest pull
        self._timeout_s = timeout_s
        self._wait_s = wait_s
        self._attempts = attempts
        self._limit_s = limit_s
        self._context = context
        self._allow_http = allow_http
        self._object_key = object_key
        self._buffer_bytes = buffer_bytes
        # Bits of the number's product, as 1/1024 of the time.
        self._first_s = spread_s * ((device * 40503 >> 3) & 1023) / 1024
        self._buffer = None
        self._fill_buffer()

    def __repr__(self):
        return "Client(%r, device=%d): %s" % (self.url, self.device, self.reason or "no pull yet")

    def pull(self, any_version: bool = False) -> bool:
        """Return whether a newer model is verified and waits; False: see ``reason``.

        :raises CapsuleError: the repository's model is refused; what is in use stays.
        :raises OSError: the network fails, again and again.
        :raises MemoryError: TLS and the smallest buffer do not fit the heap; says what is free.
        """
        import time

        if self._first_s:
            time.sleep(self._first_s)
        pull = self._start(any_version)
        request = pull.request()
        while request:
            try:
                self._exchange(pull, request)
            except MemoryError:
                self._shrink()
            except OSError as error:
                time.sleep(self._pause_s(pull, error))
            request = pull.request()
        return self._end(pull)

    async def apull(self, any_version=False):
        """As ``pull``, but other tasks of asyncio go on meanwhile."""
        import asyncio

        if self._first_s:
            await asyncio.sleep(self._first_s)
        pull = self._start(any_version)
        request = pull.request()
        while request:
            try:
                await self._aexchange(pull, request)
            except MemoryError:
                self._shrink()
            except (OSError, asyncio.TimeoutError, EOFError) as error:
                await asyncio.sleep(self._pause_s(pull, error))
            request = pull.request()
        return self._end(pull)

    def _start(self, any_version):
        from acclimate.store import StoreError

        if self.store.state == "trial":
            raise StoreError("a model is on trial: confirm it or roll it back first")
        self._fill_buffer()
        self._start_s = sockets.seconds()
        return Pull(
            self.store,
            self.url,
            # What waited may have been given up since: it is to be found again.
            "" if any_version or self._pulled > self.store.journal.floor else self.etag,
            self.device,
            any_version,
            self._attempts,
            allow_http=self._allow_http,
            object_key=self._object_key,
        )

    def _pause_s(self, pull, error):
        """Return how long to wait; devices that lost a server together do not come together."""
        count = pull.lost(error)
        pause = self._wait_s * (1 << min(6, count - 1))
        wait, pull.wait_s = max(pause, pull.wait_s), 0
        wait += pause * ((self.device * 40503 + count * 9973 >> 3) & 255) / 256
        self._within(wait)
        return wait

    def _within(self, more_s=0):
        """Raise when the pull, and what is still to be waited, takes more than ``limit_s``."""
        if sockets.since(self._start_s) + more_s > self._limit_s:
            raise Refused("pull: no end within %d s" % self._limit_s)

    def _in_time(self, n):
        """Count n bytes of a connection; raise when so few come that it is not worth while."""
        self._within()
        self._came += n
        passed = sockets.since(self._since_s)
        if passed > self._timeout_s and self._came < _LEAST_RATE * passed:
            raise HttpError("pull: %d bytes in %d s" % (self._came, passed))

    def _fill_buffer(self):
        while self._buffer is None:
            gc.collect()
            try:
                self._buffer = memoryview(bytearray(self._buffer_bytes))
            except MemoryError:
                self._shrink()

    def _shrink(self):
        """The heap was too small, for TLS or for a read: go on with half the buffer."""
        self._buffer = None
        gc.collect()
        if self._buffer_bytes < 2 * _LEAST:
            free = gc.mem_free() if hasattr(gc, "mem_free") else 0
            self._buffer_bytes = _LEAST
            raise MemoryError("pull: %d bytes of heap free, too few; https needs more" % free)
        self._buffer_bytes //= 2
        self._fill_buffer()

    def _feed(self, pull, view, n):
        try:
            return pull.feed(view, n)
        except MemoryError as error:  # what was taken in part cannot be taken again
            raise Refused("no heap for what came: %s" % error) from None

    def _end(self, pull):
        self.reason = pull.reason
        self.etag = pull.etag
        self._pulled = pull.manifest.version if pull.is_ready else 0
        return pull.is_ready

    def _exchange(self, pull, request):
        tls, host, port, data = request
        sock = sockets.connect(host, port, self._timeout_s)
        wait = self._now
        try:
            if tls:
                # A record that comes byte by byte would keep a stream that blocks for ever.
                sock.setblocking(False)
                sock = self._tls().wrap_socket(
                    sock, server_hostname=host, do_handshake_on_connect=False
                )
                wait = self._early
            wait(sockets.send, sock, data)
            self._since_s, self._came = sockets.seconds(), 0
            data = request[3] = None  # 0.2 KB that a small board needs from now on
            read = sockets.reader(sock)
            n = 1
            while n:
                n = wait(read, self._buffer)
                self._in_time(n or 0)
                if n and self._feed(pull, self._buffer, n):
                    return
            pull.end()
        finally:
            sock.close()

    @staticmethod
    def _now(call, *what):
        return call(*what)

    def _early(self, call, *what):
        """Repeat a call of a TLS stream that never waits until it has done something."""
        from time import sleep

        start_s = sockets.seconds()
        while True:
            try:
                n = call(*what)
                if n is not None:
                    return n
            except ValueError as error:  # so MicroPython says that a certificate is wrong
                raise Refused("https: %s" % error) from None
            except OSError as error:
                if error.args[0] not in sockets.EARLY:
                    raise
            self._within()
            if sockets.since(start_s) > self._timeout_s:
                raise HttpError("https: nothing in %d s" % self._timeout_s)
            sleep(0.01)

    async def _aexchange(self, pull, request):
        import asyncio

        tls, host, port, data = request
        extra = {"ssl": self._tls(), "server_hostname": host} if tls else {}
        reader, writer = await self._soon(asyncio.open_connection(host, port, **extra))
        try:
            await self._soon(self._asend(writer, data))
            self._since_s, self._came = sockets.seconds(), 0
            data = request[3] = None
            size = len(self._buffer)
            while True:
                piece = await self._soon(reader.read(size))
                self._in_time(len(piece))
                if not piece:
                    break
                if self._feed(pull, memoryview(piece), len(piece)):
                    return
            pull.end()
        finally:
            writer.close()
            if hasattr(writer, "s"):  # MicroPython closes the socket only here
                await writer.wait_closed()

    async def _asend(self, writer, data):
        # MicroPython writes at once where it can, and its handshake goes on in there.
        writer.write(data)
        await writer.drain()

    async def _soon(self, task):
        import asyncio

        try:
            return await asyncio.wait_for(task, self._timeout_s)
        except ValueError as error:  # a certificate that is wrong; it may show late
            raise Refused("https: %s" % error) from None

    def _tls(self):
        if self._context is None:
            self._context = sockets.default_context()
        return self._context
