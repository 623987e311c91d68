# SPDX-License-Identifier: MIT
"""Notice that the world has changed: Page-Hinkley and ADWIN in fixed memory, integers only.

A detector is given one number at a time: whether an answer was wrong (0 or 1), or a feature,
where no truth ever comes. Nothing is allocated in `add`.

>>> wrong = PageHinkley()
>>> any(wrong.add(k % 10 == 0) for k in range(500))  # one answer in ten is wrong: as ever
False
>>> [k for k in range(60) if wrong.add(k % 2)][:1]  # one in two
[29]

Sources: E. S. Page, Continuous inspection schemes, 1954; A. Bifet and R. Gavalda, Learning from
time-changing data with adaptive windowing, 2007.
"""

from array import array

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


_UNIT = const(1000)  # a value of 1 inside
_COUNT_MOST = const(1 << 16)  # then count and sum are halved: the mean goes on, numbers stay small
_TOP = const(1 << 29)


def _in_thousandths(value, least):
    """`value`, at least `least` and at most -least or 1, as a whole number of thousandths."""
    try:
        if least <= value <= (-least or 1):
            return int(value * _UNIT)
    except TypeError:  # no number
        pass
    raise ValueError("value: expected %d..%d, got %r" % (least, -least or 1, value))


class PageHinkley:
    """Tells when values rise above their mean so far; the least that a detector can be.

    :param float threshold: sum of what lies above the mean at which it tells, > 0; with answers
        about as many wrong ones as it takes
    :param float delta: rise of the mean that is no change, 0..1000
    :param int least: values before it tells, 1 or more
    """

    def __init__(self, threshold: float = 10.0, delta: float = 0.05, least: int = 30) -> None:
        try:
            good = 0 < threshold < _TOP and 0 <= delta <= _UNIT and 1 <= least < _TOP
        except TypeError:  # no numbers
            good = False
        if not good:
            raise ValueError(
                "threshold, delta, least: expected > 0, 0..1000, >= 1, got %s, %s, %s"
                % (threshold, delta, least)
            )
        self._threshold = int(threshold * _UNIT)
        self._delta = int(delta * _UNIT)
        self._least = least
        self._told = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything; done by itself when a change was told."""
        self.count = self._since = 0
        self._sum = self._above = 0
        self._early = self._least  # the count is halved now and then, and may never come so far

    def __repr__(self):
        settings = self._threshold / _UNIT, self._delta / _UNIT, self._least
        return "PageHinkley(%g, %g, %d): %d values" % (settings + (self.count,))

    def recent(self) -> int:
        """Values since the change that was told last began, as far as one can tell."""
        return self._told

    def add(self, value: float) -> bool:
        """Take a value, -1000..1000; True when it tells a change.

        :raises ValueError: another one; nothing has changed then
        """
        v = _in_thousandths(value, -_UNIT)
        self.count += 1
        self._early -= self._early > 0
        self._sum += v
        if self.count >= _COUNT_MOST or not -_TOP < self._sum < _TOP:
            self.count >>= 1
            self._sum >>= 1
        # The sum above its least value so far, which is where it starts again from 0.
        self._above = max(0, self._above + v - self._sum // self.count - self._delta)
        self._since = self._since + 1 if self._above else 0
        if self._early > 0 or self._above <= self._threshold:
            return False
        self._told = self._since
        self.reset()
        return True


class Adwin:
    """Tells when the newer part of a window has another mean than the older one.

    The window grows while nothing changes, and loses its older part when something does. It is
    kept as sums over 1, 2, 4, ... values, `width` of each.

    :param int rows: sizes of sums: the window holds about ``width * 2**rows`` values, 2..16
    :param int width: sums of a size, 2..16
    :param float confidence: natural logarithm of how improbable a false alarm is in one look, > 0
    :param int every: values between two looks, 1 or more
    """

    def __init__(
        self, rows: int = 10, width: int = 4, confidence: float = 9.0, every: int = 8
    ) -> None:
        try:
            good = 2 <= rows <= 16 and 2 <= width <= 16 and not isinstance(rows + width, float)
            good = good and 0 < confidence < _TOP and every >= 1
        except TypeError:  # no numbers
            good = False
        if not good:
            raise ValueError(
                "rows, width, confidence, every: expected 2..16, 2..16, > 0, >= 1, got %s"
                % ((rows, width, confidence, every),)
            )
        self._width = width
        self._confidence = int(confidence * 16)
        self._every = every
        self._sums = array("i", bytes(4 * rows * (width + 1)))
        self._used = bytearray(rows)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        for row in range(len(self._used)):
            self._used[row] = 0
        self.count = self._total = self._since = 0

    def __repr__(self):
        settings = len(self._used), self._width, self._confidence / 16, self._every
        return "Adwin(%d, %d, %g, %d): %d values" % (settings + (self.count,))

    def recent(self) -> int:
        """Values since the change that was told last began: the window is of those only."""
        return self.count

    def mean(self) -> int:
        """Mean of the window, in thousandths; 0 before the first value."""
        return self._total // self.count if self.count else 0

    def add(self, value: float) -> bool:
        """Take a value, 0..1; True when the mean has changed, and the older part is gone."""
        v = _in_thousandths(value, 0)
        self._push(v)
        self._since += 1
        if self._since < self._every:
            return False
        self._since = 0
        told = False
        while self._differs():
            self._drop_oldest()
            told = True
        return told

    def _push(self, v):
        """Put a value in the first row, and two full sums into one of the next row."""
        self.count += 1
        self._total += v
        width = self._width
        for row in range(len(self._used)):
            at = row * (width + 1)
            self._sums[at + self._used[row]] = v  # the newest of a row is its last
            self._used[row] += 1
            if self._used[row] <= width:
                return
            v = self._sums[at] + self._sums[at + 1]
            for k in range(at, at + width - 1):
                self._sums[k] = self._sums[k + 2]
            self._used[row] -= 2
        self.count -= 1 << len(self._used)  # the window is full: its oldest values leave
        self._total -= v

    def _drop_oldest(self):
        """Take the oldest sum away."""
        row = len(self._used) - 1
        while not self._used[row]:
            row -= 1
        at = row * (self._width + 1)
        self.count -= 1 << row
        self._total -= self._sums[at]
        self._used[row] -= 1
        for k in range(at, at + self._used[row]):
            self._sums[k] = self._sums[k + 1]

    def _differs(self):
        """True when the means before and after some cut differ more than chance allows."""
        mean = self.mean()
        spread = mean * (_UNIT - mean) // 64
        count = total = 0
        for row in range(len(self._used) - 1, -1, -1):
            at = row * (self._width + 1)
            for k in range(at, at + self._used[row]):
                count += 1 << row
                total += self._sums[k]
                rest = self.count - count
                if count < 8 or rest < 8:
                    continue
                difference = abs(total // count - (self._total - total) // rest)
                effective = count * rest // self.count
                least = 42 * self._confidence // effective  # 2/3 of it, in thousandths
                if difference <= least:
                    continue
                difference -= least
                if difference * difference > 8 * spread * self._confidence // effective:
                    return True
        return False
