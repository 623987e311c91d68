# SPDX-License-Identifier: MIT
"""``acclimate cp``: copy files to and from a board; a path on the board begins with a colon."""

import posixpath
from pathlib import Path

from acclimate_host.commands import add_board_arguments, open_chosen, progress, write_bytes
from acclimate_host.errors import AcclimateError

_IS_FOLDER = """
import os
try:
    print(os.stat(%r)[0] & 0x4000 != 0)
except OSError:
    print(False)
"""


def add_arguments(parser):
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="from ... to; as: main.py weights.bin :lib/"
    )
    parser.add_argument(
        "-r", "--recursive", action="store_true", help="folders, with what is in them"
    )
    add_board_arguments(parser)


def run(args):
    *sources, target = args.paths
    if not sources:
        raise AcclimateError("cp needs two paths: from and to; that on the board begins with :")
    from_board = {path.startswith(":") for path in sources}
    if from_board | {target.startswith(":")} != {True, False} or len(from_board) != 1:
        raise AcclimateError(
            "cp copies between this computer and a board: either all sources or the target "
            "begin with :"
        )
    with open_chosen(args) as board:
        copy = _Copy(board, args.recursive)
        copy.total_bytes = None if True in from_board else sum(map(_bytes, map(Path, sources)))
        for source in sources:
            if from_board == {True}:
                copy.from_board(source[1:], Path(target), len(sources) > 1)
            else:
                copy.to_board(Path(source), target[1:], len(sources) > 1)
    progress("")
    args.result = {"files": copy.files, "bytes": copy.size_bytes}
    count = "1 file" if copy.files == 1 else f"{copy.files} files"
    print(f"{count}, {copy.size_bytes} bytes, compared with what was sent")


def _bytes(source):
    """Return the bytes of a file, or of all files of a folder."""
    files = source.rglob("*") if source.is_dir() else [source]
    return sum(file.stat().st_size for file in files if file.is_file())


class _Copy:
    """Copies between this computer and a board, and what they came to."""

    def __init__(self, board, recursive):
        self.board, self.recursive = board, recursive
        self.files = self.size_bytes = 0
        self.total_bytes = None  # of all sources, where that is known

    def to_board(self, source, target, into):
        """Copy a file or folder to a path on the board; into a folder where one is named."""
        if not source.exists():
            raise AcclimateError(f"no file {source}")
        base = self._path(target)
        if into or target.endswith("/") or self._is_folder(base):
            base = posixpath.join(base, source.name)
        if source.is_file():
            return self._send(source, base)
        if not self.recursive:
            raise AcclimateError(f"{source} is a folder: use -r")
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            self._send(file, posixpath.join(base, *file.relative_to(source).parts))
        return None

    def from_board(self, source, target, into):
        """Copy a file or folder of the board to a path of this computer."""
        path = self._path(source)
        if not self.board.exists(path):
            raise AcclimateError(f"no file {source} on {self.board.name}")
        if into or target.is_dir():
            target = target / posixpath.basename(path.rstrip("/"))
        if not self._is_folder(path):
            return self._receive(path, target)
        if not self.recursive:
            raise AcclimateError(f":{source} is a folder: use -r")
        for name in sorted(self.board.ls(path)):
            self.from_board(posixpath.join(path, name), target / name, False)
        return None

    def _path(self, path):
        root = self.board.root
        return path if path.startswith(root) else posixpath.join(root, path.lstrip("/"))

    def _is_folder(self, path):
        return self.board.exec(_IS_FOLDER % (path.rstrip("/") or "/")).strip() == "True"

    def _send(self, source, path):
        data = source.read_bytes()
        before = self.size_bytes

        def show(done, _=0):
            progress(f"copying {source} ({len(data)} bytes)", before + done, self.total_bytes)

        show(0)
        self.board.mkdir(posixpath.dirname(path))
        self.board.put_bytes(data, path, show)
        self._count(data)

    def _receive(self, path, target):
        progress(f"copying :{path}")
        data = self.board.get_bytes(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, data)
        self._count(data)

    def _count(self, data):
        self.files += 1
        self.size_bytes += len(data)
