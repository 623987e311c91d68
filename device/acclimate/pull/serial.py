# SPDX-License-Identifier: MIT
"""A pull by a board whose only line is the serial one: the host carries its requests.

The board speaks HTTP itself, over what the host tunnels, so everything is checked here. Each
call prints one line for the host: ``send TLS HOST PORT`` with the request in hexadecimal
behind it, ``more``, ``ready`` or ``none REASON``.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

from acclimate.pull.exchange import Pull


class SerialPull:
    """One pull; arguments as those of ``acclimate.pull.client.Client`` and ``Pull``."""

    def __init__(
        self,
        store: "Any",
        url: str,
        model: int | None = None,
        cohort: str = "all",
        device: int = 0,
        whole_only: bool = False,
        object_key: bytes | str | None = None,
    ) -> None:
        model = store.wanted.model if model is None else model
        url = "%s/models/%d/%s.man" % (url.rstrip("/"), model, cohort)
        self._pull = Pull(store, url, "", device, whole_only=whole_only, object_key=object_key)

    def __repr__(self):
        return "SerialPull: " + ("ready" if self._pull.is_ready else self._pull.reason or "open")

    def ask(self) -> None:
        """Print what to send next, or how the pull ended."""
        request = self._pull.request()
        if request is None:
            print("ready" if self._pull.is_ready else "none " + self._pull.reason)
            return
        tls, host, port, data = request
        print("send", int(tls), host, port, end=" ")
        for byte in data:  # one by one: the smallest board has no room for a long string
            print("%02x" % byte, end="")
        print()

    def feed(self, data: "ReadableBuffer") -> None:
        """Take bytes of the reply."""
        self._step(lambda: self._pull.feed(memoryview(data), len(data)))

    def end(self) -> None:
        """The server closed the connection."""
        self._step(lambda: self._pull.end() or True)

    def lost(self, text: str) -> None:
        """The connection broke; raises when it did so too often."""
        self._pull.lost(OSError(text))
        self.ask()

    def _step(self, step):
        try:
            is_over = step()
        except OSError as error:
            self._pull.lost(error)
            is_over = True
        if is_over:
            self.ask()
        else:
            print("more")
