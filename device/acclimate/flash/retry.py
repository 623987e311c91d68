# SPDX-License-Identifier: MIT
"""A block device that may answer late: SD cards do so when they tidy up, or were just woken."""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate.flash.base import FlashError


class RetryingDevice:
    """Repeats what a device refuses, with a pause, so many times; then it is an error.

    The time that a call may take is the driver's own; ``retries`` counts what was repeated.

    :param device: with ``readblocks(block, buffer)``, ``writeblocks`` and ``ioctl``.
    :param tries: of each call, 1 to 100; :param wait_ms: pause between two.
    """

    def __init__(self, device: "Any", tries: int = 5, wait_ms: int = 20) -> None:
        if not 1 <= tries <= 100 or not 0 <= wait_ms <= 10000:
            raise ValueError("tries %s, wait_ms %s: 1 to 100, 0 to 10000" % (tries, wait_ms))
        self.device = device
        self.retries = 0
        self._tries, self._wait_s = tries, wait_ms / 1000

    def __repr__(self):
        return "RetryingDevice(%r)" % (self.device,)

    def ioctl(self, what: int, value: int) -> int | None:
        return self.device.ioctl(what, value)

    def readblocks(self, block: int, buffer: "WriteableBuffer") -> None:
        self._repeat(self.device.readblocks, block, buffer)

    def writeblocks(self, block: int, buffer: "ReadableBuffer") -> None:
        self._repeat(self.device.writeblocks, block, buffer)

    def _repeat(self, call, block, buffer):
        left = self._tries
        while True:
            left -= 1
            try:
                status = call(block, buffer)
                # Drivers return None, True or 0 when all went well.
                if status is None or status is True or status == 0 and status is not False:
                    return
                error = FlashError("card: driver answers %s at block %d" % (status, block))
            except OSError as raised:
                error = raised
            if left <= 0:
                raise error
            self.retries += 1
            self._pause()

    def _pause(self):
        from time import sleep

        sleep(self._wait_s)
