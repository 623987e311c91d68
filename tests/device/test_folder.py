# SPDX-License-Identifier: MIT
"""Modules of the package are found by opening them, and found as MicroPython would find them."""
# RUNTIMES = ("desktop", "nrf52840", "samd21", "esp32", "rv32")

import os
import sys

import acclimate

FILES = getattr(acclimate, "_files", None)
FOLDER = FILES and FILES.path
# Bytecode of "def answer(): return 42".
CODE = (
    b"\x4d\x06\x00\x1f\x03\x00\x02\x70\x00\x0f\x0c\x61\x6e\x73\x77\x65\x72\x00\x4c\x00"
    b"\x02\x01\x32\x00\x16\x02\x51\x63\x01\x28\x00\x02\x02\xaa\x63"
)
SOURCE = b"def answer():\n    return 7\n"


def found(**endings):
    """Import the module _probe of the package, with these files in its folder."""
    names = []
    for ending, content in endings.items():
        names.append(FOLDER + "/_probe." + ending)
        with open(names[-1], "wb") as file:
            file.write(content)
    try:
        return __import__("acclimate._probe", None, None, ("answer",))
    finally:
        for name in names:
            os.remove(name)
        sys.modules.pop("acclimate._probe", None)
        if hasattr(acclimate, "_probe"):
            del acclimate._probe


def test_boards_with_room_for_a_file_have_it_and_the_others_do_not():
    small = sys.implementation._mpy >> 10 & 15 not in (2, 6, 7, 8, 10, 11)
    assert small is (FILES is None)
    if FILES:
        assert acclimate.__path__ == "/_acclimate"


def test_a_module_is_opened_once_and_not_kept():
    if FILES:
        assert found(mpy=CODE).answer() == 42
        assert FILES.name is None and FILES.file is None


def test_a_source_is_found_where_there_is_no_bytecode():
    if FILES:
        assert found(py=SOURCE).answer() == 7
        assert found(mpy=CODE, py=SOURCE).answer() == 42


def test_a_module_that_is_missing_raises_an_import_error():
    if FILES:
        for name in ("_missing", "_prob", "_probe_not"):
            try:
                __import__("acclimate." + name)
            except ImportError:
                continue
            raise AssertionError(name)


def test_what_was_found_is_not_taken_for_a_file_of_a_longer_name():
    if FILES:
        with open(FOLDER + "/_probe.mpy", "wb") as file:
            file.write(CODE)
        try:
            assert FILES.find("/_probe").read() == CODE
            for path in ("/_probe_not.mpy", "/_probe_not.py"):
                try:
                    FILES.stat(path)
                except OSError:
                    continue
                raise AssertionError(path)
        finally:
            os.remove(FOLDER + "/_probe.mpy")


def test_a_file_is_read_in_the_largest_pieces_that_import_takes():
    if FILES:
        with open(FOLDER + "/_probe.mpy", "wb") as file:
            file.write(CODE)
        try:
            assert FILES.get("/lib/_probe.mpy") is None
            FILES.get("/_acclimate/_probe.mpy")
            assert FILES.stat("/_probe.mpy")[0] == 0x8000
            held = FILES.file
            file = open("/_acclimate/_probe.mpy", "rb")
            assert file.file is held and FILES.file is None
            content = bytearray(99)
            assert file.ioctl(11, 0) == 255
            assert content[: file.readinto(content)] == CODE
            file.ioctl(4, 0)
        finally:
            os.remove(FOLDER + "/_probe.mpy")


def test_who_lists_or_copies_all_files_meets_nothing_there():
    if FILES:
        assert os.listdir("/_acclimate") == []
