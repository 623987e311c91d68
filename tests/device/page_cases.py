# SPDX-License-Identifier: MIT
"""What the tests of the page store share."""

from acclimate.pager import Pager

try:
    from micropython import heap_lock, heap_unlock
except ImportError:

    def heap_lock():
        pass

    def heap_unlock():
        pass


def raises(kind, call, *args):
    try:
        call(*args)
    except kind as error:
        return str(error)
    raise AssertionError("nothing raised")


def page(number, size=100):
    return memoryview(bytearray((number * 37 + i * 11) & 255 for i in range(size)))


def check_medium(medium, size=100, locked=False):
    """Three steps of two pages each; locked: the last one without any allocation."""
    pager = Pager(medium)
    out = [page(1, size), page(2, size // 2 + 1)]
    back = [memoryview(bytearray(len(view))) for view in out]
    for step in range(3):
        if step == 2 and locked:
            heap_lock()
        try:
            for number in range(2):
                pager.page_out(number, out[number])
            for number in (1, 0, 1):
                pager.page_in(number, back[number])
        finally:
            if step == 2 and locked:
                heap_unlock()
        for number in range(2):
            assert back[number] == out[number], (step, number)
            back[number][0] ^= 255
            out[number][0] ^= 15
    return pager
