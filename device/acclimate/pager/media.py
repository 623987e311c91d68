# SPDX-License-Identifier: MIT
"""Media for `Pager` beside flash: SD cards and other block devices, SPI RAM, the host.

    Pager(Card(sdcard.SDCard(spi, cs), first=2048, blocks=64))
    Pager(SpiRam(spi, cs, 131072))
    Pager(Host(stream, 65536))

Each has ``size``, ``erase_bytes``, ``unit``, ``readinto(at, buffer)``, ``program(at, buffer)``
and ``erase(at)``, as acclimate.flash.base has. None of them wears as flash does, so erase does
nothing. Nothing is allocated after construction but what the driver itself allocates.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer, WriteableBuffer
except ImportError:
    pass

from acclimate import _buffers
from acclimate.flash import FlashError, RetryingDevice


class _Medium:
    unit = 1

    def __init__(self, size, block_bytes):
        if size < block_bytes or size % block_bytes:
            raise ValueError("medium of %d bytes: not whole blocks of %d" % (size, block_bytes))
        self.size, self.erase_bytes = size, block_bytes

    def __repr__(self):
        return "%s: %d bytes, blocks of %d" % (type(self).__name__, self.size, self.erase_bytes)

    def erase(self, at):
        """Nothing: these media are written over."""

    def _bounds(self, at, n):
        if at < 0 or at + n > self.size:
            raise ValueError("medium: %d bytes at %d, of %d" % (n, at, self.size))


class Card(_Medium):
    """A block device without offsets (sdcard.SDCard, machine.SDCard): whole blocks only.

    Use blocks that no file system owns. A card that answers late is asked again
    (`RetryingDevice`); where none answers at all, `RamFallback` keeps pages in RAM.

    :param first: block that the region starts at; :param blocks: its length
    """

    def __init__(self, device: "Any", first: int, blocks: int, block_bytes: int = 512) -> None:
        if first < 0 or first + blocks > device.ioctl(4, 0):
            have = device.ioctl(4, 0)
            raise ValueError("blocks %d to %d: the card has %d" % (first, first + blocks, have))
        super().__init__(blocks * block_bytes, block_bytes)
        self._device, self._first = RetryingDevice(device), first
        self._block = bytearray(block_bytes)
        self._held = -1

    def readinto(self, at: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer with the bytes from at on."""
        n, size, done = len(buffer), self.erase_bytes, 0
        self._bounds(at, n)
        while done < n:
            number, start = (at + done) // size, (at + done) % size
            part = min(n - done, size - start)
            self._hold(number)
            _buffers.copy(buffer, done, self._block, start, part)
            done += part

    def program(self, at: int, buffer: "ReadableBuffer") -> None:
        """Write the buffer, block by block."""
        n, size, block, done = len(buffer), self.erase_bytes, self._block, 0
        self._bounds(at, n)
        while done < n:
            number, start = (at + done) // size, (at + done) % size
            part = min(n - done, size - start)
            self._hold(number)
            self._held = -1  # what the card refuses is not what it holds
            _buffers.copy(block, start, buffer, done, part)
            self._device.writeblocks(self._first + number, block)
            self._held = number
            done += part

    def _hold(self, number):
        if self._held != number:
            self._held = -1
            self._device.readblocks(self._first + number, self._block)
            self._held = number


class SpiRam(_Medium):
    """Serial RAM that takes 3 to read, 2 to write and an address (23LC1024, ESP-PSRAM64).

    :param cs: pin, low while a command runs; :param address_bytes: 2 or 3
    """

    def __init__(
        self, spi: "Any", cs: "Any", size: int, block_bytes: int = 256, address_bytes: int = 3
    ) -> None:
        super().__init__(size, block_bytes)
        self._spi, self._cs = spi, cs
        self._command = bytearray(1 + address_bytes)

    def readinto(self, at: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer with the bytes from at on."""
        self._begin(3, at, len(buffer))
        self._spi.readinto(buffer)
        self._cs.value(1)

    def program(self, at: int, buffer: "ReadableBuffer") -> None:
        """Write the buffer."""
        self._begin(2, at, len(buffer))
        self._spi.write(buffer)
        self._cs.value(1)

    def _begin(self, code, at, n):
        self._bounds(at, n)
        command = self._command
        command[0] = code
        for i in range(len(command) - 1, 0, -1):
            command[i] = at & 255
            at >>= 8
        self._cs.value(0)
        self._spi.write(command)


class Host(_Medium):
    """The computer at the other end of a serial stream keeps the bytes.

    A request is ``P``, ``r`` or ``w``, position and length (4 bytes each, little-endian), and
    for ``w`` the data; the answer to ``r`` is the data, to ``w`` one ``k``. The other side is
    acclimate_host.connect.pages.

    :param stream: with readinto (blocking) and write: machine.UART, or a socket's file
    """

    def __init__(self, stream: "Any", size: int, block_bytes: int = 256) -> None:
        super().__init__(size, block_bytes)
        self._stream, self._request = stream, bytearray(10)
        self._one = bytearray(1)

    def readinto(self, at: int, buffer: "WriteableBuffer") -> None:
        """Fill the buffer with the bytes from at on."""
        self._ask(114, at, len(buffer))
        if self._stream.readinto(buffer) != len(buffer):
            raise FlashError("host: the stream ended at byte %d" % at)

    def program(self, at: int, buffer: "ReadableBuffer") -> None:
        """Write the buffer."""
        self._ask(119, at, len(buffer))
        self._stream.write(buffer)
        if self._stream.readinto(self._one) != 1 or self._one[0] != 107:
            raise FlashError("host: no answer at byte %d" % at)

    def _ask(self, code, at, n):
        self._bounds(at, n)
        request = self._request
        request[0], request[1] = 80, code
        for i in range(4):
            request[2 + i] = at >> 8 * i & 255
            request[6 + i] = n >> 8 * i & 255
        self._stream.write(request)
