# SPDX-License-Identifier: MIT
"""Swap a model in a flash, with the power cut at any step: which model is there afterwards?

The flash is a model of NOR flash in RAM (`nor.py`, as the project's tests use it); the store that
boots from it is the device's own.
"""

import io
from array import array

from nor import NorFlash, PowerCut

from acclimate.store import WEIGHTS, Store, Wanted
from acclimate.svm import SVM

PAGE, UNIT, PAGES = 512, 16, 12  # both models come with the page, so none is signed
_old = _new = None


def _read(name):
    with open("/page/" + name, "rb") as file:
        return file.read()


def _flash():
    """A flash with the first model in use, made once and copied."""
    global _old, _new
    if _old is None:
        first, _new = _read("one.capsule"), _read("two.capsule")
        flash = NorFlash(PAGE * PAGES, PAGE, UNIT)
        store = Store(flash, Wanted(model=7, unsigned=True))
        store.swap_capsule(first)
        _old = flash
    flash = NorFlash(PAGE * PAGES, PAGE, UNIT, bytearray(_old.data))
    flash.programs[:] = _old.programs
    return flash


def _swap(flash, stages=None):
    """The whole swap in its steps; `stages` receives (name, step at its end)."""
    store = Store(flash, Wanted(model=7, unsigned=True))

    def note(name):
        if stages is not None:
            stages.append([name, flash.steps])

    note("boot")
    head = _new[:256]
    start = store.stage(head, len(head))
    note("stage")
    while start < len(_new):
        part = _new[start : start + 128]
        store.write(part, len(part))
        start += len(part)
    note("write")
    store.finish()
    note("verify")
    store.trial()
    note("trial")
    store.confirm()
    note("confirm")


def plan():
    """Steps of a swap without a cut: names, and the flash step at which each ends."""
    flash = _flash()
    stages = []
    _swap(flash, stages)
    return {"stages": stages, "steps": flash.steps, "page": PAGE, "unit": UNIT, "pages": PAGES}


def cut(step, torn, detail=True):
    """Cut in a step, give power back, boot: which model, and why."""
    flash = _flash()
    flash.cut_after(step, torn)
    try:
        _swap(flash)
        was_cut = False
    except PowerCut:
        was_cut = True
    flash.power_on()
    left = bytes(flash.data) if detail else b""
    store = Store(flash, Wanted(model=7, unsigned=True))
    found = {
        "step": step,
        "cut": was_cut,
        "version": store.head.version if store.active is not None else 0,
        "state": store.state,
        "note": store.note,
    }
    if detail:
        found["used"] = _used(left)
        found["slot"] = store.active
        found["slots"] = [store.slots.start(0), store.slots.start(1), store.slots.bytes]
        found["answers"] = _answers(store)
    return found


def sweep(first, count, torn):
    """The versions in use after a cut in each of some steps."""
    return [cut(step, torn, False)["version"] for step in range(first, first + count)]


def _used(data):
    """For each unit of the flash: 1 where something is programmed, as a text."""
    blank = b"\xff" * UNIT
    return "".join("0" if data[k : k + UNIT] == blank else "1" for k in range(0, len(data), UNIT))


def _answers(store):
    """What the model in use says at 24 x 24 places, as a text; "" without a model."""
    if store.active is None:
        return ""
    machine = SVM.load(io.BytesIO(bytes(store.view(WEIGHTS))))
    row = array("b", [0, 0])
    out = bytearray(576)
    for k in range(576):
        row[0], row[1] = (k % 24) * 10 - 115, (k // 24) * 10 - 115
        out[k] = 48 + machine.predict(row)
    return out.decode()
