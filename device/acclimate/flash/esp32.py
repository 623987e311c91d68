# SPDX-License-Identifier: MIT
"""A data partition of an ESP32 as flash.

flash = open_esp32("capsule")
"""

try:  # for editors and checkers on a computer; boards have neither
    from typing import Any
except ImportError:
    pass

from acclimate.flash.base import BlockFlash, FlashError

_DATA = 1  # esp32.Partition.TYPE_DATA; an application must never be overwritten


def open_esp32(label: str = "capsule", partition: "Any" = None) -> BlockFlash:
    """Return the data partition of that label as a BlockFlash.

    :param partition: the class, ``esp32.Partition`` without it.
    :raises FlashError: there is none, it is not for data, or its content is encrypted.
    """
    if partition is None:
        from esp32 import Partition as partition
    found = partition.find(_DATA, label=label)
    if not found:
        raise FlashError(
            "no data partition %s in the table: acclimate flash-capsule prepares one" % repr(label)
        )
    kind, _, _, size, _, encrypted = found[0].info()[:6]
    if kind != _DATA:
        raise FlashError("partition %s has type %d, not data (1)" % (repr(label), kind))
    if encrypted:
        # Encrypted flash is written in 16 bytes, each once: bits cannot be cleared later.
        raise FlashError("partition %s is encrypted: use one that is not" % repr(label))
    flash = BlockFlash(found[0])
    if flash.size > size:
        raise FlashError("partition %s of %d bytes is cut short" % (repr(label), size))
    return flash
