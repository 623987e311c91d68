# SPDX-License-Identifier: MIT
"""The verified model that waits, opened for reading, and what the device made of it.

waiting = store.waiting()                # reads as a Store does: view, readinto, head
other = load(waiting)                    # the same function that loads the model in use
waiting.keep_verdict(ACCEPT, score)      # in the journal, over resets
store.verdict()                          # (ACCEPT, score), until the next capsule is staged
"""

from acclimate.store.journal import VERIFIED

_CODES = (None, 1, -1, 0)  # none yet, ACCEPT, UNDECIDED, REJECT


class WaitingModel:
    """What a Store tells of the model in use, of the one that is verified and waits."""

    def __init__(self, store):
        self.store = store
        self.flash = store.flash
        self.head = store.incoming
        self.active = store.journal.slot
        self.note = ""

    def section(self, type):
        """Return (offset in the flash, bytes) of a section."""
        index = self.head.find(type)
        if index < 0:
            raise ValueError("no section %d in the model that waits" % type)
        at = self.store.slots.start(self.active) + self.head.section_at(index)
        return at, self.head.section_size(index)

    def view(self, type):
        """Return a section as a memoryview in place, or None where the flash is not mapped."""
        at, size = self.section(type)
        return self.flash.mapped(at, size)

    def readinto(self, type, offset, buffer):
        """Fill the buffer from a section, from offset on."""
        at, size = self.section(type)
        if offset < 0 or offset + len(buffer) > size:
            raise ValueError("bytes %d to %d: %d" % (offset, offset + len(buffer), size))
        self.flash.readinto(at + offset, buffer)

    def keep_verdict(self, verdict, score):
        """Write a verdict of ``acclimate.acceptance`` and its score to the journal.

        :param score: -32768 to 32768; kept in steps of 4.
        :raises FlashError: it cannot be kept.
        """
        if not -32768 <= score <= 32768:
            raise ValueError("score: expected -32768 to 32768, got %s" % score)
        j = self.store.journal
        high = _CODES.index(verdict) << 14 | min(16383, score + 32768 >> 2)
        self.store.check_writable()
        j.append(VERIFIED, j.slot, j.has_other, low=j.parity[j.slot], high=high)


def verdict_of(journal):
    """Return (verdict, score) that a journal keeps; None: there is no verdict."""
    kept = journal.verdict
    if not kept >> 14:
        return None
    return _CODES[kept >> 14], ((kept & 16383) << 2) - 32768
