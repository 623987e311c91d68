# SPDX-License-Identifier: MIT
"""Runs inside the desktop binary: executes what the host sends, as a raw REPL would.

In: a line with the length in bytes, then the code. Out: what it prints, 0x04, the traceback
if there is one, 0x04.
"""

import io
import sys


def print_exception(error, file):
    """What an interpreter without sys.print_exception can tell."""
    file.write("%s: %s\n" % (type(error).__name__, error))


print_exception = getattr(sys, "print_exception", print_exception)
scope = {"__name__": "__main__"}
while True:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    size = int(line)
    source = b""
    while len(source) < size:
        source += sys.stdin.buffer.read(size - len(source))
    traceback = ""
    try:
        exec(source.decode(), scope)
    except SystemExit:
        pass
    except BaseException as error:
        text = io.StringIO()
        print_exception(error, text)
        traceback = text.getvalue()
    sys.stdout.write("\x04" + traceback + "\x04")
