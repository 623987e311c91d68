# SPDX-License-Identifier: MIT
"""What a network checks when it is made: the CRC of its program, and room for its arena."""


def is_whole(program, at, start, always):
    """Compare the CRC of the bytes before `at` and from `start` on with the four at `at`.

    Without binascii large programs are taken as they are, unless `always`.
    """
    try:
        from binascii import crc32

        view = memoryview(program)
        found = crc32(view[start:], crc32(view[:at]))
        found = bytes([found >> 8 * i & 255 for i in range(4)])
    except ImportError:
        if not always and len(program) > 32768:
            return True
        from acclimate import crc

        found = bytearray(4)
        crc.start(found)
        crc._update(found, program, 0, at)  # no native module for this
        crc._update(found, program, start, len(program))
        crc.finish(found)
    return found == bytes(program[at : at + 4])


def no_room(need):
    """Return what to say when the heap has no such block: needed, free and the largest one."""
    try:
        from acclimate.heap import short

        return str(short(need, "arena"))
    except ImportError:  # frozen without it
        return "arena: needs %d bytes in one block" % need
