# SPDX-License-Identifier: MIT
"""The errors that the command line prints as one line, each with its exit code.

======  ==========================================================================
code    meaning
======  ==========================================================================
0       done
1       the code that ran on the board raised an exception
2       the command line is wrong, or a file that it names cannot be used
3       no connection to the board, or it stopped answering
4       the board did not finish in time
5       the board crashed (hard fault, reset by the processor)
6       refused: board and files do not fit together
7       something that this command needs is not there
8       the board has no region, or an empty one, for what shall be put there
9       ``doctor`` found a problem
130     interrupted from the keyboard
======  ==========================================================================
"""

import contextlib
import difflib
from collections.abc import Iterable, Iterator


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question that ends a message about a wrong name; empty where none is near.

    >>> did_you_mean("instal", ["install", "run"])
    '; did you mean install?'
    """
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


class AcclimateError(Exception):
    """Base of all errors that a person can act on; the text is one line."""

    exit_code = 2


class ConnectError(AcclimateError):
    """The board cannot be reached.

    ``stage`` is ``"open"``, ``"interrupt"``, ``"raw repl"`` or ``"answer"``.
    """

    exit_code = 3

    def __init__(self, text: str, stage: str = "open") -> None:
        super().__init__(text)
        self.stage = stage


class BoardGone(ConnectError):
    """The board (or its emulator) ended while it was in use; ``status`` is the exit status."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text, "gone")
        self.status = status


class BoardTimeout(AcclimateError):
    """The overall deadline of a wait passed; ``output`` is what had arrived."""

    exit_code = 4

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


class BoardError(AcclimateError):
    """Code on the board raised an exception.

    ``traceback`` is the board's own text, ``output`` what was printed before it.
    """

    exit_code = 1

    def __init__(self, traceback: str, output: str = "") -> None:
        lines = traceback.strip().splitlines()
        super().__init__("on the board: " + (lines[-1] if lines else "unknown error"))
        self.traceback = traceback
        self.output = output


class BoardFault(AcclimateError):
    """The processor faulted; ``registers`` is the text that it printed."""

    exit_code = 5

    def __init__(self, text: str, registers: str = "") -> None:
        super().__init__(text)
        self.registers = registers


class Refused(AcclimateError):
    """Board and files do not fit together; nothing was changed."""

    exit_code = 6


@contextlib.contextmanager
def refused_of(path: object) -> Iterator[None]:
    """Put the name of a file before what is refused of its content."""
    try:
        yield
    except Refused as error:
        raise Refused(f"{path}: {error}") from None


class Missing(AcclimateError):
    """The board, its firmware or a tool that the command needs is not there."""

    exit_code = 7


class NoRegion(AcclimateError):
    """The firmware can do it, but this board keeps no flash for it."""

    exit_code = 8
