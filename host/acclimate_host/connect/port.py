# SPDX-License-Identifier: MIT
"""A serial line with a receive buffer, on which every read has a deadline."""

import signal
import time

from acclimate_host.errors import BoardFault, BoardGone, BoardTimeout

_READ_TIMEOUT_S = 10
_FAULT_TEXT_S = 0.3  # the registers follow the first line of a fault

FAULTS = (
    b"HardFault exception caught",
    b"FATAL: uncaught exception",
    b"Guru Meditation Error",
    b"uncaught target signal",
)
_LONGEST_FAULT = max(map(len, FAULTS))


class Port:
    """Stand between mpremote and a pyserial object.

    :param line: an open pyserial object; its own read timeout is the longest silence of fill().
    :param ended: returns None while the board is there, else (exit status, last message).
    """

    def __init__(self, line, ended=lambda: None):
        self.line = line
        self.ended = ended
        self.buffer = bytearray()
        self._tail = b""

    def fill(self):
        """Wait a moment for input and take all there is; return whether something came."""
        try:
            data = self.line.read(1)
            if data:
                data += self.line.read(self.line.in_waiting)
        except (OSError, TypeError) as error:
            raise self._gone() from error
        if not data:
            if self.ended():
                raise self._gone()
            return False
        self.buffer += data
        self._look_for_fault(data)
        return True

    def read(self, count, timeout_s=None):
        """Return exactly count bytes."""
        timeout_s = _READ_TIMEOUT_S if timeout_s is None else timeout_s
        deadline = time.monotonic() + timeout_s
        while len(self.buffer) < count:
            if not self.fill() and time.monotonic() > deadline:
                raise BoardTimeout(
                    f"the board sent {len(self.buffer)} of {count} bytes in {timeout_s:g} s",
                    self.buffer.decode("utf-8", "replace"),
                )
        return self._take(count)

    def read_until(self, ending, timeout_s, consumer=None):
        """Return the bytes up to and with ending; at the deadline, what had come without it.

        With a consumer, the bytes go there as they come, without the ending.
        """
        deadline = time.monotonic() + timeout_s
        kept = bytearray()
        while True:
            at = self.buffer.find(ending)
            if at >= 0:
                if consumer and at:
                    consumer(bytes(self.buffer[:at]))
                return bytes(kept) + self._take(at + len(ending))
            if consumer:
                ready = max(0, len(self.buffer) - len(ending) + 1)
                if ready:
                    data = self._take(ready)
                    consumer(data)
                    kept += data
            self.fill()
            if time.monotonic() > deadline and ending not in self.buffer:
                return bytes(kept) + self._take(len(self.buffer))

    def drain(self, timeout_s=2):
        """Throw away input until a moment of silence."""
        deadline = time.monotonic() + timeout_s
        while self.fill() and time.monotonic() < deadline:
            pass
        self.buffer.clear()

    def write(self, data):
        try:
            return self.line.write(data)
        except OSError as error:
            raise self._gone() from error

    def inWaiting(self):  # noqa: N802 (mpremote's name)
        try:
            return len(self.buffer) + self.line.in_waiting
        except (OSError, TypeError) as error:
            raise self._gone() from error

    def close(self):
        try:
            self.line.close()
        except OSError:
            pass  # an emulator that has ended takes the line with it

    def _take(self, count):
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def _gone(self):
        end = self.ended()
        if end is None:
            return BoardGone("the board is gone: the line was closed")
        status, message = end
        if any(fault.decode() in message for fault in FAULTS):
            return BoardFault(f"the board crashed: {message.splitlines()[0]}", message)
        text = f"the emulated board ended (status {status})"
        if status == -signal.SIGBUS:
            text += "; is the disk with its flash file full?"
        return BoardGone(text + (f": {message.splitlines()[-1]}" if message else ""), status)

    def _look_for_fault(self, data):
        text = self._tail + data
        self._tail = text[-_LONGEST_FAULT:]
        for fault in FAULTS:
            at = text.find(fault)
            if at < 0:
                continue
            deadline = time.monotonic() + _FAULT_TEXT_S
            registers = text[at:]
            while time.monotonic() < deadline:
                try:
                    registers += self.line.read(1)
                except (OSError, TypeError):
                    break
            text = registers.decode("utf-8", "replace")
            raise BoardFault("the board crashed: " + text.splitlines()[0].strip(" :"), text)
