# SPDX-License-Identifier: MIT
"""A file as flash refuses what it cannot be before it makes a file."""

import os

from acclimate.flash import FileFlash


def raises(error, call, *arguments):
    try:
        call(*arguments)
    except error:
        return
    raise AssertionError("no " + error.__name__)


def test_a_size_that_cannot_be_makes_no_file():
    path = "acclimate_no_flash.bin"
    for size in (100, -1, -256, 300):
        raises(ValueError, FileFlash, path, size, 256)
        try:
            os.stat(path)
        except OSError:
            continue
        raise AssertionError("a file of %d bytes was made" % size)
