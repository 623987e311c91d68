# SPDX-License-Identifier: MIT
"""Push a capsule to a device over its cable, or as an update of the one that it has."""

import base64

from acclimate_host.capsules import delta
from acclimate_host.capsules.build import head_bytes, read
from acclimate_host.errors import Refused

SETUP = "from capsules import store"
_PIECE = 192
_BEGIN = """
from binascii import a2b_base64 as _from64
_active = store.head.bytes[20:52] if store.active is not None else b""
_waits = b""
if store.state == "verified":
    try:
        _waits = store.waiting().head.bytes[20:52]
    except ImportError:  # a firmware without trials
        pass
print(bytes(_active).hex(), store.slots.bytes, store.journal.floor, bytes(_waits).hex())
"""
_UPDATER = """
from acclimate.store import Updater as _Updater
_to = _Updater(store)
def _put(text):
    data = _from64(text)
    _to.feed(data, len(data))
"""
_STAGE = """
_head = _from64({head!r})
_start = store.stage(_head, len(_head))
_to = store
def _put(text):
    data = _from64(text)
    store.write(data, len(data))
print(_start)
"""


def push(board, capsule, bases=(), setup=None, confirm=True, progress=None):
    """Send a signed capsule; return how many bytes of it, or of the update, were sent.

    Nothing is sent when the device has it already, waiting or in use, or when it does not fit.

    :param board: an open board. :param bases: whole capsules that it may have.
    :param setup: program for the device that makes ``store``; None: its module ``capsules``
        does (``from capsules import store``).
    :param confirm: also use it from now on for good; else it waits, verified.
    """
    new = read(capsule)
    board.exec(setup or SETUP, 30)
    active, slot_bytes, floor, waiting = _answer(board, _BEGIN)
    if waiting == new.digest.hex() and confirm:
        board.exec("store.confirm()", 30)
    if new.digest.hex() in (active, waiting):
        return 0
    if new.total > int(slot_bytes):
        raise Refused(
            f"capsule of {new.total} bytes, a slot of {board.name} has {slot_bytes}: "
            "send a new region layout"
        )
    if new.version <= int(floor):
        raise Refused(f"version {new.version}: above {floor}, which {board.name} has tried")
    base = next((b for b in bases if b is not None and read(b).digest.hex() == active), None)
    data = delta.smallest(base, capsule)
    if data[:4] == b"AUPD":
        board.exec(_UPDATER)
        start = 0
    else:
        head = base64.b64encode(capsule[: head_bytes(capsule)]).decode()
        start = int(_answer(board, _STAGE.format(head=head))[0])
    for at in range(start, len(data), _PIECE):
        piece = base64.b64encode(data[at : at + _PIECE]).decode()
        board.exec(f"_put({piece!r})", 60)
        if progress:
            progress(min(at + _PIECE, len(data)), len(data))
    board.exec("_to.finish()", 120)
    if confirm:
        board.exec("store.confirm()", 30)
    return len(data) - start


def _answer(board, code):
    words = board.exec(code, 60).split(" ")
    return [word.strip() for word in words]
