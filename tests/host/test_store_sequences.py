# SPDX-License-Identifier: MIT
"""Any sequence of operations, cut or not: the store, a reboot and the oracle agree at each step.

Every step is drawn from a seed, which a failure names.
"""

import random

import capsule_cases as cases
import pytest

from acclimate.flash import FlashError
from acclimate.store import CapsuleError, StoreError, Updater
from acclimate_host.capsules.build import head_bytes, read
from acclimate_host.capsules.delta import update
from acclimate_host.testing.nor import ERASE_TORN, PROGRAM_TORN, NorFlash, PowerCut
from bench.powercut_oracle import model_of

PAGE = 256
CONTENT = cases.weights(301, 50)
REFUSALS = (CapsuleError, StoreError, ValueError)


class Life:
    """One flash with its store, and what may be in use."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.flash = cases.flash()
        self.store = cases.store(self.flash, max_boots=60)
        self.known = {}  # version -> capsule of it that was made
        self.version = 0
        self.going = None  # (bytes, place) of what is being written
        self.reached = set()

    def made(self, **options):
        self.version = max(self.version, self.store.journal.floor) + self.draw.choice((1, 1, 2))
        content = cases.tuned(CONTENT, self.draw.randrange(1000))
        if self.draw.random() < 0.3:
            content = cases.weights(self.draw.choice((1, 40, 301, 700)), self.version)
        self.known[self.version] = cases.capsule(self.version, content, **options)
        return self.known[self.version]

    # ---- what an application might do ------------------------------------------------------

    def swap(self):
        self.store.swap_capsule(self.made(), any_version=True)

    def swap_update(self):
        base = cases.active(self.store)
        if base:
            self.store.swap_capsule(update(base, self.made()), any_version=True)

    def stage(self):
        data = self.made()
        start = self.store.stage(data, head_bytes(data), any_version=True)
        self.going = data, start

    def stage_again(self):
        if self.known:
            data = self.draw.choice(list(self.known.values()))
            self.going = data, self.store.stage(data, head_bytes(data), any_version=True)

    def write(self):
        if self.going:
            data, at = self.going
            n = self.draw.choice((1, 64, 100, 256, len(data)))
            part = data[at : at + n]
            self.store.write(part, len(part))
            self.going = data, at + len(part)

    def write_wrong(self):
        if self.going:
            self.store.write(b"wrong", 5)

    def finish(self):
        if self.going and self.draw.random() < 0.7:
            data, at = self.going
            self.store.write(data[at:], len(data) - at)
        self.store.finish()

    def verify(self):
        self.stage()
        data, start = self.going
        self.store.write(data[start:], len(data) - start)
        self.store.finish()

    def half_an_update(self):
        base = cases.active(self.store)
        if base:
            container = update(base, self.made())
            updater = Updater(self.store, any_version=True)
            updater.feed(container, self.draw.randrange(len(container)))

    def trial(self):
        self.store.trial()

    def confirm(self):
        self.store.confirm()

    def rollback(self):
        self.store.rollback()

    def cancel(self):
        self.store.cancel()

    def save(self):
        if self.store.active is not None:
            size = len(read(cases.active(self.store)).sections[1][1])
            self.store.save(cases.weights(size, self.draw.randrange(9)))

    def foreign(self):
        self.store.swap_capsule(self.made(device=8))

    def reboot(self):
        self.store = cases.store(self.flash, max_boots=60)
        self.going = None

    # ---- one step ----------------------------------------------------------------------------

    OPERATIONS = (
        swap,
        swap_update,
        stage,
        stage_again,
        write,
        write,
        write,
        write_wrong,
        finish,
        verify,
        verify,
        half_an_update,
        trial,
        trial,
        confirm,
        rollback,
        cancel,
        save,
        foreign,
        reboot,
    )

    def step(self, with_cuts):
        operation = self.draw.choice(self.OPERATIONS)
        before = cases.active(self.store)
        if with_cuts and self.draw.random() < 0.3:
            self.flash.cut_after(
                self.draw.randrange(1, 120),
                self.draw.choice(ERASE_TORN + PROGRAM_TORN),
                self.draw.randrange(999),
            )
        other = self.waiting()
        try:
            operation(self)
            self.reached.add(operation.__name__)
        except REFUSALS:
            pass
        except PowerCut:
            self.flash.power_on()
            self.reboot()
            self.after_a_cut(before, other, operation.__name__)
        self.flash.cut_after(1 << 30)
        self.agree(operation.__name__)

    def waiting(self):
        """Whole capsules that the slots hold, before anything changes them."""
        return {model for model in map(self._slot, (0, 1)) if model}

    def _slot(self, slot):
        start = self.store.slots.start(slot)
        total = int.from_bytes(self.flash.data[start + 8 : start + 12], "little")
        data = bytes(self.flash.data[start : start + min(total, 2000)])
        try:
            return data if read(data).intact else None
        except Exception:
            return None

    def after_a_cut(self, before, other, name):
        found = cases.active(self.store)
        allowed = {before, *other, *self.known.values()}
        if name == "rollback":
            allowed.add(None)  # of a trial without another model
        if name == "save":
            allowed.add(found if found and read(found).flags & 1 else before)
        assert found in allowed, f"after a cut in {name} another model is in use"
        assert found is not None or before is None or name == "rollback", f"{name} lost it"

    def agree(self, name):
        """The store, the oracle and a reboot say the same."""
        image = bytes(self.flash.data)
        mine = cases.active(self.store)
        assert model_of(image, PAGE, cases.KEY) == mine, f"{name}: the oracle sees another model"
        copy = NorFlash(len(image), PAGE, data=bytearray(image))
        assert cases.active(cases.store(copy, max_boots=60)) == mine, f"{name}: lost by a reboot"
        assert mine is None or read(mine).intact


def live(seed, steps, with_cuts):
    life = Life(seed)
    for number in range(steps):
        try:
            life.step(with_cuts)
        except (AssertionError, FlashError) as error:
            raise AssertionError(f"seed {seed}, step {number}: {error}") from error
    return life


@pytest.mark.slow
@pytest.mark.parametrize("with_cuts", [False, True])
def test_any_sequence_of_operations_keeps_store_reboot_and_oracle_together(with_cuts):
    reached = set()
    for seed in range(60):
        reached |= live(seed + 1000 * with_cuts, 40, with_cuts).reached
    assert reached >= {operation.__name__ for operation in Life.OPERATIONS} - {"foreign"}
