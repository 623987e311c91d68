# SPDX-License-Identifier: MIT
"""The decoder of ``acclimate.rangecoder`` over the native module ``_update``."""

from array import array


class Decoder:
    """See acclimate.rangecoder.Decoder; the same results, and nothing is allocated."""

    def __init__(self, core, input_bytes):
        self.input = bytearray(input_bytes)
        self.at = 0
        self._core = core
        self._state = bytearray(core.RC_BYTES)
        self._place = array("i", (0, 0, 0, 0))
        core.rc_reset(self._state)

    def start(self):
        """Take the first 4 bytes of a stream, which are at the front of ``input``."""
        self._core.rc_start(self._state, self.input)
        self.at = 4

    def block(self, base, out, k, n, have):
        place = self._place
        place[0], place[1], place[2], place[3] = self.at, k, n, have
        self._core.rc_block(self._state, self.input, base, out, place)
        self.at = place[0]
        return place[1]
