# SPDX-License-Identifier: MIT
"""The samples, waiting answers and held-back rows of a closed loop as one run of bytes.

Layout: 32-bit numbers (version and sizes, then counters), then the buffers as they are, all
little endian. `read` refuses what another loop wrote before it changes anything.
"""

from array import array
from struct import pack_into, unpack_from

_VERSION = 2
_STITCHER = ("held_count", "_held_next", "_one", "_two", "new")
_FEEDBACK = ("_issued", "_due", "waiting", "dropped", "_next", "answered", "_recent_right")
_LOOP = ("_left", "_due", "drifts")
_COUNT_MOST = (1 << 30) - 1


def _shape(loop):
    store, feedback = loop.stitcher, loop.feedback
    return (
        _VERSION,
        store.width,
        store.classes,
        store.per_class,
        len(store.held_y),
        ord(store.typecode),
        feedback.pending,
        len(feedback._answers),
        ord(feedback.typecode),
    )


def _numbers(loop):
    found = [getattr(loop.stitcher, name) for name in _STITCHER]
    found += [getattr(loop.feedback, name) for name in _FEEDBACK]
    return found + [getattr(loop, name) for name in _LOOP]


def _parts(loop):
    s, f = loop.stitcher, loop.feedback
    samples = (s.X, s.outputs, s.held_X, s.held_y, s._count, s._next, s._seen, s._drawn)
    return samples + (f._rows, f._labels, f._old, f._tickets, f._answers)


def size(loop):
    """Bytes of the state."""
    return 4 * _count(_shape(loop)) + sum(len(bytes(part)) for part in _parts(loop))


def _count(shape):
    return len(shape) + len(_STITCHER) + len(_FEEDBACK) + len(_LOOP)


def _check_bytes(name, buffer, count):
    """Refuse what has another length, or none."""
    try:
        have = len(memoryview(buffer))
    except TypeError:
        have = repr(buffer)[:40]
    if have != count:
        raise ValueError("%s: expected %d bytes, got %s" % (name, count, have))


def write(loop, buffer):
    """Put the state into the buffer, which has `size` bytes."""
    _check_bytes("buffer", buffer, size(loop))
    at = 0
    for number in list(_shape(loop)) + _numbers(loop):
        pack_into("<i", buffer, at, min(number, _COUNT_MOST))
        at += 4
    for part in _parts(loop):
        for byte in bytes(part):
            buffer[at] = byte
            at += 1


def read(loop, data):
    """Take the state back.

    :raises ValueError: it is of a loop with other sizes, or damaged
    """
    shape = _shape(loop)
    _check_bytes("state", data, size(loop))
    count = _count(shape)
    numbers = [unpack_from("<i", data, 4 * i)[0] for i in range(count)]
    if tuple(numbers[: len(shape)]) != shape:
        raise ValueError("state: expected that of a loop %s, got %s" % (shape, numbers[:9]))
    numbers = numbers[len(shape) :]
    at, found = 4 * count, []
    for part in _parts(loop):
        n = len(bytes(part))
        code = "B" if isinstance(part, bytearray) else _code(loop, part)
        found.append(array(code, bytes(memoryview(data)[at : at + n])))
        at += n
    _check(loop, numbers, found)
    for owner, names in ((loop.stitcher, _STITCHER), (loop.feedback, _FEEDBACK), (loop, _LOOP)):
        for name in names:
            setattr(owner, name, numbers.pop(0))
    for part, values in zip(_parts(loop), found):  # noqa: B905
        for i, value in enumerate(values):
            part[i] = value


def _code(loop, part):
    store, feedback = loop.stitcher, loop.feedback
    if part is store.X or part is store.held_X:
        return store.typecode
    if part is feedback._rows:
        return feedback.typecode
    return "i" if part is feedback._tickets else "H"


def _check(loop, numbers, found):
    """Refuse counters that no loop of these sizes can have."""
    store, feedback = loop.stitcher, loop.feedback
    held_count, held_next, one, two, new, issued, due, waiting, dropped, at, answered, right = (
        numbers[:12]
    )
    held, memory = len(store.held_y), len(feedback._answers)
    good = 0 <= held_count <= held and 0 <= held_next < held
    good = good and 0 < one < 30269 and 0 < two < 30307 and new >= 0
    good = good and issued >= 0 and due >= 0 and 0 <= waiting <= feedback.pending
    left, next_due, drifts = numbers[12:]
    good = good and left >= 0 and next_due >= 1 and drifts >= 0
    good = good and dropped >= 0 and 0 <= at < memory and answered >= 0 and 0 <= right <= memory
    _, _, _, held_y, counts, places, seen, drawn, _, _, _, tickets, answers = found
    good = good and all(n <= store.per_class for n in counts)
    good = good and all(n < store.per_class for n in places)
    good = good and all(n < store.hold_every for n in seen)
    good = good and all(n < store.hold_every for n in drawn)
    good = good and all(label < store.classes for label in held_y)
    good = good and sum(ticket >= 0 for ticket in tickets) == waiting
    good = good and all(answer <= 1 for answer in answers)
    good = good and right == sum(answers[: min(answered, memory)])
    if not good:
        raise ValueError("state: expected counters that fit the sizes: it is damaged")
