# SPDX-License-Identifier: MIT
"""The operations that the power-cut campaign interrupts, as an application would write them.

Each Case has `prepare(flash)`, which leaves the flash before the operation, and
`work(store)`, which does it or, called again after a cut, what is left of it.
"""

import random
from dataclasses import dataclass
from typing import Callable

from acclimate.store import Store, Updater, Wanted
from acclimate.store.journal import VERIFIED
from acclimate_host.capsules.build import build, head_bytes
from acclimate_host.capsules.delta import update
from acclimate_host.testing.nor import NorFlash

KEY = b"key of the power-cut campaign 32"
PAGE_BYTES = 128
SLOT_PAGES = 3


def _capsule(version, content):
    return build({"PROGRAM": b"prog", "WEIGHTS": content}, "SVM", 7, version, key=KEY)


_draw = random.Random(5)
_OLD_WEIGHTS = _draw.randbytes(90)
_NEW_WEIGHTS = bytes((b + _draw.choice((-2, -1, 0, 0, 1, 2))) & 255 for b in _OLD_WEIGHTS)
OLD = _capsule(1, _OLD_WEIGHTS)
NEW = _capsule(2, _NEW_WEIGHTS)
BIG_NEW = _capsule(2, _draw.randbytes(200))
UPDATE = update(OLD, NEW)
_BIG_WEIGHTS = _draw.randbytes(230)
BIG_OLD = _capsule(1, _BIG_WEIGHTS)
BIG_TUNED = _capsule(2, bytes(b ^ _draw.choice((0, 0, 1)) for b in _BIG_WEIGHTS))
BIG_UPDATE = update(BIG_OLD, BIG_TUNED)


@dataclass(frozen=True)
class Case:
    """One operation; ``allowed`` are the models that a cut may leave (None: no model)."""

    name: str
    prepare: Callable
    work: Callable
    allowed: tuple
    final: bytes | None
    max_boots: int = 60


def open_store(flash, max_boots=60):
    wanted = Wanted(model=7, kind=1, key=KEY)
    return Store(flash, wanted, max_boots=max_boots, chunk_bytes=64)


def new_flash():
    return NorFlash((2 + 2 * SLOT_PAGES) * PAGE_BYTES, PAGE_BYTES)


def in_use(store):
    """The bytes of the store's model as the store itself gives them."""
    if store.active is None:
        return None
    head, data = store.head, bytearray(store.head.total)
    store.flash.readinto(store.slots.start(store.active), data)
    return bytes(head.bytes[: head.size] + data[head.size :])  # a header may be mended in RAM


def _stage(store, data):
    start = store.stage(data, head_bytes(data), any_version=True)
    rest = data[start:]
    store.write(rest, len(rest))
    store.finish()


def _swap(data, target):
    def work(store):
        if in_use(store) != target:
            store.swap_capsule(data, any_version=True)
        store.confirm()

    return work


def _with_old(flash):
    open_store(flash).swap_capsule(OLD)


def _staged(flash):
    _with_old(flash)
    _stage(open_store(flash), NEW)


def _begun(flash):
    _with_old(flash)
    store = open_store(flash)
    store.stage(BIG_NEW, head_bytes(BIG_NEW))
    store.write(BIG_NEW[:256], 256)


def _update_begun(flash):
    """Two pages of the result of an update are in the flash."""
    open_store(flash).swap_capsule(BIG_OLD)
    store = open_store(flash)
    updater, at = Updater(store), 0
    while store.slots.written < 2 * PAGE_BYTES + 64:
        updater.feed(BIG_UPDATE[at : at + 1], 1)
        at += 1


def _on_trial(flash):
    _with_old(flash)
    store = open_store(flash)
    _stage(store, NEW)
    store.trial()


def _expired(flash):
    """The trial's only boot is used up: the next one ends it."""
    _on_trial(flash)
    open_store(flash, 1)


def _replaced(flash):
    _with_old(flash)
    open_store(flash).swap_capsule(NEW)


def _full_journal(prepare):
    """The same, but with the journal's page full: the next record compacts it."""

    def prepared(flash):
        prepare(flash)
        journal = open_store(flash).journal
        while journal._next < journal._places():
            low, high = journal.version & 0xFFFF, journal.version >> 16
            if journal.state == VERIFIED:
                low, high = journal.parity[journal.slot], journal.verdict
            journal.append(
                journal.state, journal.slot, journal.has_other, journal.boots, low=low, high=high
            )

    return prepared


def _lost_journal(flash):
    _with_old(flash)
    flash.data[: 2 * PAGE_BYTES] = bytes(2 * PAGE_BYTES)


def _stage_only(store):
    if store.state != "verified":
        _stage(store, NEW)


def _resume(store):
    if store.state != "verified":
        _stage(store, BIG_NEW)


def _trial(store):
    if store.state == "verified":
        store.trial()


def _confirm(store):
    store.confirm()


def _roll_back(store):
    if in_use(store) != OLD:
        store.rollback()


def _save(store):
    store.save(_NEW_WEIGHTS)


def _floors(store):
    """What a manifest and a list of keys leave behind, while a model is there."""
    journal = store.journal
    if journal.manifest < 5:
        journal.keep(8, 5, 0)
    if journal.keys < 2:
        journal.keep(7, 2, 0)


def _nothing(store):
    """Booting is the operation."""


def saved():
    """The capsule that a save of the new weights makes."""
    flash = new_flash()
    _with_old(flash)
    store = open_store(flash)
    store.save(_NEW_WEIGHTS)
    return in_use(store)


def cases():
    """Return all cases."""
    local = saved()
    plain = (
        Case("first install", lambda flash: None, _swap(NEW, NEW), (None, NEW), NEW),
        Case("stage", _with_old, _stage_only, (OLD,), OLD),
        Case("resume and verify", _begun, _resume, (OLD,), OLD),
        Case("trial", _staged, _trial, (OLD, NEW), NEW),
        Case("confirm", _on_trial, _confirm, (NEW,), NEW),
        Case("roll back a trial", _on_trial, _roll_back, (OLD, NEW), OLD),
        Case("roll back a confirmed model", _replaced, _roll_back, (OLD, NEW), OLD),
        Case("swap", _with_old, _swap(NEW, NEW), (OLD, NEW), NEW),
        Case("delta apply", _with_old, _swap(UPDATE, NEW), (OLD, NEW), NEW),
        Case(
            "delta, resume",
            _update_begun,
            _swap(BIG_UPDATE, BIG_TUNED),
            (BIG_OLD, BIG_TUNED),
            BIG_TUNED,
        ),
        Case("save", _with_old, _save, (OLD, local), local),
        Case("floors", _replaced, _floors, (NEW,), NEW),
        Case("floors beside a staged model", _begun, _floors, (OLD,), OLD),
        Case("trial that ends by itself", _expired, _nothing, (OLD, NEW), OLD, 1),
    )
    full = tuple(
        Case(
            "compaction, " + c.name,
            _full_journal(c.prepare),
            c.work,
            c.allowed,
            c.final,
            c.max_boots,
        )
        for c in plain[1:]
    )
    lost = (
        Case("recovery of a lost journal", _lost_journal, _nothing, (OLD,), OLD),
        Case("new region", lambda flash: None, _nothing, (None,), None),
    )
    return plain + full + lost
