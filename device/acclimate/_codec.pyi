# SPDX-License-Identifier: MIT
"""The native module `_codec` (native_modules/codec): hashes, buffers and the range coder.

Nothing is allocated. A state is a buffer of `array("i")` or the like, aligned to four bytes;
ValueError where a buffer is too short or a count is negative.
"""

from circuitpython_typing import ReadableBuffer, WriteableBuffer

SHA_BYTES: int
RC_BYTES: int

def sha_start(state: WriteableBuffer, /) -> None: ...
def sha_update(state: WriteableBuffer, data: ReadableBuffer, n: int, /) -> None: ...
def sha_part(state: WriteableBuffer, data: ReadableBuffer, start: int, n: int, /) -> None: ...
def sha_finish(state: WriteableBuffer, out: WriteableBuffer, /) -> None: ...
def copy(to: WriteableBuffer, to_at: int, data: ReadableBuffer, at: int, n: int, /) -> None: ...
def common_prefix(
    a: ReadableBuffer, a_at: int, b: ReadableBuffer, b_at: int, n: int, /
) -> int: ...
def crc_update(crc: WriteableBuffer, data: ReadableBuffer, start: int, end: int, /) -> None: ...
def rc_start(state: WriteableBuffer, data: ReadableBuffer, /) -> None: ...
def rc_head(state: WriteableBuffer, data: ReadableBuffer, head: WriteableBuffer, /) -> None: ...
def rc_block(
    state: WriteableBuffer,
    data: ReadableBuffer,
    base: ReadableBuffer,
    out: WriteableBuffer,
    place: WriteableBuffer,
    /,
) -> None: ...
def window(
    window: ReadableBuffer, out: WriteableBuffer, channels: int, samples: int, how: int, /
) -> bool:
    """Features of a window; not in the module of `armv6m`."""
