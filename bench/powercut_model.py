# SPDX-License-Identifier: MIT
"""Cut the power at every step of every operation in the flash model, and again while it recovers.

A state is one image that a cut (or two) left, booted and compared with the oracle.
"""

from collections import Counter

from acclimate_host.testing.nor import ERASE_TORN, PROGRAM_TORN, NorFlash, PowerCut
from bench import powercut_cases as cases
from bench.powercut_oracle import model_of


class Campaign:
    """Counts of one run: states, lost, mixed, unbootable, stuck."""

    def __init__(self, second_every):
        self.second_every = second_every  # every n-th pair of first and second cut is tried
        self.count = Counter()
        self.by_case = {}
        self.failures = []
        self._pair = 0

    def run(self, case):
        flash = cases.new_flash()
        case.prepare(flash)
        before = bytes(flash.data)
        start = self.count["states"]
        for step, torn in self._cuts(case, before):
            image = self._cut(case, before, step, torn)
            self._judge(case, image, (step, torn))
            for second, second_torn in self._cuts(case, image):
                self._pair += 1
                if self._pair % self.second_every:
                    continue
                twice = self._cut(case, image, second, second_torn)
                self._judge(case, twice, (step, torn, second, second_torn))
                self._finish(case, twice, (step, torn, second, second_torn))
        self.by_case[case.name] = self.count["states"] - start

    def result(self):
        keys = ("states", "lost", "mixed", "unbootable", "stuck")
        return {**{key: self.count[key] for key in keys}, "cases": self.by_case}

    def _cuts(self, case, image):
        """Every step that the operation takes from this image, with each way to tear it."""
        kinds = []

        class Recorder(NorFlash):
            def _program(self, at, buffer):
                kinds.extend([PROGRAM_TORN] * (len(buffer) // self.unit))
                super()._program(at, buffer)

            def _erase(self, at):
                kinds.append(ERASE_TORN)
                super()._erase(at)

        flash = Recorder(len(image), cases.PAGE_BYTES, data=bytearray(image))
        self._work(case, flash)
        return [(step + 1, torn) for step, kind in enumerate(kinds) for torn in kind]

    def _work(self, case, flash):
        case.work(cases.open_store(flash, case.max_boots))

    def _flash(self, image):
        return NorFlash(len(image), cases.PAGE_BYTES, data=bytearray(image))

    def _cut(self, case, image, step, torn):
        flash = self._flash(image)
        flash.cut_after(step, torn, seed=step * 7 + len(torn))
        try:
            self._work(case, flash)
        except PowerCut:
            return bytes(flash.data)
        raise AssertionError(f"{case.name}: step {step} was never reached")

    def _judge(self, case, image, where):
        self.count["states"] += 1
        wanted = model_of(image, cases.PAGE_BYTES, cases.KEY)
        try:
            store = cases.open_store(self._flash(image), 60)
            found = cases.in_use(store)
        except Exception as error:  # a boot that raises is the failure that is looked for
            return self._fail("unbootable", case, where, repr(error))
        if found is None and None not in case.allowed:
            return self._fail("lost", case, where, store.note)
        if found not in case.allowed or found != wanted:
            return self._fail("mixed", case, where, store.note)

    def _finish(self, case, image, where):
        """After both cuts the operation, started once more, comes to its end."""
        flash = self._flash(image)
        try:
            self._work(case, flash)
            if cases.in_use(cases.open_store(flash, 60)) != case.final:
                self._fail("stuck", case, where, "another model in the end")
        except Exception as error:
            self._fail("stuck", case, where, repr(error))

    def _fail(self, kind, case, where, text):
        self.count[kind] += 1
        self.failures.append((kind, case.name, where, text))


def campaign(second_every=1, names=None):
    """Run all cases (or those named) and return the Campaign."""
    done = Campaign(second_every)
    for case in cases.cases():
        if names is None or case.name in names:
            done.run(case)
    return done
