# SPDX-License-Identifier: MIT
"""Keep one model in flash, replace it by a better one, and never lose it.

    store = Store(BlockFlash(partition), Wanted(model=7, key=key))
    store.swap_capsule(data)                  # the whole update in one line
    weights = store.view(WEIGHTS)             # in place where the flash is mapped

or in steps, with a trial that a reset without ``confirm`` ends:

    start = store.stage(head, len(head))      # refuses what is not for this device
    store.write(page, len(page))              # from byte `start` of the capsule on
    store.finish()                            # integrity, in full
    store.trial()
    store.confirm()                           # or store.rollback()

A cut of the power at any moment leaves the old or the new model, and so does one damaged byte.
After an error from the flash make a new Store: it starts from what the flash holds, and never
raises for what it finds there. See docs/capsules.md.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable, Iterator

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate.flash import FlashError
from acclimate.store import journal as _journal
from acclimate.store.capsule import CapsuleError, Checker, Head, Wanted, epoch_of
from acclimate.store.journal import CONFIRMED, EMPTY, ROLLED_BACK, STAGED, TRIAL, VERIFIED
from acclimate.store.slots import Slots

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


try:
    from time import monotonic as _now
except ImportError:

    def _now():
        from time import ticks_ms  # boards without a clock have it, too

        return ticks_ms() // 1000


# layout: begin
_H_FLAGS = const(7)
_H_SIGNATURE = const(52)
_ROLE_RELEASE = const(1)
# layout: end
_DAY_SLOTS = 32  # an update an hour, and some more
_NAMES = ("", "staged", "verified", "trial", "confirmed", "rolled back", "empty")


class StoreError(RuntimeError):
    """The store is not in a state that allows what was asked."""


class Store:
    """The model of a flash region.

    ``active`` is the slot in use or None; ``note`` says why the latest boot did what it did.
    ``trouble`` is "" or says what the flash refused at boot: the model is then used, and whatever
    would write raises FlashError.

    :param flash: a Flash of four pages or more.
    :param wanted: what this device takes and its key.
    :param max_boots: boots that a model on trial may take without ``confirm``, 1 to 60.
    :param chunk_bytes: buffer for reading and writing, 32 or more; divides a page.
    :param day_pages: erase budget: slot pages per day; None: of 32 whole slots; 0: no limit.
    :param day: callable that returns the number of the day since 1970, for the budget and for
        manifests that expire. Without it each boot begins a day, since a board without a clock
        would never see the next one.
    """

    def __init__(
        self,
        flash: "Any",
        wanted: "Wanted | None" = None,
        max_boots: int = 3,
        chunk_bytes: int = 128,
        day_pages: int | None = None,
        day: "Callable[[], int] | None" = None,
    ) -> None:
        if not 1 <= max_boots <= 60:
            raise ValueError("max_boots %d: 1 to 60" % max_boots)
        self.flash = flash
        self.wanted = wanted or Wanted()
        self.max_boots = max_boots
        self.day = day
        self.checker = Checker(flash, chunk_bytes)
        self.slots = Slots(flash, self.checker.chunk)
        self.day_pages = _DAY_SLOTS * self.slots.pages if day_pages is None else day_pages
        self.journal = _journal.Journal(flash, self.slots.pages)
        self.head = Head()  # of the active capsule
        self.incoming = Head()  # of the one that is staged, and scratch
        self.active = None
        self.note = ""
        self.trouble = ""  # why nothing can be written since the latest boot
        self._is_open = False
        self._is_checked = False  # what is verified was verified since the latest boot
        self._boot()
        self._first = self.journal.day + 1
        self._start_s = _now()

    def __repr__(self):
        model = "no model"
        if self.active is not None:
            model = "model %d, version %d" % (self.head.model, self.head.version)
        now = model, self.state, self.slots.bytes, self.trouble or self.note
        return "Store(%s, %s): slots of %d bytes, %s" % now

    # ---- what is there -------------------------------------------------------------------

    @property
    def state(self) -> str:
        """``empty``, ``staged``, ``verified``, ``trial``, ``confirmed`` or ``rolled back``."""
        return _NAMES[self.journal.state]

    def section(self, type: int) -> tuple[int, int]:
        """Return (offset in the flash, bytes) of a section of the active model."""
        index = self.head.find(type) if self.active is not None else -1
        if index < 0:
            raise StoreError("no section %d: %s" % (type, self.note or "not in this capsule"))
        at = self.slots.start(self.active) + self.head.section_at(index)
        return at, self.head.section_size(index)

    def view(self, type: int) -> memoryview | None:
        """Return a section as a memoryview in place, or None where the flash is not mapped."""
        at, size = self.section(type)
        return self.flash.mapped(at, size)

    def readinto(self, type: int, offset: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer from a section, from offset on."""
        at, size = self.section(type)
        if offset < 0 or offset + len(buffer) > size:
            raise ValueError("bytes %d to %d: %d" % (offset, offset + len(buffer), size))
        self.flash.readinto(at + offset, buffer)

    def budget_left(self) -> int | None:
        """Return how many slot pages may still be erased today; None without a limit."""
        if not self.day_pages:
            return None
        today = self._today()
        used = self.journal.day_erases if self.journal.day == today else 0
        return max(0, self.day_pages - used)

    def _today(self):
        if self.day is not None:
            return self.day() & 0xFFFF
        return self._first + int(_now() - self._start_s) // 86400 & 0xFFFF

    # ---- a new capsule ---------------------------------------------------------------------

    def stage(
        self, data: "ReadableBuffer", n: int, any_version: bool = False, resume: bool = True
    ) -> int:
        """Take the header and section table (the first n bytes), make room for the capsule.

        Return the offset of the first byte that ``write`` is to be given: 0, or more when the
        same capsule was begun before a cut.
        """
        head, into = self.incoming, self.scratch()
        n = min(n, len(into), len(data))
        for i in range(n):
            into[i] = data[i]
        head.parse(n)
        head.fits(self.wanted, self.slots.bytes)
        if head.bytes[_H_FLAGS]:
            raise CapsuleError("authenticity", "a board saved it for itself")
        self.checker.signed(head.bytes, _H_SIGNATURE, self.wanted, _ROLE_RELEASE)
        self.check_epoch(epoch_of(head))
        if not any_version and head.version <= self.journal.floor:
            text = "%d is not above %d, tried before" % (head.version, self.journal.floor)
            raise CapsuleError("version", text)
        return self.make_room(resume)

    def scratch(self) -> bytearray:
        """Return the buffer of the next header; what was being written is given up."""
        self.check_writable()
        self._is_open = self._is_checked = False
        return self.incoming.bytes

    def write(self, data: "ReadableBuffer", n: int) -> None:
        """Program the next n bytes of the capsule."""
        if not self._is_open:
            raise StoreError("write without stage")
        try:
            self.slots.write(data, n)
        except CapsuleError:
            self.cancel()
            raise

    def finish(self) -> None:
        """End the writing; compare the whole with its SHA-256, as it stands in the flash."""
        self._end_writing()
        try:
            self.checker.intact(self.incoming, self.slots.start(self.journal.slot))
        except CapsuleError:
            self.cancel()
            raise
        self._verified()

    def finish_steps(self) -> "Iterator[int]":
        """As ``finish``, but as a generator with short steps."""
        self._end_writing()
        try:
            yield from self.checker.steps(self.incoming, self.slots.start(self.journal.slot))
        except CapsuleError:
            self.cancel()
            raise
        self._verified()

    def trial(self) -> None:
        """Use the verified model from now on, until a reset too many without ``confirm``."""
        self._switch(TRIAL)

    def confirm(self) -> None:
        """Keep the model on trial (or verified); nothing happens when it is confirmed already."""
        if self.journal.state not in (CONFIRMED, ROLLED_BACK):
            self._switch(CONFIRMED)

    def rollback(self) -> None:
        """Refuse the waiting model, end a trial, or go back from a model to the one before it.

        The version that is given up is remembered: it is not taken again.
        """
        self.check_writable()
        j = self.journal
        if j.state == STAGED:
            self.cancel()
        elif j.state == VERIFIED:
            version = self.incoming.version if self._load_waiting() else 0
            self._give_up(j.slot, self.active, version)
        elif j.state == TRIAL:
            self._leave_trial()
        elif j.state == CONFIRMED:
            if not j.has_other or not self._load(1 - j.slot, self.incoming):
                raise StoreError("rollback: there is no other model")
            self._give_up(j.slot, 1 - j.slot, j.version)
        self.check_writable()
        self.reopen()

    def cancel(self) -> None:
        """Forget what is staged or verified; it may be taken again."""
        self._is_open = False
        if self.journal.state in (STAGED, VERIFIED):
            self.check_writable()
            self._use(self.active)
            self.check_writable()

    def swap_capsule(self, source: "Any", any_version: bool = False) -> None:
        """Replace the model by a capsule, or by an update of the one in use, and confirm it.

        :param source: the bytes, or an object with ``readinto``.
        """
        from acclimate.store.install import feed

        feed(self, source, any_version)
        self.confirm()

    def save(self, weights: "ReadableBuffer") -> bool:
        """Keep trained weights: a capsule of its own with the other sections as they are.

        Return False, and write nothing, when they are what the flash holds.
        """
        from acclimate.store.install import save

        return save(self, weights)

    def check_writable(self) -> None:
        """Raise FlashError where the flash refused something at boot."""
        if self.trouble:
            raise FlashError(self.trouble)

    def check_epoch(self, epoch: int) -> None:
        """Raise CapsuleError unless an epoch is the one of the board's key list."""
        own = self.journal.keys >> 16
        if epoch != own:
            raise CapsuleError("epoch", "%d, this device is in %d" % (epoch, own))

    def waiting(self) -> "Any":
        """Return the verified model that waits; it reads as a Store does (view, readinto, head).

        :raises StoreError: none waits, or it is damaged.
        """
        from acclimate.store.waiting import WaitingModel

        if self.journal.state != VERIFIED or not self._load_waiting():
            raise StoreError("no model waits, the store is %s: %s" % (self.state, self.note))
        return WaitingModel(self)

    def verdict(self) -> tuple[int, int] | None:
        """Return (verdict, score) on the latest verified model; None: there is no verdict."""
        from acclimate.store.waiting import verdict_of

        return verdict_of(self.journal)

    # ---- inside ----------------------------------------------------------------------------

    def _end_writing(self):
        if not self._is_open:
            raise StoreError("finish without stage")
        self.slots.close()
        self._is_open = False

    def _verified(self):
        j, head, short = self.journal, self.incoming, self.checker.short
        start = self.slots.start(j.slot)
        for at in range(head.size, len(head.bytes), 4):
            self.flash.readinto(start + at, short)
            for i in range(4):
                head.bytes[at + i] = short[i]
        j.append(VERIFIED, j.slot, j.has_other, low=head.parity())
        self._is_checked = True

    def _load_waiting(self):
        """Bring the verified model's header to ``incoming``; return whether the model is whole."""
        self._is_checked = self._is_checked or self._load(self.journal.slot, self.incoming)
        return self._is_checked

    def make_room(self, resume: bool) -> int:
        """Erase a slot for ``incoming``; return the first byte that is not there yet."""
        j, head, slots = self.journal, self.incoming, self.slots
        self.check_writable()
        if j.state == TRIAL:
            raise StoreError("a model is on trial: confirm it or roll it back first")
        target = 0 if self.active is None else 1 - self.active
        start, pages = 0, slots.pages_of(head.total)
        if resume and j.state == STAGED and j.slot == target and self._is_begun(target):
            start = slots.resume_at(target, head.total)
        first = start // self.flash.erase_bytes
        left = self.budget_left()
        if left is not None and pages - first > left:
            raise StoreError("erase budget: %d pages, %d left today" % (pages - first, left))
        # A slot that is about to be erased cannot be gone back to: say so before.
        j.append(STAGED, target, self.active is not None, low=pages - first, high=self._today())
        slots.erase(target, first, pages)
        slots.open(target, start, head.total)
        self._is_open = True
        return start

    def _is_begun(self, slot):
        """Tell whether the slot starts with the header that is in ``incoming``."""
        head, chunk = self.incoming, self.checker.chunk
        at = 0
        while at < head.size:
            self.flash.readinto(self.slots.start(slot) + at, chunk)
            for i in range(min(len(chunk), head.size - at)):
                if chunk[i] != head.bytes[at + i]:
                    return False
            at += len(chunk)
        return True

    def _switch(self, state):
        j = self.journal
        if j.state == state:
            return
        self.check_writable()
        if j.state != VERIFIED and j.state != TRIAL:
            raise StoreError("%s: the store is %s" % (_NAMES[state], self.state))
        head = self.head if j.state == TRIAL else self.incoming
        if j.state == VERIFIED and not self._load_waiting():
            self.cancel()
            raise StoreError("the verified model is damaged: " + self.note)
        # A model of an epoch before says nothing of the versions of this one.
        version = head.version if epoch_of(head) == j.keys >> 16 else 0
        j.append(state, j.slot, j.has_other, 0, version)
        if self.active != j.slot:
            self.head, self.incoming = self.incoming, self.head
            self.active = j.slot

    def _give_up(self, slot, other, version):
        """Use the other slot, or none; mark the one that is given up in its own flash."""
        self._use(other, version)
        if not self.trouble:
            self.slots.spoil(slot)

    def _leave_trial(self):
        j = self.journal
        has_other = j.has_other and self._load(1 - j.slot, self.incoming)
        self._give_up(j.slot, 1 - j.slot if has_other else None, j.version)

    def _use(self, slot, version=0):
        """Note that a slot, or none, is in use from now on, and which version was given up."""
        if slot is None:
            self._settle(EMPTY, 0, False, 0, version)
        else:
            self._settle(ROLLED_BACK, slot, False, 0, version)

    def _settle(self, state, slot, has_other, boots, version):
        """As ``append``, but where the flash refuses it holds until the next boot only."""
        j = self.journal
        if not self.trouble:
            try:
                j.append(state, slot, has_other, boots, version)
            except FlashError as error:
                self.trouble = "read-only: %s" % error
        j.state, j.slot, j.has_other = state, slot, has_other

    # ---- boot: the program must reach its prompt, whatever the flash does ------------------

    def _boot(self):
        j = self.journal
        is_whole = j.load()
        if hasattr(self.wanted.key, "check"):
            self.wanted.key.meet(self)
        elif self.wanted.key is not None:
            j.keys = 0  # an HMAC key has no lists: a board that was given one is in epoch 0
        if not is_whole:
            self._rebuild()
        why = j.note
        if j.state == TRIAL:
            self._count_boot()
        self.reopen()
        self.note = self.note or why or self.trouble

    def _count_boot(self):
        j = self.journal
        if j.boots >= self.max_boots:
            self._leave_trial()
            self.note = "rolled back: %d boots without confirm" % self.max_boots
            return
        self._settle(TRIAL, j.slot, j.has_other, j.boots + 1, j.version)
        # A boot that cannot be counted would never end the trial.
        if self.trouble and j.has_other and self._load(1 - j.slot, self.incoming):
            self._use(1 - j.slot)

    def reopen(self) -> None:
        """Find the active model; where it is damaged, use the other one, or none."""
        j = self.journal
        self.active = None
        slot, other = j.slot, j.has_other
        if j.state in (STAGED, VERIFIED):
            slot, other = 1 - slot, False
            if not j.has_other:
                self.note = self.note or "no model yet"
                return
        if j.state == EMPTY:
            self.note = self.note or "no model yet"
            return
        if self._load(slot, self.head):
            self.active = slot
            return
        why = self.note
        if other and self._load(1 - slot, self.head):
            self._use(1 - slot)
            self.active = 1 - slot
            self.note = "slot %d damaged, the other is used: %s" % (slot, why)
            return
        self.note = "no model: slot %d: %s" % (slot, why)

    def _load(self, slot, head):
        """Read and check a slot's capsule into a Head; say in ``note`` what is wrong with it.

        One damaged byte of the header is set right in RAM.
        """
        start = self.slots.start(slot)
        try:
            self.flash.readinto(start, head.bytes)
            try:
                self._check(head, start)
            except CapsuleError:
                parity = self.journal.parity[slot]
                if not parity or not head.mend(parity):
                    raise
                self._check(head, start)
                self.note = "slot %d: header mended" % slot
            return True
        except CapsuleError as error:
            self.note = str(error)
        except FlashError as error:
            self.note = self.trouble = str(error)
        return False

    def _check(self, head, start):
        head.parse(len(head.bytes))
        head.fits(self.wanted, self.slots.bytes)
        self.checker.authentic(head, self.wanted)
        self.checker.intact(head, start)

    def _rebuild(self):
        """Both journal pages are damaged or blank: look at the slots themselves."""
        best = None
        for slot in (0, 1):
            if not self._load(slot, self.incoming):
                continue
            self.journal.parity[slot] = self.incoming.parity()
            if best is None or self.incoming.is_newer(self.head):
                best = slot
                self.head, self.incoming = self.incoming, self.head
        if best is None:
            self._use(None)
            self.note = "new region, or nothing left: " + self.note
        else:
            version = self.head.version if epoch_of(self.head) == self.journal.keys >> 16 else 0
            self._settle(CONFIRMED, best, False, 0, version)
            self.note = "journal lost; the newest whole model is used"
