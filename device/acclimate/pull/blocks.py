# SPDX-License-Identifier: MIT
"""A file in numbered blocks, for lines that lose, repeat and reorder: MQTT, BLE, LoRa.

    receiver = Receiver(store)
    answer = receiver.take(packet, len(packet))      # each packet that comes, whatever it is
    if answer:
        send(answer)
    if receiver.state == READY:                      # verified; store.trial() follows

Every packet has a session number and a CRC-32. Blocks may come in any order within a window, from
where they go to the Store in order, so that a reset goes on from the last whole page. The
packets are drawn in docs/serving.md. RAM: window x block bytes.
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

from acclimate import _crc as crc
from acclimate.pull import _seal
from acclimate.store import CapsuleError, StoreError
from acclimate.store.capsule import Head

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_HEAD_MAX = const(144)
# layout: end

OFFER = const(1)
DATA = const(2)
STATUS = const(3)
ASK = const(4)

IDLE = const(0)
WANTS = const(1)
READY = const(2)
REFUSED = const(3)

_HEAD = const(3)  # type, session
_CRC = const(4)
_OFFER_BYTES = const(13)
_DATA_BYTES = const(9)  # type, session, number, CRC-32
_LEAST = const(8)
_STATUS_HEAD = const(6)  # type, session, state, first block


class Receiver:
    """One transfer at a time; ``state`` is IDLE, WANTS, READY or REFUSED.

    :param window: blocks that are held until those before them have come, 1 to 64.
    :param block_bytes: most bytes of a block's content, 8 to 1024.
    :param any_version: also take a version that was tried before.
    :param object_key: 32 bytes that files are encrypted with, or the path of a file with them:
        plain files are then refused. It needs `acclimate install --with encrypted`.
    """

    def __init__(
        self,
        store: "Any",
        window: int = 8,
        block_bytes: int = 240,
        any_version: bool = False,
        object_key: bytes | str | None = None,
    ) -> None:
        if not 1 <= window <= 64 or not 8 <= block_bytes <= 1024:
            raise ValueError("window %d, block %d: 1 to 64, 8 to 1024" % (window, block_bytes))
        self.store = store
        self.window = window
        self.block_max = block_bytes
        self.any_version = any_version
        self._seal = None if object_key is None else _seal(object_key)
        self.state = IDLE
        self.reason = ""
        self.session = -1
        self.block = self._next = self._count = 0  # of an offer, once there was one
        self._blocks = bytearray(window * block_bytes)
        self._have = bytearray(window)  # 1 for a block that waits
        self._first = bytearray(_HEAD_MAX)
        self._crc = bytearray(_CRC)

    def __repr__(self):
        state = ("idle", "wants", "ready", "refused")[self.state]
        return "Receiver(%d, %d): %s %s" % (self.window, self.block_max, state, self.reason)

    def take(self, packet: "ReadableBuffer", n: int) -> "ReadableBuffer | None":
        """Take one packet; return the bytes to answer with, or None.

        What is damaged, of another session or not of this protocol is passed over.
        """
        if n < _HEAD + _CRC or not self._is_whole(packet, n):
            return None
        kind = packet[0]
        session = packet[1] | packet[2] << 8
        if kind == OFFER and n == _OFFER_BYTES + _CRC:
            return self._offer(packet, session)
        if session != self.session or self.state == IDLE:
            return None
        if kind == ASK:
            return self.status()
        if kind == DATA and self.state == WANTS and n > _HEAD + 2 + _CRC:
            return self._data(packet, n)
        return None

    def status(self) -> "ReadableBuffer":
        """Return the packet that says what is missing: a bit for each block of the window.

        It is never longer than a packet with a whole block, which the line is known to carry.
        """
        room = max(_LEAST, self.block) + _DATA_BYTES - _STATUS_HEAD - _CRC
        out = bytearray(_STATUS_HEAD)
        out[0] = STATUS
        out[1], out[2] = self.session & 255, self.session >> 8 & 255
        out[3] = self.state
        out[4], out[5] = self._next & 255, self._next >> 8
        if self.state == REFUSED:
            out += self.reason.encode()[: min(16, room)]
        else:
            bits = bytearray(min(room, (self.window + 7) // 8))
            for i in range(min(self.window, 8 * len(bits), self._count - self._next)):
                if not self._have[(self._next + i) % self.window]:
                    bits[i >> 3] |= 1 << (i & 7)
            out += bits
        return out + self._sum(out, len(out))

    def _sum(self, packet, n):
        crc.start(self._crc)
        crc.update(self._crc, packet, 0, n)
        crc.finish(self._crc)
        return self._crc

    def _is_whole(self, packet, n):
        made = self._sum(packet, n - _CRC)
        for i in range(_CRC):
            if packet[n - _CRC + i] != made[i]:
                return False
        return True

    def _offer(self, packet, session):
        """A new transfer, or the offer of the one that runs once more."""
        size = packet[3] | packet[4] << 8 | packet[5] << 16 | packet[6] << 24
        block = packet[7] | packet[8] << 8
        mark = bytes(packet[9:13])
        if session == self.session and mark == self._mark and self.state != IDLE:
            return self.status()
        self.session, self._mark = session, mark
        self.size, self.block = size, block
        self._next = self._at = self._fill = 0
        self._updater = None
        self._is_staged = False
        self._sealed = None
        self._plain = size
        self.state = WANTS
        self._count = (size + block - 1) // block if block else 0
        for i in range(self.window):
            self._have[i] = 0
        if not 8 <= block <= self.block_max:
            return self._refuse("block")
        if not _HEAD_MAX // 2 < size or not self._count < 65536:
            return self._refuse("size")
        if self._seal:
            self._sealed = self._seal.file(self, size)
            self._plain = self._sealed.size
            if not _HEAD_MAX // 2 < self._plain:
                return self._refuse("size")
        return self.status()

    _mark = b""
    _count = _next = block = 0

    def _refuse(self, reason):
        self.state = REFUSED
        self.reason = reason
        return self.status()

    def _data(self, packet, n):
        index = packet[_HEAD] | packet[_HEAD + 1] << 8
        length = n - _HEAD - 2 - _CRC
        if not self._next <= index < min(self._next + self.window, self._count):
            return None  # once more, or too early
        place = index % self.window
        if self._have[place] or length != min(self.block, self.size - index * self.block):
            return None
        start = place * self.block
        for i in range(length):
            self._blocks[start + i] = packet[_HEAD + 2 + i]
        self._have[place] = 1
        before = self._next
        try:
            while self._have[self._next % self.window]:
                self._pass_on()
            if self._next == self._count:
                self._finish()
        except CapsuleError as error:
            return self._refuse(error.reason)
        except StoreError:  # a model is on trial, or the day's erases are used up
            return self._refuse("store not ready")
        # An answer for each window keeps the sender going; it asks when one is lost.
        is_over = self._next % self.window < before % self.window or self._next - before > 1
        return self.status() if self.state != WANTS or is_over or self.window == 1 else None

    def _pass_on(self):
        """Give the next block to the store; a capsule begun before a reset goes on later."""
        index = self._next
        place = index % self.window
        length = min(self.block, self.size - index * self.block)
        view = memoryview(self._blocks)[place * self.block : place * self.block + length]
        self._have[place] = 0
        self._next += 1
        reached = (self._sealed or self)._put(index * self.block, view, length)
        # Whole blocks that the flash holds already are not asked for.
        while (self._next + 1) * self.block <= reached:
            self._have[self._next % self.window] = 0
            self._next += 1

    def _put(self, at, view, n):
        """Take n bytes of a capsule or update from its byte `at` on; return which is the next."""
        i = max(0, self._at - at)
        while i < n and not self._is_staged and self._updater is None:
            self._first[self._fill] = view[i]
            self._fill += 1
            i += 1
            self._at = at + i
            if self._fill == min(_HEAD_MAX, self._plain):
                self._begin()
        i = max(i, self._at - at)
        if i < n:
            if self._updater is not None:
                self._updater.feed(view[i:], n - i)
            else:
                self.store.write(view[i:], n - i)
            self._at = at + n
        return self._at

    def _begin(self):
        first, n = self._first, self._fill
        if first[0] == 65 and first[1] == 85 and first[2] == 80 and first[3] == 68:
            from acclimate.store import Updater

            self._updater = Updater(self.store, self.any_version)
            self._updater.feed(first, n)
            return
        if first[0] == 65 and first[1] == 69 and first[2] == 78 and first[3] == 67:
            raise CapsuleError("encryption", "it is encrypted: give object_key=")
        # Told before the store erases anything; the store names what is no capsule at all.
        head = Head()
        for i in range(n):
            head.bytes[i] = first[i]
        head.parse(n)
        if head.total != self._plain:
            raise CapsuleError("truncated", "a file of %d bytes" % self._plain)
        head = None
        start = self.store.stage(first, n, self.any_version)
        self._is_staged = True
        if start < n:
            self.store.write(memoryview(first)[start:n], n - start)
        self._at = max(start, self._at) if start else self._at

    def _finish(self):
        (self._updater or self.store).finish()
        self.state = READY
