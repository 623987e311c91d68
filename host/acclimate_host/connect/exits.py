# SPDX-License-Identifier: MIT
"""How a program on a board says how it ended: ``sys.exit(3)`` there is exit code 3 here.

A raw REPL drops the value of SystemExit and restarts the interpreter. So the program runs in a
``try`` that keeps the value in a global name, and the value is asked for afterwards.
"""

import ast
import io
import re
import sys
import tokenize

# What means success goes on: machine.soft_reset() raises the same, and shall restart the board.
_CATCH = """
except SystemExit as _acl_end:
 if not _acl_end.args or not _acl_end.args[0]: raise
 _acl_exit = _acl_end.args[0]
"""
_ASK = "print(repr(globals().pop('_acl_exit', None)))"
_OWN_LINE = re.compile(r'File "<(?:stdin|string)>", line (\d+)')
_RUNNER_LINE = re.compile(r'^ *File "[^"]*desktop_agent\.py".*\n', re.MULTILINE)
_BETWEEN = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def catching(text):
    """Return (the program in a ``try``, the lines that it moved down by: 0 or 1).

    Only lines that begin a statement are indented: others may be inside of a string.
    """
    first = _first_lines(text)
    if not first:
        return text, 0
    lines = text.split("\n")
    moved = 1 in first
    for number in first:
        lines[number - 1] = " " + lines[number - 1]
    head = ["try:", *lines] if moved else ["try:", *lines[1:]]  # in place of a comment
    return "\n".join(head) + _CATCH, int(moved)


def _first_lines(text):
    """Return the numbers of the lines that begin a statement."""
    numbers, is_new = [], True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            is_new = True
        elif is_new and token.type not in _BETWEEN:
            numbers.append(token.start[0])
            is_new = False
    return numbers


def own_lines(traceback, moved, path):
    """Return a traceback with the name and the line numbers of the file that the user wrote.

    Lines of what runs the file, on the desktop binary, are left out.
    """

    def back(match):
        return f'File "{path}", line {max(1, int(match[1]) - moved)}'

    return _OWN_LINE.sub(back, _RUNNER_LINE.sub("", traceback))


def exit_code(board):
    """Return the exit code of the program that ended; a text that it exited with is printed."""
    said = board.exec(_ASK).strip()
    try:
        value = ast.literal_eval(said)
    except (SyntaxError, ValueError):
        value = said  # another object: as it shows itself
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF or 1  # 256 is no success
    sys.stdout.flush()
    print(value, file=sys.stderr)
    return 1
