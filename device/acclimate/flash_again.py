# SPDX-License-Identifier: MIT
"""A second try at what did not arrive in flash; imported only when that happens."""


def program(flash, at, buffer, done, n):
    """Program the units that differ from the buffer once more, from byte done on.

    Return how many of n bytes are then right. Bits that are 0 already and should be 1 cannot be
    helped; such a unit is left alone, since some flash takes two programs of a unit, not three.
    """
    view, unit, back = memoryview(buffer), flash.unit, flash._back
    done -= done % unit
    while done < n:
        flash._read_back(at + done)
        differs = False
        for i in range(unit):
            want = view[done + i]
            if back[i] & want != want:
                return done
            differs = differs or back[i] != want
        if differs:
            flash._program(at + done, view[done : done + unit])
        done += unit
    return flash._kept(at, buffer, n)
