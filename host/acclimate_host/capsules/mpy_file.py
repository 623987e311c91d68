# SPDX-License-Identifier: MIT
"""Is a .mpy file whole? MicroPython itself does not notice where one ends, and hangs.

Version 6: 4 bytes of header, names, constants, then code objects within each other. Numbers
have 7 bits per byte, the highest first.
"""

from acclimate_host.errors import Refused

_BYTECODE, _NATIVE, _VIPER, _ASM = range(4)
_RELOCATIONS, _RODATA, _BSS = 0x10, 0x20, 0x40
_STR, _BYTES, _INT, _FLOAT, _COMPLEX, _TUPLE = range(5, 11)
_DEPTH_MAX = 60


def check_whole(data, name="file"):
    """Raise Refused unless a version 6 file ends just where its content does."""
    if len(data) < 4 or data[1] != 6:
        raise Refused(f"{name}: not a .mpy file of version 6")
    walk = _Walk(data)
    try:
        walk.module()
    except IndexError:
        raise Refused(f"{name}: {len(data)} bytes, it is cut off or damaged") from None
    if walk.at != len(data):
        raise Refused(f"{name}: {len(data) - walk.at} bytes after its end")


class _Walk:
    def __init__(self, data):
        self.data = data
        self.at = 4

    def module(self):
        names, constants = self.number(), self.number()
        for _ in range(names):
            size = self.number()
            if not size & 1:  # a name of its own, and a zero; others are known by number
                self.skip((size >> 1) + 1)
        for _ in range(constants):
            self.constant(0)
        self.code(0)

    def skip(self, n):
        self.at += n
        if self.at > len(self.data):
            raise IndexError

    def byte(self):
        self.skip(1)
        return self.data[self.at - 1]

    def number(self):
        value = 0
        while True:
            byte = self.byte()
            value = value << 7 | byte & 127
            if byte < 128:
                return value

    def constant(self, depth):
        kind = self.byte()
        if kind < _STR:
            return
        if kind > _TUPLE or depth > _DEPTH_MAX:
            raise IndexError
        size = self.number()
        if kind == _TUPLE:
            for _ in range(size):
                self.constant(depth + 1)
        else:
            self.skip(size + (kind in (_STR, _BYTES)))

    def code(self, depth):
        head = self.number()
        kind, has_children = head & 3, head & 4
        if depth > _DEPTH_MAX:
            raise IndexError
        self.skip(head >> 3)
        flags = self.number() if kind in (_VIPER, _ASM) else 0
        if kind == _NATIVE:
            self.number()  # where its prelude is
        elif kind == _ASM:
            self.number()
            self.number()
        elif kind == _VIPER:
            rodata = self.number() if flags & _RODATA else 0
            if flags & _BSS:
                self.number()
            self.skip(rodata)
        for _ in range(self.number() if has_children else 0):
            self.code(depth + 1)
        if flags & _RELOCATIONS:
            self.relocations()

    def relocations(self):
        while True:
            op = self.byte()
            if op == 255:
                return
            if op & 1:
                self.number()
            if op >> 1 <= 5 and op >> 1 & 1:
                self.number()
