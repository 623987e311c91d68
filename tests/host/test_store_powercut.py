# SPDX-License-Identifier: MIT
"""Power cuts in the flash model: a bounded share of `make bench NAME=powercut`.

The campaign must also find faults: three are planted, and each is found.
"""

import pytest

from acclimate.store import core as store
from acclimate.store import journal
from bench.powercut_model import campaign


@pytest.mark.slow
@pytest.mark.case("D1", "D2", "D8", "E1", "E10")
def test_power_cut_at_every_step_and_again_in_recovery_keeps_old_or_new():
    done = campaign(second_every=1500)
    assert not done.failures
    assert done.count["states"] > 3000


def _header_first(monkeypatch):
    def begin(self, at, low, high):
        self._is_twice = False
        self.flash.erase(at)
        self._at = at
        self._next = 0
        self._program_page(0)
        self._write(self.state, low, high)

    monkeypatch.setattr(journal.Journal, "_begin", begin)


def _both_pages_at_once(monkeypatch):
    original = journal.Journal._compact

    def compact(self, state, low, high):
        if self.generation:
            self.flash.erase(self._at)
        original(self, state, low, high)

    monkeypatch.setattr(journal.Journal, "_compact", compact)


def _confirmed_too_early(monkeypatch):
    original = store.Store.make_room

    def make_room(self, resume):
        start = original(self, resume)
        j = self.journal
        j.append(journal.CONFIRMED, j.slot, j.has_other, 0, self.incoming.version)
        return start

    monkeypatch.setattr(store.Store, "make_room", make_room)


@pytest.mark.slow
@pytest.mark.case("D2")
@pytest.mark.parametrize(
    "plant,names",
    [
        (_header_first, ["compaction, trial", "compaction, swap"]),
        (_both_pages_at_once, ["compaction, swap"]),
        (_confirmed_too_early, ["first install", "stage"]),
    ],
)
def test_campaign_finds_a_planted_fault(monkeypatch, plant, names):
    plant(monkeypatch)
    assert campaign(second_every=200, names=names).failures
