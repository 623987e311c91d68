# SPDX-License-Identifier: MIT
"""mpremote's SerialTransport with prompt reads, deadlines and errors that say what failed."""

import errno
import time

import serial
from mpremote.transport import TransportError
from mpremote.transport_serial import SerialTransport

from acclimate_host.connect.port import Port
from acclimate_host.errors import BoardError, BoardTimeout, ConnectError

RAW_PROMPT = b"raw REPL; CTRL-B to exit\r\n"
_CTRL_A, _CTRL_C, _CTRL_D = b"\x01", b"\x03", b"\x04"
_SLICE_S = 0.05
_INTERRUPT_S = 0.4  # for an answer to Ctrl-C, asked again until the deadline
_RAW_S = 2  # of silence, or of other output, until it is asked for again
_BEFORE_PROMPT_BYTES = 256  # a line that has brought fewer may only be slow
_ANSWER_S = 5
_WHY = {
    errno.ENOENT: "no such port; acclimate doctor lists those that are there",
    errno.EACCES: "this user may not; on most Linux systems: sudo usermod -aG dialout $USER",
}


class Link(SerialTransport):
    """The raw REPL of one board over a serial port, a pty or a socket.

    :param device: ``/dev/ttyACM0``, ``COM3``, ``/dev/pts/4`` or ``socket://HOST:PORT``.
    :param ended: see :class:`Port`.
    """

    def __init__(self, device, baudrate=115200, ended=lambda: None):
        options = {"baudrate": baudrate, "timeout": _SLICE_S, "write_timeout": 10}
        if "://" not in device:
            options["exclusive"] = True
        try:
            line = serial.serial_for_url(device, **options)
        except (OSError, ValueError) as error:
            raise ConnectError(f"cannot open {device}: {_why_closed(device, error)}") from error
        self.attach(device, Port(line, ended))

    def __repr__(self):
        return f"Link({self.device_name!r})"

    @classmethod
    def over(cls, line, ended=lambda: None):
        """Make a link over an object that is already open (a fake in tests)."""
        link = cls.__new__(cls)
        link.attach("given line", Port(line, ended))
        return link

    def attach(self, device, port):
        self.device_name = device
        self.serial = port
        self.in_raw_repl = False
        self.use_raw_paste = True
        self.busy = False  # code that Ctrl-C did not stop
        self.mounted = False
        self.is_pty = False
        self.patience_s = 0  # more than the usual limits

    def close(self):
        self.serial.close()

    def read_until(
        self, min_num_bytes, ending, timeout=10, data_consumer=None, timeout_overall=None
    ):
        """Replace mpremote's polling; both of its timeouts are overall deadlines here."""
        limits = [limit for limit in (timeout, timeout_overall) if limit is not None]
        return self.serial.read_until(ending, min(limits, default=10), data_consumer)

    def hears(self, timeout_s):
        """Wait for input; return whether some came."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.serial.fill():
                return True
        return False

    def enter_raw_repl(self, soft_reset=False, timeout_overall=10):
        """Stop what runs and get the raw REPL's prompt, or say which of three stages failed."""
        deadline = time.monotonic() + timeout_overall
        stage = "interrupt"
        while True:
            self.serial.write(b"\r" + _CTRL_C + _CTRL_C)
            if self.hears(_INTERRUPT_S):
                stage = "raw repl"
                self.serial.drain()
            # after silence as well: a board left in the raw REPL gives no answer to Ctrl-C
            self.serial.write(b"\r" + _CTRL_A)
            if self._raw_prompt(deadline):
                break
            if time.monotonic() > deadline:
                raise ConnectError(_STAGE_TEXT[stage] % self.device_name, stage)
        self.in_raw_repl = True
        if soft_reset:
            self.soft_reset(max(1, deadline - time.monotonic()))
        self._check_answer(max(_ANSWER_S, deadline - time.monotonic()))

    def _raw_prompt(self, deadline):
        """Return whether the raw REPL's prompt comes; a slow line has until the deadline."""
        limit = time.monotonic() + _RAW_S
        port = self.serial
        while RAW_PROMPT not in port.buffer:
            heard = port.fill()
            if heard and len(port.buffer) < _BEFORE_PROMPT_BYTES:
                limit = time.monotonic() + _RAW_S
            if time.monotonic() > min(limit, deadline):
                return False
        port.read_until(RAW_PROMPT, 0)
        return True

    def soft_reset(self, timeout_s=10):
        """Restart the interpreter: an empty heap, the same file system."""
        self.serial.read_until(b">", 1)
        self.serial.write(_CTRL_D)
        if not self.serial.read_until(RAW_PROMPT, timeout_s + self.patience_s).endswith(
            RAW_PROMPT
        ):
            raise ConnectError(_STAGE_TEXT["raw repl"] % self.device_name, "raw repl")

    def run(self, code, timeout_s=10, consumer=None):
        """Execute code; return what it printed.

        :param consumer: receives the output as it comes (bytes).
        :raises BoardError: the code raised; BoardTimeout: it did not end in timeout_s.
        """
        if self.busy:
            raise ConnectError(f"{self.device_name} still runs earlier code: reset it", "answer")
        deadline = time.monotonic() + timeout_s
        try:
            self.exec_raw_no_follow(code)
        except TransportError as error:
            raise ConnectError(f"{self.device_name}: {_short(error)}", "answer") from error
        output = self.serial.read_until(_CTRL_D, deadline - time.monotonic(), consumer)
        if not output.endswith(_CTRL_D):
            self.interrupt()
            raise BoardTimeout(f"the board did not finish in {timeout_s:g} s", _text(output))
        traceback = self.serial.read_until(_CTRL_D, max(1, deadline - time.monotonic()))
        if not traceback.endswith(_CTRL_D):
            raise BoardTimeout("the board stopped in the middle of an answer", _text(output))
        output = _text(output[:-1])
        if len(traceback) > 1:
            raise BoardError(_text(traceback[:-1]), output)
        return output

    def interrupt(self):
        """Send Ctrl-C and forget what the interrupted code still prints."""
        self.serial.write(_CTRL_C)
        if self.serial.read_until(_CTRL_D + b">", 1 + self.patience_s).endswith(b">"):
            self.serial.buffer[:0] = b">"  # the prompt that the next command looks for
        else:
            self.busy = True

    def exec(self, command, data_consumer=None):
        """Serve mpremote's file functions."""
        return self.run(command, consumer=data_consumer).encode()

    def _check_answer(self, timeout_s=_ANSWER_S):
        try:
            answer = self.run("print(6*7)", timeout_s + self.patience_s)
        except BoardTimeout as error:
            raise ConnectError(_STAGE_TEXT["answer"] % self.device_name, "answer") from error
        if answer.strip() != "42":
            raise ConnectError(_STAGE_TEXT["answer"] % self.device_name, "answer")


_STAGE_TEXT = {
    "interrupt": "%s is silent (stage 1 of 3): no answer to Ctrl-C; does it run MicroPython?",
    "raw repl": "%s talks, but gives no raw REPL (stage 2 of 3); close other programs or reset",
    "answer": "%s has a raw REPL, but ran no line (stage 3 of 3); reset the board and try again",
}


def _text(data):
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _short(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def _why_closed(device, error):
    """Return why a port could not be opened, in words of the person who named it."""
    text = _short(error)
    if "lock" in text.replace(device, ""):
        return "another program uses it"
    if text.startswith("Could not configure port"):
        return "it is no serial port; acclimate doctor lists those that are there"
    prefix = f"could not open port {device}: "  # it says again what the message says
    text = text[len(prefix) :] if text.lower().startswith(prefix.lower()) else text
    return _WHY.get(getattr(error, "errno", None), text)
