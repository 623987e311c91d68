# SPDX-License-Identifier: MIT
"""Levels of the bands of sound or motion, in integer arithmetic: what a keyword model reads.

    from array import array
    from acclimate.features import Frontend

    front = Frontend(open("sound", "rb").read())   # acclimate_host.model.frontend.log_mel()
    window = array("h", bytes(2 * front.samples))  # 30 ms of sound
    row = bytearray(front.width)                   # int8, as a network takes it
    front.into(window, row)

The bits are those of TensorFlow Lite Micro's micro_frontend. Native code of the extra
`frontend` runs it; without that, pure Python gives the same, some hundred times slower.
"""

try:  # for editors and checkers on a computer; boards have neither
    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate import _native

_WINDOW, _BITS, _AXES, _BANDS = 2, 3, 4, 5
_WHAT = ("", "tables", "state", "samples", "out")


class Frontend:
    """Turns windows of int16 samples into one level for each band.

    :param tables: bytes of `acclimate_host.model.frontend`: `log_mel` or `motion`; they may
        lie in flash, at a multiple of four
    :ivar samples: numbers in a window: of all axes, sample after sample
    :ivar width: levels that a window gives: of the first axis, then of the next
    :raises ValueError: bytes that are no such tables

    RAM: four bytes for each sample of the transform and eight for each band.
    """

    def __init__(self, tables: "ReadableBuffer") -> None:
        head = (
            [tables[i] | tables[i + 1] << 8 for i in range(0, 12, 2)] if len(tables) > 12 else []
        )
        if not head or head[0] != 0x4641 or head[1] != 1 or not 3 <= head[_BITS] <= 12:
            raise ValueError("tables: expected those of a front end, got %d bytes" % len(tables))
        bands = head[_BANDS]
        self.tables = tables
        self.samples = head[_WINDOW] * head[_AXES]
        self.width = bands * head[_AXES]
        self._state = bytearray(4 * (self.width + (1 << head[_BITS]) + 1 + bands))
        native = _native.load("frontend")
        if native is None:
            from acclimate import _bands_plain as native
        self._run = native.run

    def __repr__(self):
        return "Frontend: %d samples, %d levels" % (self.samples, self.width)

    def reset(self) -> None:
        """Forget the noise that earlier windows had."""
        for i in range(4 * self.width):
            self._state[i] = 0

    def into(self, samples: "ReadableBuffer", out: "WriteableBuffer") -> "WriteableBuffer":
        """Write the levels of a window to `out` and return `out`. Nothing is allocated.

        :param samples: ``array("h")`` of `samples` numbers
        :param out: ``array("H")`` of `width` elements for the levels themselves; bytes of int8
            (``bytearray`` or ``array("b")``) for what the tables make of them for a network
        :raises ValueError: a size that does not fit, or damaged tables; nothing is written
        """
        fault = self._run(self.tables, self._state, samples, out)
        if fault:
            raise ValueError(
                "%s: expected samples of %d and out of %d numbers, and whole tables"
                % (_WHAT[-fault], self.samples, self.width)
            )
        return out
