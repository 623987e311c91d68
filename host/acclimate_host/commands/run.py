# SPDX-License-Identifier: MIT
"""``acclimate run FILE``: run a file on a board and show what it prints as it comes."""

import ast
import codecs
import sys
from pathlib import Path

from acclimate_host.commands import (
    add_board_arguments,
    add_extras_argument,
    open_chosen,
    read_bytes,
    read_text,
    to_names,
    to_seconds,
)
from acclimate_host.connect import exits
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, BoardError


def add_arguments(parser):
    parser.add_argument("file", help="a Python file of this computer")
    add_board_arguments(parser)
    parser.add_argument(
        "--timeout",
        type=to_seconds,
        default=600,
        metavar="SECONDS",
        help="overall limit (default: %(default)s)",
    )
    parser.add_argument(
        "--no-install",
        action="store_true",
        help="do not copy the device package to an emulated board first",
    )
    add_extras_argument(parser, "what is installed there beside what FILE imports")
    parser.add_argument(
        "--put",
        nargs="+",
        metavar="PATH",
        default=(),
        help="files of this computer that FILE reads: copied to the board first",
    )


def run(args):
    path = Path(args.file)
    if path.is_dir():
        raise AcclimateError(f"{args.file} is a folder: name a Python file in it")
    if not path.is_file():
        raise AcclimateError(f"no file {args.file}")
    program, moved = exits.catching(_checked(path))
    files = {Path(name).name: read_bytes(name) for name in args.put}
    extras = to_names(args.extras)
    if extras and (args.port or args.no_install):
        raise AcclimateError("--with: for --board; else: acclimate install --with " + args.extras)
    with open_chosen(args) as board:
        if args.board and not args.no_install:
            install(board, sources=(path,), yes=True, extras=extras)
            board.soft_reset()
        for name, content in files.items():
            board.put_bytes(content, f"{board.root.rstrip('/')}/{name}")
        show = Text(sys.stdout)
        try:
            board.exec(program, args.timeout, show)
            show.end()
            return exits.exit_code(board)
        except BoardError as error:
            sys.stdout.flush()
            print(exits.own_lines(error.traceback, moved, path), file=sys.stderr, end="")
            raise
        except KeyboardInterrupt:
            board.interrupt()
            raise


def _checked(path):
    """Return the text of a Python file; the board has the last word on what it takes of it.

    :raises AcclimateError: it is no Python file.
    """
    text = read_text(path)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = f"line {error.lineno}: " if getattr(error, "lineno", None) else ""
        raise AcclimateError(f"{path} is not Python: {at}{getattr(error, 'msg', error)}") from None
    return text


class Text:
    """Write a board's output as it comes: a character or a line end may come in two pieces."""

    def __init__(self, file):
        self.file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def __call__(self, data, final=False):
        text = self._kept + self._decoder.decode(data, final)
        self._kept = "\r" if text.endswith("\r") and not final else ""
        self.file.write(text[: len(text) - len(self._kept)].replace("\r\n", "\n"))
        self.file.flush()

    def end(self):
        """Write what is left, as it is: no more comes."""
        self(b"", final=True)
