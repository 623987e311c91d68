# SPDX-License-Identifier: MIT
"""One fault in the flash or its driver, at rest or between two operations, and a boot after it.

rot: a flipped bit or a damaged byte of the journal or of a slot's header; a page that wears out.
driver: an OSError at one call, or from one call on. The oracle reads the image as it was before
the damage, so it needs to know nothing of how the store mends it.
"""

from collections import Counter

from acclimate.flash import FlashError
from acclimate.store import StoreError
from acclimate_host.testing.nor import NorFlash
from bench import powercut_cases as cases
from bench.powercut_oracle import TRIAL, floor_of, model_of, newest_record, verdict

SLOT_BYTES = cases.SLOT_PAGES * cases.PAGE_BYTES
JOURNAL_BYTES = 2 * cases.PAGE_BYTES
HEAD_BYTES = 124
WORN = ("erase raises", "program raises", "erase does nothing", "program does nothing")
DRIVER = ("once", "once, done", "from then on")
_CALLS = ("stage", "write", "finish", "trial", "confirm", "rollback", "cancel")


class WornFlash(NorFlash):
    """Flash of which one page does not erase, or does not program, any more."""

    def __init__(self, image, page, kind, page_bytes=cases.PAGE_BYTES):
        super().__init__(len(image), page_bytes, data=bytearray(image))
        self._worn, self._what, self._how = page, *kind.split(" ", 1)

    def _fails(self, what, at):
        fails = what == self._what and at // self.erase_bytes == self._worn
        if fails and self._how == "raises":
            raise OSError(5)
        return fails

    def _program(self, at, buffer):
        if not self._fails("program", at):
            super()._program(at, buffer)

    def _erase(self, at):
        if not self._fails("erase", at):
            super()._erase(at)


class DriverFlash(NorFlash):
    """Flash that is not mapped, whose driver raises at the n-th call, in one of the ways."""

    def __init__(self, image, call=0, how="", page_bytes=cases.PAGE_BYTES):
        super().__init__(len(image), page_bytes, data=bytearray(image))
        self.view = None
        self.calls = 0
        self.broken = ""
        self._call, self._how = call, how

    def mapped(self, at, n):
        return None

    def _does(self, what, step, *arguments):
        self.calls += 1
        fails = self.calls == self._call
        if fails and self._how == "from then on":
            self.broken = what
        if what == self.broken or (fails and self._how == "once"):
            raise OSError(5)
        step(*arguments)
        if fails:
            raise OSError(110)

    def _read(self, at, buffer):
        self._does("read", super()._read, at, buffer)

    def _program(self, at, buffer):
        self._does("program", super()._program, at, buffer)

    def _erase(self, at):
        self._does("erase", super()._erase, at)


def images_of(case):
    """Return the images at rest and after each operation of a case, each once."""
    flash = cases.new_flash()
    case.prepare(flash)
    found = [bytes(flash.data)]
    store = cases.open_store(flash, case.max_boots)
    found.append(bytes(flash.data))
    for name in _CALLS:
        call = getattr(store, name)

        def recorded(*arguments, _call=call, **options):
            result = _call(*arguments, **options)
            found.append(bytes(flash.data))
            return result

        setattr(store, name, recorded)
    case.work(store)
    return list(dict.fromkeys(found))


def places():
    """Return the offsets of the journal and of both slots' headers."""
    heads = [JOURNAL_BYTES + slot * SLOT_BYTES for slot in (0, 1)]
    return [*range(JOURNAL_BYTES), *(at + i for at in heads for i in range(HEAD_BYTES))]


class Rot:
    """Counts of one run, as ``rot`` and ``driver``: states, lost, wrong, stuck."""

    def __init__(self, every=1, driver_only=False):
        self.every = every  # every n-th state is tried
        self.driver_only = driver_only
        self.count = {"rot": Counter(), "driver": Counter()}
        self.failures = []
        self._number = 0

    def result(self):
        keys = ("states", "lost", "wrong", "stuck")
        return {kind: {key: count[key] for key in keys} for kind, count in self.count.items()}

    def run(self, case):
        flash = cases.new_flash()
        case.prepare(flash)
        image = bytes(flash.data)
        if not self.driver_only:
            for moment, found in enumerate(images_of(case)):
                self._damage(case, found, moment)
            for page in range(len(image) // cases.PAGE_BYTES):
                for kind in WORN:
                    self._wear(case, image, page, kind)
        flash = DriverFlash(image)
        case.work(cases.open_store(flash, case.max_boots))
        for call in range(1, flash.calls + 1):
            for how in DRIVER:
                if self._is_due():
                    self._refuse(case, image, call, how)

    def _is_due(self):
        self._number += 1
        return self._number % self.every == 0

    def _damage(self, case, image, moment):
        wanted = model_of(image, cases.PAGE_BYTES, cases.KEY)
        floor = floor_of(image, cases.PAGE_BYTES)
        # Where no journal is left one fault was there before.
        is_whole = newest_record(image, cases.PAGE_BYTES) is not None
        for at in places() if is_whole else ():
            old = image[at]
            values = [old ^ 1 << bit for bit in range(8)]
            values += [value for value in (0, 255, old * 167 + 91 & 255) if value != old]
            for value in dict.fromkeys(values):
                if not self._is_due():
                    continue
                bad = bytearray(image)
                bad[at] = value
                where = moment, at, value
                self._boot("rot", case, bad, wanted, where, floor)
                if self._number // self.every % 4 == 0:
                    self._finish("rot", case, bad, where)

    def _wear(self, case, image, page, kind):
        """The page wears out during the operation, and stays so."""
        flash, where = WornFlash(image, page, kind), (page, kind)
        try:
            case.work(cases.open_store(flash, case.max_boots))
            reached = True
        except (FlashError, StoreError):
            reached = False
        except Exception as error:
            return self._fail("rot", "stuck", case, where, repr(error))
        now = bytes(flash.data)
        wanted = model_of(now, cases.PAGE_BYTES, cases.KEY)
        self._boot("rot", case, now, wanted, where, 0, WornFlash(now, page, kind))
        if page * cases.PAGE_BYTES < JOURNAL_BYTES and not reached:
            self._fail("rot", "stuck", case, where, "a worn journal page stopped it")
        return None

    def _refuse(self, case, image, call, how):
        """The driver raises: once more, then boot on it as it is, and once it works again."""
        flash, where = DriverFlash(image, call, how), (call, how)
        store = None
        for _ in range(2):  # as users do it
            try:
                store = store or cases.open_store(flash, case.max_boots)
                case.work(store)
            except (FlashError, StoreError):
                continue  # what is documented
            except Exception as error:
                return self._fail("driver", "stuck", case, where, repr(error))
            break
        now = bytes(flash.data)
        wanted = model_of(now, cases.PAGE_BYTES, cases.KEY)
        if flash.broken:
            broken = DriverFlash(now)
            broken.broken = flash.broken
            self._boot("driver", case, now, wanted, where, 0, broken)
        self._boot("driver", case, now, wanted, where, 0)
        self._finish("driver", case, now, where)
        return None

    def _boot(self, kind, case, image, wanted, where, floor, flash=None):
        self.count[kind]["states"] += 1
        allowed = []
        newest = newest_record(bytes(image), cases.PAGE_BYTES)
        if flash is not None and newest and newest[0] == TRIAL:
            allowed.append(cases.OLD)  # a trial whose boots cannot be counted is not used
        if getattr(flash, "broken", "") == "read":
            allowed.append(None)
        flash = flash or NorFlash(len(image), cases.PAGE_BYTES, data=bytearray(image))
        try:
            store = cases.open_store(flash, 60)
            found = None if getattr(flash, "broken", "") == "read" else cases.in_use(store)
        except Exception as error:
            return self._fail(kind, "stuck", case, where, repr(error))
        wrong = verdict(found, wanted, allowed)
        if wrong:
            return self._fail(kind, wrong, case, where, store.note)
        if store.journal.floor < floor:
            self._fail(kind, "wrong", case, where, f"floor {store.journal.floor} of {floor}")
        return None

    def _finish(self, kind, case, image, where):
        """The operation, started once more, comes to its end."""
        flash = NorFlash(len(image), cases.PAGE_BYTES, data=bytearray(image))
        try:
            case.work(cases.open_store(flash, case.max_boots))
            if cases.in_use(cases.open_store(flash, 60)) != case.final:
                self._fail(kind, "stuck", case, where, "another model in the end")
        except Exception as error:
            self._fail(kind, "stuck", case, where, repr(error))

    def _fail(self, kind, what, case, where, text):
        self.count[kind][what] += 1
        self.failures.append((kind, what, case.name, where, text))


def campaign(every=1, names=None, driver_only=False):
    """Run all cases (or those named) and return the Rot."""
    done = Rot(every, driver_only)
    for case in cases.cases():
        if names is None or case.name in names:
            done.run(case)
    return done
