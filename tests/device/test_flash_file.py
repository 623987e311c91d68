# SPDX-License-Identifier: MIT
"""A file as flash refuses what it cannot be before it makes a file."""

import os
import sys

from acclimate.flash import FileFlash, FlashError


def said(error, call, *arguments):
    try:
        call(*arguments)
    except error as caught:
        return str(caught)
    raise AssertionError("no " + error.__name__)


def raises(error, call, *arguments):
    said(error, call, *arguments)


def test_a_size_that_cannot_be_makes_no_file():
    path = "acclimate_no_flash.bin"
    for size in (100, -1, -256, 300):
        raises(ValueError, FileFlash, path, size, 256)
        try:
            os.stat(path)
        except OSError:
            continue
        raise AssertionError("a file of %d bytes was made" % size)


def test_a_file_that_is_not_there_needs_a_size():
    message = said(FlashError, FileFlash, "acclimate_no_flash.bin")
    assert "no such file" in message and "size" in message
    raises(OSError, os.stat, "acclimate_no_flash.bin")


def test_what_cannot_be_looked_at_is_not_made_anew():
    if sys.implementation.name != "cpython":
        return  # what stands in the way is another error on each file system
    with open("acclimate_file", "wb"):
        pass
    try:
        for size in (0, 1024):
            message = said(FlashError, FileFlash, "acclimate_file/flash.bin", size, 256)
            assert "cannot be looked at" in message
    finally:
        os.remove("acclimate_file")


def test_a_file_has_pages_of_4096_bytes_where_nothing_is_said():
    path = "acclimate_no_flash.bin"
    try:
        flash = FileFlash(path, 8192)
    except OSError as error:
        return "no writable file system: %s" % error
    try:
        assert (flash.size, flash.erase_bytes, flash.unit) == (8192, 4096, 4)
    finally:
        flash.close()
        os.remove(path)
