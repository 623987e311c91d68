# SPDX-License-Identifier: MIT
"""Headers of .mpy files, and the advice when one does not fit a board."""

import pytest

from acclimate_host.connect import package
from acclimate_host.connect.mpy import MpyForm, check_fits, decode_implementation, read_header
from acclimate_host.errors import Refused
from harness.errors import naming

BOARD = MpyForm(6, 3, "armv7emsp")


@pytest.mark.case("A4")
def test_known_values_of_the_implementation_are_decoded():
    assert decode_implementation(2822) == MpyForm(6, 3, "x64")
    assert decode_implementation(4870) == MpyForm(6, 3, "armv6m")
    assert decode_implementation(7942) == MpyForm(6, 3, "armv7emsp")
    assert decode_implementation(11014) == MpyForm(6, 3, "xtensawin")


@pytest.mark.case("A4")
def test_517_is_version_5_without_an_architecture():
    form = decode_implementation(517)
    assert (form.version, form.arch) == (5, None)
    with pytest.raises(Refused, check=naming("version 6", "version 5")):
        check_fits(MpyForm(6, 0, None), form)


@pytest.mark.case("A2")
def test_bytecode_fits_whatever_the_sub_version():
    check_fits(read_header(b"M\x06\x00\x1f"), BOARD)
    check_fits(read_header(b"M\x06\x02\x1f"), BOARD)


@pytest.mark.case("A2")
def test_an_older_native_sub_version_is_refused():
    with pytest.raises(Refused, match=r"6\.2.*6\.3"):
        check_fits(read_header(bytes([77, 6, 7 << 2 | 2, 31])), BOARD)


@pytest.mark.case("A4")
def test_another_architecture_is_named_with_the_boards_own():
    with pytest.raises(Refused, check=naming("armv6m", "armv7emsp", "acclimate install")):
        check_fits(read_header(bytes([77, 6, 4 << 2 | 3, 31])), BOARD)


@pytest.mark.case("A5")
def test_the_two_runtimes_are_told_apart():
    with pytest.raises(Refused, match="for CircuitPython, the board runs MicroPython"):
        check_fits(read_header(b"C\x06\x00\x1f"), BOARD)
    with pytest.raises(Refused, match="for MicroPython, the board runs CircuitPython.*--drive"):
        check_fits(read_header(b"M\x06\x00\x1f"), BOARD, runtime="circuitpython")


@pytest.mark.parametrize("data", [b"", b"M", b"M\x06\x00", b"print(1)", bytes(8)])
def test_what_is_no_mpy_file_is_said_so(data):
    with pytest.raises(Refused, match="not a .mpy file"):
        read_header(data, "odd.mpy")


@pytest.mark.parametrize(
    "board, code, fits",
    [
        ("armv7emdp", "armv7emsp", True),
        ("armv7em", "armv6m", True),
        ("armv7emsp", "armv6m", False),  # its own are built, and better
        ("armv7emsp", "armv7emdp", False),
        ("armv6m", "armv7emsp", False),
        ("rv32imc", "armv6m", False),
    ],
)
def test_a_larger_core_loads_the_code_of_a_smaller_one(board, code, fits):
    """As MPY_FEATURE_ARCH_TEST of MicroPython has it, for what is built here."""
    if fits:
        check_fits(MpyForm(6, 3, code), MpyForm(6, 3, board))
        assert package.natives(board) == package.natives(code)
    else:
        with pytest.raises(Refused, check=naming(code, board)):
            check_fits(MpyForm(6, 3, code), MpyForm(6, 3, board))


def test_an_architecture_without_modules_has_none():
    assert package.natives("xtensa") == {} == package.natives(None)
