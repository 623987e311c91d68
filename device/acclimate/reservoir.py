# SPDX-License-Identifier: MIT
"""A fixed number of the inputs that a device met, to test a new model with.

    sample = Reservoir(64, 24)                   # 64 rows of 24 bytes; nothing grows later
    sample.offer(row, prediction, confidence)    # each input; kept or not
    sample.refresh(predict)                      # after a swap: the old answers do not hold

Uniform (algorithm R): every input met so far is kept with the same probability. With
``recent`` new ones are favoured: an input is taken with probability 1 / recent and displaces
any, so that the age of the rows is about capacity x recent inputs on average. All numbers
stay below 2**30; ``offer`` allocates nothing.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any, Callable

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass


def _whole(name, value, start, stop):
    """Refuse what is no whole number of the range: boards cut what a byte does not hold."""
    try:
        fits = start <= value <= stop and value == int(value)
    except TypeError:  # no number
        fits = False
    if not fits:
        raise ValueError("%s: expected %d..%d, got %s" % (name, start, stop, value))


def _size(name, value, start, stop):
    """Refuse what is no size: 2.0 is whole, and yet none."""
    if isinstance(value, (bool, float)):
        raise ValueError("%s: expected %d..%d, got %s" % (name, start, stop, value))
    _whole(name, value, start, stop)


class Draws:
    """Random numbers from 16-bit xorshift words (period 2**32 - 1)."""

    def __init__(self, seed: int = 1) -> None:
        try:
            self._x = seed & 0xFFFF
        except TypeError:
            raise ValueError("seed: expected a whole number, got %r" % (seed,)) from None
        self._y = seed >> 16 & 0xFFFF or int(not self._x)

    def __repr__(self):
        return "Draws(%d)" % (self._y << 16 | self._x)  # the seed of one that goes on from here

    def word(self) -> int:
        """Return the next 16 bits."""
        t = self._x ^ (self._x << 5 & 0xFFFF)
        self._x = self._y
        self._y = self._y ^ self._y >> 1 ^ t ^ t >> 3
        return self._y

    def below(self, count: int) -> int:
        """Return 0 to count - 1, each as likely as the others: what is above is drawn again.

        :param count: 1 to 2**30 - 1.
        :raises ValueError: another count
        """
        if not isinstance(count, int) or not 0 < count <= 0x3FFFFFFF:  # 30 bits are drawn
            raise ValueError("count: expected 1..%d, got %s" % (0x3FFFFFFF, count))
        mask = count - 1 or 1
        for shift in (1, 2, 4, 8, 16):
            mask |= mask >> shift
        while True:
            value = self.word()
            if mask > 0xFFFF:
                value |= (self.word() & 0x3FFF) << 16
            value &= mask
            if value < count:
                return value


class Reservoir:
    """``count`` rows are held of ``seen``; ``predictions`` and ``confidences`` belong to them.

    :param capacity: rows, 1 to 128. :param width: bytes of a row (quantized inputs).
    :param recent: 0 for uniform, else how rarely a new input displaces an old one.
    :param seed: of the draws, not the same on each device.
    :raises ValueError: names the argument, what was expected and what came
    """

    def __init__(self, capacity: int, width: int, recent: int = 0, seed: int = 1) -> None:
        _size("capacity", capacity, 1, 128)
        _size("width", width, 1, 65535)
        _size("recent", recent, 0, 0x3FFFFFFF)
        self.capacity = capacity
        self.width = width
        self.recent = recent
        self.count = 0
        self.seen = 0
        self.rows = bytearray(capacity * width)
        self.predictions = bytearray(capacity)
        self.confidences = bytearray(capacity)
        self._below = Draws(seed).below

    def __repr__(self):
        held = self.capacity, self.width, self.count, self.seen
        return "Reservoir(%d, %d): holds %d rows of %d" % held

    @staticmethod
    def bytes_needed(capacity: int, width: int) -> int:
        """Return the bytes of the buffers, before anything is made."""
        _size("capacity", capacity, 1, 128)
        _size("width", width, 1, 65535)
        return capacity * (width + 2)

    def offer(self, row: "ReadableBuffer", prediction: int, confidence: int) -> int:
        """Take an input or not; return its place, or -1.

        :param row: width numbers of a byte each. :param prediction: 0 to 255.
        :param confidence: 0 to 255, calibrated.
        :raises ValueError: a number that no byte holds; nothing has changed then
        """
        self._fits(row)
        width = self.width
        # What is in order is seen in three calls, not in one for each number.
        try:
            fits = min(row) >= -128 and max(row) <= 255 and isinstance(sum(row), int)
        except TypeError:  # not all of them are numbers
            fits = False
        if not fits:
            for i in range(width):
                _whole("row", row[i], -128, 255)
        _whole("prediction", prediction, 0, 255)
        _whole("confidence", confidence, 0, 255)
        if self.seen < 0x3FFFFFFF:
            self.seen += 1
        place = self.count
        if place < self.capacity:
            self.count += 1
        elif self.recent:
            if self._below(self.recent):
                return -1
            place = self._below(place)
        else:
            place = self._below(self.seen)
            if place >= self.capacity:
                return -1
        self.predictions[place] = int(prediction)
        self.confidences[place] = int(confidence)
        for i in range(width):
            self.rows[place * width + i] = int(row[i]) & 255
        return place

    def _fits(self, row):
        try:
            count = len(row)
        except TypeError:  # nothing that has numbers
            count = repr(row)[:40]
        if count != self.width:
            raise ValueError("row: expected %d numbers, got %s" % (self.width, count))

    def row(self, i: int, out: "WriteableBuffer") -> None:
        """Copy row i of those held to out: an array('b') or bytearray of width, or a view."""
        _size("row", i, 0, self.count - 1)
        self._fits(out)
        start = i * self.width
        signed = not isinstance(out, bytearray)
        if isinstance(out, (str, bytes, tuple)):
            raise ValueError("out: expected a buffer that can be written, got %r" % (out,))
        for k in range(self.width):
            value = self.rows[start + k]
            if signed and value > 127:
                try:
                    out[k] = value - 256
                    continue
                except (OverflowError, ValueError):  # a view of a bytearray, on runtimes that look
                    signed = False
            out[k] = value

    def draw(self, out: "WriteableBuffer") -> int:
        """Copy a row drawn by chance to out, as `row` does; return its number.

        :raises ValueError: where none is held
        """
        if not self.count:
            raise ValueError("reservoir: it holds no row to draw")
        place = self._below(self.count)
        self.row(place, out)
        return place

    def refresh(self, predict: "Callable[[Any], int]", out: "WriteableBuffer") -> None:
        """Answer all rows anew: predict(out) returns prediction x 256 + confidence.

        Where that raises nothing has changed.
        """
        if not callable(predict):
            raise ValueError("predict: expected a function, got %r" % (predict,))
        count = self.count
        fresh = bytearray(2 * count)
        for i in range(count):
            self.row(i, out)
            answer = predict(out)
            _size("predict", answer, 0, 65535)
            fresh[i] = answer >> 8
            fresh[count + i] = answer & 255
        self.predictions[:count] = fresh[:count]
        self.confidences[:count] = fresh[count:]

    def drop(self) -> None:
        """Forget all rows."""
        self.count = self.seen = 0
