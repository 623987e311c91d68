# SPDX-License-Identifier: MIT
"""A file as flash: made whole or not at all, as long as it was, and what a drive refuses."""

# RUNTIMES = ("cpython", "desktop", "circuitpython")

from refusal import raised

from acclimate.flash import FileFlash, FlashError
from acclimate.flash import file as module


class Drive:
    """Files in RAM, and the module os for them.

    :param room: bytes that may still be written. :param error: what a write beyond them raises.
    """

    def __init__(self, room=99999, error=None, stat_error=None):
        self.files, self.room, self.syncs = {}, room, 0
        self.error, self.stat_error = error or OSError(28), stat_error
        self.sync = self._sync

    def stat(self, path):
        if self.stat_error:
            raise self.stat_error
        if path not in self.files:
            raise OSError(2)
        return (0, 0, 0, 0, 0, 0, len(self.files[path]))

    def rename(self, old, new):
        self.files[new] = self.files.pop(old)

    def remove(self, path):
        if path not in self.files:
            raise OSError(2)
        del self.files[path]

    def _sync(self):
        self.syncs += 1

    def open(self, path, mode):
        if mode == "wb":
            self.files[path] = bytearray()
        if path not in self.files:
            raise OSError(2)
        return File(self, path)

    def __enter__(self):
        self.kept = module.os, module.open_file
        module.os, module.open_file = self, self.open
        return self

    def __exit__(self, *_):
        module.os, module.open_file = self.kept


class File:
    def __init__(self, drive, path):
        self.drive, self.path, self.at = drive, path, 0
        self.flushes, self.takes, self.is_open = 0, 99999, True

    def seek(self, at):
        self.at = at

    def readinto(self, buffer):
        data = self.drive.files[self.path][self.at : self.at + len(buffer)]
        buffer[: len(data)] = data
        return len(data)

    def write(self, data):
        data = data[: self.takes]
        self.drive.room -= len(data)
        if self.drive.room < 0:
            raise self.drive.error
        whole = self.drive.files[self.path]
        whole[self.at : self.at + len(data)] = data
        self.at += len(data)
        return len(data)

    def flush(self):
        self.flushes += 1

    def close(self):
        self.is_open = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def test_a_file_is_made_of_255_and_found_again():
    with Drive() as drive:
        flash = FileFlash("f", 1024, 256, 8)
        assert drive.files == {"f": bytearray(b"\xff" * 1024)}
        assert (flash.size, flash.erase_bytes, flash.unit) == (1024, 256, 8)
        flash.program(264, b"abcdefgh")
        again = FileFlash("f", 0, 256)
        back = bytearray(8)
        again.readinto(264, back)
        assert back == b"abcdefgh" and again.unit == 4
        assert FileFlash("f", 1024, 256).size == 1024
        assert drive.files["f"] == b"\xff" * 264 + b"abcdefgh" + b"\xff" * 752
        again._file.takes = 64
        again.erase(256)
        assert drive.files["f"] == b"\xff" * 1024
        again.close()
        assert not again._file.is_open


def test_an_erase_sets_its_page_and_no_other():
    with Drive() as drive:
        flash = FileFlash("f", 1024, 256)
        drive.files["f"][:] = bytes(1024)
        flash.erase(256)
        assert drive.files["f"] == bytes(256) + b"\xff" * 256 + bytes(512)


def test_what_was_written_is_on_the_drive_before_the_call_ends():
    with Drive() as drive:
        flash = FileFlash("f", 1024, 256)
        file, syncs = flash._file, drive.syncs
        flash.program(0, b"abcd")
        assert (file.flushes, drive.syncs - syncs) == (1, 1)
        flash.erase(0)
        assert (file.flushes, drive.syncs - syncs) == (2, 2)
        del drive.sync  # a firmware without it
        flash.program(4, b"abcd")
        assert file.flushes == 3


def test_a_file_of_another_length_is_not_taken():
    with Drive() as drive:
        for found, size in ((512, 1024), (1024, 512), (0, 1024), (0, 0)):
            drive.files["f"] = bytearray(found)
            told = raised(ValueError, FileFlash, "f", size, 256)
            assert "f has %d bytes, not %d" % (found, size) in told
            assert drive.files["f"] == bytes(found)
        drive.files["f"] = bytearray(1000)
        assert "whole pages" in raised(ValueError, FileFlash, "f", 0, 256)


def test_a_file_that_cannot_be_made_leaves_nothing():
    for error in (OSError(28), OSError(5), KeyboardInterrupt(), MemoryError()):
        for room in (0, 64, 1000, 1023):
            with Drive(room, error) as drive:
                raised(type(error), FileFlash, "f", 1024, 256)
                assert drive.files == {}
    with Drive() as drive:
        drive.files["f.new"] = bytearray(b"of a cut before")
        assert FileFlash("f", 1024, 256).size == 1024 and list(drive.files) == ["f"]
    with Drive() as drive:
        assert "f: no such file; give its size" in raised(FlashError, FileFlash, "f")
        assert "whole pages" in raised(ValueError, FileFlash, "f", 1000, 256)
        assert drive.files == {}
    with Drive(stat_error=OSError(5)) as drive:
        assert "f: cannot be looked at: " in raised(FlashError, FileFlash, "f", 1024, 256)
        assert drive.files == {}


def test_a_file_that_became_shorter_and_a_drive_that_takes_less_are_named():
    with Drive() as drive:
        flash = FileFlash("f", 1024, 256)
        flash.program(768, b"abcd")
        for left in (768, 769, 771):
            drive.files["f"] = drive.files["f"][:left]
            assert "ends before byte 772" in raised(FlashError, flash.readinto, 768, bytearray(4))
            drive.files["f"] += b"\xff" * (1024 - left)
        flash._file.takes = 3
        assert "took less" in raised(FlashError, flash._program, 0, b"abcd")
        raised(FlashError, flash.program, 0, b"abcd")


def test_a_drive_that_only_reads_is_named_with_what_to_do():
    for number, kind in ((30, FlashError), (2, OSError), (13, OSError)):

        def refuse(path, mode, number=number):
            raise OSError(number)

        module.open = refuse
        try:
            told = raised(kind, module.open_file, "f", "wb")
        finally:
            del module.open
        assert ("storage.remount" in told) is (number == 30)
        assert str(number) in told or number == 30
