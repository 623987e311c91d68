# SPDX-License-Identifier: MIT
"""Flash memory behind one small interface, whatever the board calls it.

    flash = BlockFlash(esp32.Partition.find(label="capsule")[0])
    flash = BlockFlash(nrf.Flash(start=0xC0000, len=0x20000))

``readinto(at, buffer)``, ``program(at, buffer)`` and ``erase(at)`` take byte offsets.
Programming clears bits, in multiples of ``unit`` bytes; erasing sets ``erase_bytes`` bytes to
255. Both are read back: what did not arrive raises FlashError, as does every driver error.
Nothing is allocated after construction.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate import _buffers

_CHECK_BYTES = 64
_BLANK = b"\xff" * 64


class FlashError(OSError):
    """The flash did not do what it was asked; the text says where."""


class Flash:
    """Common part: bounds, alignment and reading back. Drivers supply the three _methods.

    :param size: bytes, a multiple of erase_bytes.
    :param erase_bytes: bytes that are erased together.
    :param unit: bytes that are programmed together, a divisor of 64.
    """

    _tries = True  # whether program and erase are tried again here

    def __init__(self, size: int, erase_bytes: int, unit: int = 4) -> None:
        if unit < 1 or erase_bytes < 1 or erase_bytes % _CHECK_BYTES or _CHECK_BYTES % unit:
            raise ValueError("page %d, unit %d: not parts of 64" % (erase_bytes, unit))
        if size < erase_bytes or size % erase_bytes:
            raise ValueError("flash of %d bytes: not whole pages of %d" % (size, erase_bytes))
        self.size = size
        self.erase_bytes = erase_bytes
        self.unit = unit
        self._back = bytearray(_CHECK_BYTES)
        self.view = None  # all of it in place, where the flash is mapped

    def __repr__(self):
        now = type(self).__name__, self.size, self.erase_bytes, self.unit
        return "%s: %d bytes, pages of %d, units of %d" % now

    def readinto(self, at: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer with the bytes from at on."""
        self._bounds(at, len(buffer))
        self._twice(at, buffer)

    def _twice(self, at, buffer=None):
        """Read, or erase without a buffer; a second time where the driver fails."""
        again = self._tries
        while True:
            try:
                if buffer is None:
                    self._erase(at)
                else:
                    self._read(at, buffer)
                return
            except OSError as error:
                if not again:
                    _failed(at, error)
            again = False

    def program(self, at: int, buffer: "ReadableBuffer") -> None:
        """Clear the bits that are 0 in the buffer; it must then read back as the buffer.

        Units that did not arrive, as when a radio took the time, are tried once more.
        """
        n = len(buffer)
        self._bounds(at, n)
        if (at | n) % self.unit:
            raise ValueError("program %d bytes at %d: not units of %d" % (n, at, self.unit))
        try:
            self._program(at, buffer)
        except OSError as error:
            if not self._tries:
                _failed(at, error)
        done = self._kept(at, buffer, n)
        if done < n and self._tries:
            done = self._program_again(at, buffer, done, n)
        if done < n:
            raise FlashError("flash: byte %d did not keep its value" % (at + done))

    def _program_again(self, at, buffer, done, n):
        """Program the units that differ from the buffer once more, from byte done on.

        Return how many of n bytes are then right. Bits that are 0 already and should be 1
        cannot be helped; such a unit is left alone, since some flash takes two programs of a
        unit, not three.
        """
        view, unit, back = memoryview(buffer), self.unit, self._back
        done -= done % unit
        while done < n:
            self._read_back(at + done)
            differs = False
            for i in range(unit):
                want = view[done + i]
                if back[i] & want != want:
                    return done
                differs = differs or back[i] != want
            if differs:
                try:
                    self._program(at + done, view[done : done + unit])
                except OSError as error:
                    _failed(at + done, error)
            done += unit
        return self._kept(at, buffer, n)

    def _kept(self, at, buffer, n):
        """Return how many of n bytes read back as the buffer before the first that does not."""
        if self.view is not None:
            return _buffers.common_prefix(self.view, at, buffer, 0, n)
        done = 0
        while done < n:
            part = min(_CHECK_BYTES, n - done)
            self._read_back(at + done)
            right = _buffers.common_prefix(self._back, 0, buffer, done, part)
            done += right
            if right < part:
                break
        return done

    def erase(self, at: int) -> None:
        """Set all bytes of the page that starts at at to 255; tried again if the driver fails."""
        self._bounds(at, self.erase_bytes)
        if at % self.erase_bytes:
            raise ValueError("erase at %d: no start of a page" % at)
        self._twice(at)
        if not self.is_blank(at, self.erase_bytes):
            raise FlashError("flash: page %d is not blank after erase" % at)

    def is_blank(self, at: int, n: int) -> bool:
        """Tell whether n bytes from at on, a multiple of 64, are all 255."""
        if self.view is not None:  # all are as the first
            view, n = self.view, n - 1
            return view[at] == 255 and _buffers.common_prefix(view, at, view, at + 1, n) == n
        end = at + n
        while at < end:
            self._read_back(at)
            if _buffers.common_prefix(self._back, 0, _BLANK, 0, _CHECK_BYTES) != _CHECK_BYTES:
                return False
            at += _CHECK_BYTES
        return True

    def mapped(self, at: int, n: int) -> memoryview | None:
        """Return n bytes from at on as a read-only view in place, or None where that cannot be."""
        return None

    def _read_back(self, at):
        # Near the end of the region the window moves down; its head is then shifted to fit.
        over = at + _CHECK_BYTES - self.size
        if over <= 0:
            self._twice(at, self._back)
            return
        self._twice(at - over, self._back)
        _buffers.copy(self._back, 0, self._back, over, _CHECK_BYTES - over)

    def _bounds(self, at, n):
        if at < 0 or n < 0 or at + n > self.size:
            raise ValueError("flash: %d bytes at %d, of %d" % (n, at, self.size))


def _failed(at, error):
    """Raise what a driver raised as a FlashError."""
    if isinstance(error, FlashError):
        raise error
    raise FlashError("flash: driver fails at %d: %s" % (at, error)) from None


def geometry(device, block=0):
    """Return (blocks, bytes of each) of a block device; block: where it does not say that."""
    try:
        return int(device.ioctl(4, 0)), int(device.ioctl(5, 0) or block)
    except (OSError, TypeError, ValueError) as error:
        raise FlashError("flash: the device has no size: %s" % error) from None


class BlockFlash(Flash):
    """A block device with the offset form: esp32.Partition, nrf.Flash, samd.Flash and others.

    ``writeblocks(block, buffer, offset)`` must program without an erase, ``ioctl(6, block)``
    erase one block.

    :param first: block that the region starts at; :param blocks: its length, all without it.
    """

    def __init__(self, device: "Any", unit: int = 4, first: int = 0, blocks: int = 0) -> None:
        count, block = geometry(device)
        blocks = blocks or count - first
        if first < 0 or first + blocks > count:
            raise ValueError("blocks %d to %d: the device has %d" % (first, first + blocks, count))
        super().__init__(blocks * block, block, unit)
        self._device = device
        self._first = first
        self.view = self.mapped(0, self.size)

    def _read(self, at, buffer):
        block = self.erase_bytes
        self._done(self._device.readblocks(self._first + at // block, buffer, at % block), at)

    def _program(self, at, buffer):
        block = self.erase_bytes
        self._done(self._device.writeblocks(self._first + at // block, buffer, at % block), at)

    def _erase(self, at):
        self._done(self._device.ioctl(6, self._first + at // self.erase_bytes), at)

    def mapped(self, at: int, n: int) -> memoryview | None:
        try:
            start = self._first * self.erase_bytes + at
            return memoryview(self._device)[start : start + n]
        except TypeError:
            return None

    def _done(self, status, at):
        # Drivers return None, True or 0 when all went well.
        if status is False or (status is not None and status is not True and status != 0):
            raise FlashError("flash: driver answers %s at %d" % (status, at))
