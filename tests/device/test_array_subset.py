# SPDX-License-Identifier: MIT
"""The operations on arrays that the package uses are there, and mean the same, everywhere."""

from array import array


def test_parts_are_replaced_by_as_many_items():  # case: K5
    data = bytearray(6)
    data[2:4] = b"ab"
    memoryview(data)[4:6] = b"cd"
    assert bytes(data) == b"\0\0abcd"
    numbers = array("h", (1, 2, 3, 4))
    numbers[1:3] = array("h", (-5, -6))
    assert list(numbers) == [1, -5, -6, 4]


def test_items_are_added_at_the_end():  # case: K5
    numbers = array("b", (1,))
    numbers.append(-2)
    numbers.extend(array("b", (3,)))
    data = bytearray(b"1")
    data.append(50)
    data.extend(b"34")
    assert list(numbers) == [1, -2, 3] and bytes(data) == b"1234"


def test_parts_and_items_are_read():  # case: K5
    numbers = array("i", (7, -8, 9))
    assert list(numbers[1:]) == [-8, 9] and len(numbers) == 3 and max(numbers) == 9
    assert bytes(memoryview(b"12345")[1:3]) == b"23"
    assert array("f", bytes(8))[1] == 0.0
