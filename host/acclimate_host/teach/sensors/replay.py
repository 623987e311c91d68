# SPDX-License-Identifier: MIT
"""Recordings in a file instead of a sensor: for boards that have none.

The file: b"RPLY", gestures, channels, then for each gesture samples to teach with and samples
that are not taught (two bytes each, little-endian), then all samples as int16.
"""

from array import array

rate_hz = 0
_file = open("replay.bin", "rb")
_head = _file.read(6)
gestures, channels = _head[4], _head[5]
_counts = array("H", _file.read(4 * gestures))
_starts, _sample = [], array("h", bytes(2 * channels))
_at = 6 + 4 * gestures
for _k in range(2 * gestures):
    _starts.append(_at)
    _at += _counts[_k] * 2 * channels
_part = 1  # the untaught part of the first gesture, and then those of the others, in turn
_turn = True
_done = 0


def perform(gesture, unseen):
    """Play one gesture over and over."""
    global _part, _turn, _done
    _part, _turn, _done = 2 * gesture + (1 if unseen else 0), False, 0
    _file.seek(_starts[_part])


def read(out, at):
    """The next sample; a gesture's recording begins anew at its end."""
    global _part, _done
    if _done >= _counts[_part]:
        if _turn:
            _part = (_part + 2) % (2 * gestures)
        _done = 0
    if _done == 0:
        _file.seek(_starts[_part])
    _file.readinto(_sample)
    _done += 1
    for value in _sample:
        out[at] = value
        at += 1
