# SPDX-License-Identifier: MIT
"""A serial line without a board behind it: scripted answers to what is written."""

SILENCE_S = 0.05


class FakeLine:
    """Stand in for a pyserial object.

    :param answer: called with the bytes written so far; returns what the board sends.
    :param clock: moved by each read that brings nothing, as a port's read timeout takes time.
    """

    def __init__(self, answer, clock=None):
        self.answer = answer
        self.clock = clock
        self.written = b""
        self.waiting = b""
        self.closed = False

    @property
    def in_waiting(self):
        return len(self.waiting)

    def read(self, count):
        if not self.waiting and self.clock:
            self.clock.skip(SILENCE_S)
        data, self.waiting = self.waiting[:count], self.waiting[count:]
        return data

    def write(self, data):
        self.written += data
        self.waiting += self.answer(self.written, data)
        return len(data)

    def close(self):
        self.closed = True


RAW = b"raw REPL; CTRL-B to exit\r\n>"


def silent(_written, _data):
    return b""


def talks_without_raw_repl(_written, data):
    return b"\r\nbusy printing\r\n" if b"\x03" in data else b""


def left_in_the_raw_repl(written, data):
    """As MicroPython there: Ctrl-C clears the line without a word."""
    return b"" if b"\x03" in data else stops_in_the_middle(written, data)


def raw_repl_that_runs_nothing(_written, data):
    if b"\x03" in data:
        return b"\r\n>>> "
    return RAW if data == b"\r\x01" else b""


def stops_in_the_middle(written, data):
    """A raw REPL without raw paste, which stops while it prints."""
    if b"\x03" in data:
        return b"\r\n>>> "
    if data == b"\r\x01":
        return RAW
    if data == b"\x05A\x01":
        return b"R\x00"
    if data == b"\x04":
        return b"OKhalf" if b"hang" in written else b"OK42\r\n\x04\x04>"
    return b""
