# SPDX-License-Identifier: MIT
"""Apply an update container slot to slot: from the model in use and a stream of instructions.

    updater = Updater(store)
    updater.feed(buffer, n)        # as the bytes come, in pieces of any length
    updater.finish()               # the result is verified; store.trial() or confirm() follows

The base is compared with the container and hashed before anything is erased. Output is
written once, in order, and never beyond the length that the signed header declares. After a
reset the container is fed once more from its start; what the flash holds of the result is not
erased and programmed again. Memory does not depend on the sizes of the capsules
(`make bench NAME=capsule` measures it).
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any

    from circuitpython_typing import ReadableBuffer
except ImportError:
    pass

from acclimate import _buffers, _native
from acclimate import _crc as crc
from acclimate.store.capsule import CapsuleError, number

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_U_FORMAT = const(4)
_U_HEAD = const(6)
_U_SIZE = const(8)
_U_CRC = const(12)
_U_BASE = const(16)
_U_BYTES = const(48)
_H_DIGEST = const(20)
_HEAD_MAX = const(144)
_UPDATE_FORMAT = const(2)
_OP_COPY = const(1)
_OP_DATA = const(2)
_OP_DIFF = const(3)
# layout: end
_BLOCK = const(64)
_WINDOW = const(64)
_INSTRUCTION = const(56)  # bytes of input that the head of an instruction may take


class Updater:
    """One update of one Store."""

    def __init__(self, store: "Any", any_version: bool = False) -> None:
        self._decoder = _decoder()
        self._store = store
        self._any_version = any_version
        store.scratch()  # the target's header is collected in store.incoming
        self._have = 0  # bytes of the headers that came, later of the result
        self._need = _U_BYTES  # of the headers; 0 once they are taken
        self._crc = bytearray(8)  # what came has, and what it shall have
        self._block = bytearray(_BLOCK)  # the header, later of the base, then of the result
        self._window = 0  # bytes in the decoder's input that came
        self._op = 0
        self._at = 0  # in the base
        self._back = 0  # how far it was ahead of the result before the latest jump
        self._left = 0  # bytes that the instruction still makes
        self._k = 0
        self._n = 0  # block in work: done, length
        self._stream = 0  # bytes of instructions that have not come
        self._skip = 0  # bytes of the result that a reset left in the flash

    def __repr__(self):
        if self._need:
            return "Updater: waits for its head"
        return "Updater: %d of %d bytes" % (self._have, self._store.slots.limit)

    def feed(self, data: "ReadableBuffer", n: int) -> None:
        """Take the next n bytes of the container."""
        i = 0
        while i < n and self._need:
            if self._have < _U_BYTES:
                self._block[self._have] = data[i]
            else:
                self._store.incoming.bytes[self._have - _U_BYTES] = data[i]
            self._have += 1
            i += 1
            if self._have == self._need:
                self._head_is_here()
        if not self._need:
            try:
                self._instructions(data, i, n)
            except CapsuleError:
                self._store.cancel()
                raise

    def finish(self) -> None:
        """End the update: everything must have come, and the result have its SHA-256."""
        store = self._store
        if self._need or self._stream or self._op or self._have < store.slots.limit:
            store.cancel()
            raise CapsuleError("truncated", "the update ends early")
        crc.finish(self._crc)
        if _buffers.common_prefix(self._crc, 0, self._crc, 4, 4) != 4:
            store.cancel()
            raise CapsuleError("patch", "CRC-32 of the instructions differs")
        try:
            store.finish()
        except CapsuleError:
            store.cancel()
            raise

    def _head_is_here(self):
        pre, store = self._block, self._store
        if self._need == _U_BYTES:
            if pre[0] != 65 or pre[1] != 85 or pre[2] != 80 or pre[3] != 68:
                raise CapsuleError("magic", "an update begins with AUPD")
            if pre[_U_FORMAT] != _UPDATE_FORMAT:
                raise CapsuleError("format", "update of format %d" % pre[_U_FORMAT])
            head = pre[_U_HEAD] | pre[_U_HEAD + 1] << 8
            if not 0 < head <= _HEAD_MAX:
                raise CapsuleError("format", "target header of %d bytes" % head)
            self._need = _U_BYTES + head
            return
        self._check_base()
        _buffers.copy(self._crc, 4, pre, _U_CRC, 4)
        self._stream = number(pre, _U_SIZE)
        self._decoder.at = -1
        n, target = self._need - _U_BYTES, store.incoming.bytes
        if store.checker.vouch:
            store.checker.vouch(target)
        start = store.stage(target, n, self._any_version)
        if not start:
            store.write(target, n)
        while 0 < start < n:  # in pages of 64 bytes
            part = min(_BLOCK, n - start)
            _buffers.copy(self._block, 0, target, start, part)
            store.write(self._block, part)
            start += part
        self._skip = max(0, start - n)
        self._have = n
        crc.start(self._crc)
        self._need = 0

    def _check_base(self):
        store = self._store
        if store.active is None:
            raise CapsuleError("base", "there is no model to apply an update to")
        if _buffers.common_prefix(store.head.bytes, _H_DIGEST, self._block, _U_BASE, 32) != 32:
            raise CapsuleError("base", "the update is for another model than that in use")
        try:
            store.checker.intact(store.head, store.slots.start(store.active))
        except CapsuleError:
            raise CapsuleError("base", "the model in use is damaged") from None

    def _instructions(self, data, i, n):
        if n - i > self._stream:
            raise CapsuleError("oversized", "bytes after the last instruction")
        crc.update(self._crc, data, i, n)
        decoder = self._decoder
        while True:
            i = self._load(data, i, n)
            if decoder.at < 0:
                if not self._has(4):
                    return
                decoder.at = 0
                decoder.start()
            if not self._op:
                if self._have >= self._store.slots.limit:
                    self._is_used_up(n - i)
                    return
                if not self._has(_INSTRUCTION):
                    return
                self._begin(decoder.head())
            elif self._k < self._n or self._next_block():
                have = self._window if self._stream else _WINDOW
                k = decoder.block(self._block, self._block, self._k, self._n, have, self._op)
                if k == self._k and self._stream:
                    return
                self._k = k

    def _has(self, n):
        """Tell whether n bytes of input are here, or all that there are."""
        return self._window - max(0, self._decoder.at) >= n or not self._stream

    def _is_used_up(self, more):
        if more or self._stream or self._decoder.at < self._window:
            raise CapsuleError("patch", "code is left over")

    def _begin(self, args):
        store = self._store
        op, self._left = args[0], args[1]
        if self._have + self._left > store.slots.limit:
            raise CapsuleError("oversized", "more than the header declares")
        if args[2]:
            now = self._at
            self._at = now + args[3] if args[2] == 1 else self._have + self._back
            self._back = now - self._have
        if op != _OP_DATA and not 0 <= self._at <= store.head.total - self._left:
            raise CapsuleError("patch", "it reads beyond the base")
        self._op, self._k, self._n = op, 0, 0
        if op == _OP_COPY:
            while self._left:
                n = min(_BLOCK, self._left)
                if self._skip < n:
                    self._read_base(n)
                self._put(n)
            self._op = 0

    def _read_base(self, n):
        """Fill the base block; its first n bytes are those at _at."""
        store = self._store
        at = store.slots.start(store.active) + self._at
        over = max(0, at + _BLOCK - store.flash.size)
        store.flash.readinto(at - over, self._block)
        if over:
            _buffers.copy(self._block, 0, self._block, over, n)

    def _put(self, n):
        """Write the first n bytes of the block, but for what is in the flash already."""
        self._left -= n
        self._at += n
        self._have += n
        known = min(self._skip, n)
        self._skip -= known
        if known == n:
            return
        if known:
            _buffers.copy(self._block, 0, self._block, known, n - known)
        self._store.write(self._block, n - known)

    def _next_block(self):
        """Write the block that is ready and begin the next one; False after the last."""
        if self._n:
            self._put(self._n)
        self._k = 0
        self._n = min(_BLOCK, self._left)
        if not self._n:
            self._op = 0
            return False
        if self._op == _OP_DIFF:
            self._read_base(self._n)
        return True

    def _load(self, data, i, n):
        """Move the window down, fill it up; after the last byte of the stream with zeros."""
        window, at = self._decoder.input, self._decoder.at
        if at > 0:
            self._window = max(0, self._window - at)
            _buffers.copy(window, 0, window, at, self._window)
            self._decoder.at = 0
        k = min(_WINDOW - self._window, n - i)
        if k > 0:
            _buffers.copy(window, self._window, data, i, k)
            self._window += k
            self._stream -= k
        if not self._stream:
            for end in range(self._window, _WINDOW):
                window[end] = 0
        return i + k


def _decoder():
    core = _native.load("codec")
    if hasattr(core, "rc_start"):  # that of a small heap has it not
        from acclimate.store.rangecoder import NativeDecoder

        return NativeDecoder(core, _WINDOW)
    from acclimate.store.rangecoder import Decoder

    return Decoder(_WINDOW)
