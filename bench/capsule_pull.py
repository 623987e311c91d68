# SPDX-License-Identifier: MIT
"""What a whole pull takes of an emulated board's heap: client, HTTP, manifest, store.

The boards have no network, so the socket of ``pull_replay`` replays the replies of a real
repository (made by the host's own code) out of the flash. The heap is filled up but for
so many bytes; the fewest with which the pull succeeds are what it needs beyond the Store object.
"""

import contextlib
import tempfile
from pathlib import Path

from acclimate_host.capsules.repository import Repository
from acclimate_host.connect import open_board, package
from acclimate_host.paths import built
from bench import capsule_board

BUFFER_BYTES = {"samd21": 64, "nrf52840": 512}
SMALL = ("samd21",)  # too small for the client's updates: whole capsules, in pieces


def replies(base, target):
    """Return ((manifest, whole), (manifest, update)): HTTP replies as a server sends them."""
    result = []
    for bases in ((), (base,)):
        with tempfile.TemporaryDirectory() as folder:
            made = Repository(folder, capsule_board.KEY).publish(target, bases=bases)
            manifest = next(Path(folder).glob("models/*/*.man")).read_bytes()
            data = Path(folder, "objects", made.entries[-1].name).read_bytes()
        result.append((_reply(manifest), _reply(data)))
    return tuple(result)


def _reply(body):
    head = (
        "HTTP/1.1 200 OK\r\ndate: Sat, 28 Nov 2026 10:00:00 GMT\r\nserver: uvicorn\r\n"
        "content-type: application/octet-stream\r\naccept-ranges: bytes\r\n"
        f"content-length: {len(body)}\r\n"
        'etag: "0123456789abcdef0123456789abcdef"\r\nconnection: close\r\n\r\n'
    )
    return head.encode() + body


def measure(name, base, target):
    """Return bytes of heap: of the imports, and of pulls of a whole capsule and of an update."""
    blob, files = base, []
    for pair in replies(base, target):
        places = []
        for data in pair:
            places.append((len(blob), len(blob) + len(data)))
            blob += data
        files.append(tuple(places))
    names = capsule_board.names_of(name, len(base), len(target), len(blob))
    is_small = name in SMALL
    if is_small:
        names["imports"] = ""
    with _board(name, blob, names) as board:
        board.exec("from pull_replay import Socket, imported, need\nSocket.channel = channel")
        imports = int(board.exec(f"print(imported({is_small}))", 60))
        call = f"{len(base)}, %r, {BUFFER_BYTES[name]}, 8192, {is_small}"
        peaks = [
            int(board.exec(f"print(need(store, {call % (places,)}))", 400))
            for places in files[: 1 if is_small else 2]
        ]
    kinds = ("whole", "update")
    return {
        "import_bytes": imports,
        "buffer_bytes": BUFFER_BYTES[name],
        "peak_ram_bytes": max(peaks),
        **{f"peak_ram_{kind}_bytes": peak for kind, peak in zip(kinds, peaks, strict=False)},
    }


@contextlib.contextmanager
def _board(name, blob, names):
    elf = built(*capsule_board.ELF[name]) if name in capsule_board.ELF else None
    source = Path(__file__).with_name("pull_replay.py")
    with open_board(name, elf=elf) as board:
        # In firmware the package lies as on the larger boards: a room in one file.
        layout = "armv7emsp" if elf else capsule_board.ARCH[name]
        program = package.compile_file(source, source.name, layout)
        board.put_bytes(program, "/pull_replay.mpy")
        capsule_board.prepare(board, name, blob, names, ("pull",))
        yield board
