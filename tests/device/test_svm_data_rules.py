# SPDX-License-Identifier: MIT
"""How training data are checked and stored: each border, and what is refused by name."""

# RUNTIMES = ("cpython", "desktop")

from array import array

from acclimate.svm import SVM, data
from acclimate.svm.parameters import run

NAN = float("nan")
INF = float("inf")
BIG = 3.4e38


def refused(call, *arguments):
    try:
        found = call(*arguments)
        if hasattr(found, "send"):
            run(found)
    except ValueError as error:
        return str(error)
    raise AssertionError("expected ValueError of " + repr(arguments)[:80])


def test_storages_are_named_by_their_type():
    names = ("uint8", "int8", "int16", "float32")
    assert [data.storage_code(name) for name in names] == ["B", "b", "h", "f"]
    for name in ("int32", None, 8, []):
        assert "storage" in refused(data.storage_code, name)


def test_labels_are_sorted_and_counted_once():
    assert run(data.classes_of([3, 1, 3, 254, 0])) == bytes((0, 1, 3, 254))
    assert run(data.classes_of([1.0, 2])) == bytes((1, 2))
    for bad in (255, -1, 0.5, 1000):
        assert "y[1]" in refused(data.classes_of, [0, bad, 1])
    assert "2 classes, got 1" in refused(data.classes_of, [5, 5])
    # one bad label at the end of many is found too, and reading it pauses
    many = [0, 1] * 600
    assert run(data.classes_of(many)) == b"\0\1"
    assert len(list(data.classes_of(many))) == len(many) // data.PIECE
    assert "y[1200]" in refused(data.classes_of, many + [255])


def test_shapes_of_lists_and_buffers():
    assert data.shape_of([[1, 2, 3], [4, 5, 6]], [0, 1]) == (2, 3, False)
    assert data.shape_of([[1]], [0]) == (1, 1, False)
    assert data.shape_of(bytearray(6), [0, 1]) == (2, 3, True)
    assert data.shape_of(bytearray(2), [0, 1]) == (2, 1, True)
    for X, y, words in (
        ([], [], "at least 2 rows, got 0 and 0"),
        ([[1]], [], "got 1 and 0"),
        ([], [1], "got 0 and 1"),
        ([[1], [2]], [0], "2 labels for 2 rows, got 1"),
        ([[], []], [0, 1], "at least 1 feature"),
        (bytearray(7), [0, 1], "multiple of 2"),
        (bytearray(1), [0, 1], "multiple of 2"),
        (bytearray(65536 * 2), [0, 1], "65535"),
        (bytearray(65536), bytearray(65536), "65535"),
    ):
        assert words in refused(data.shape_of, X, y), words
    assert data.shape_of(bytearray(65535 * 2), [0, 1]) == (2, 65535, True)
    assert data.shape_of(bytearray(65535), bytearray(65535)) == (65535, 1, True)


def test_a_row_has_a_range_and_may_be_whole():
    assert data.check_row([3, -1, 2], 0, 3) == (-1, 3, True)
    assert data.check_row([3.0, -1, 2], 0, 3) == (-1, 3, True)
    assert data.check_row([0.5, 1, 2], 0, 3) == (0.5, 2, False)
    assert data.check_row([1, 2, 2.5], 0, 3) == (1, 2.5, False)
    assert data.check_row([BIG, BIG], 0, 2)[:2] == (BIG, BIG)  # the sum alone is too large
    for row, words in (
        ([1, 2], "expected 3 features, got 2"),
        ([1, 2, 3, 4], "expected 3 features, got 4"),
        ([0.0, NAN, 1], "finite numbers, got nan"),
        ([0.0, INF, 1], "finite numbers, got inf"),
        ([0.0, -INF, 1], "finite numbers, got -inf"),
        ([INF, -INF, 1], "finite"),
        ([0, "a", 1], "expected numbers"),
        ([0, None, 1], "expected numbers"),
    ):
        text = refused(data.check_row, row, 7, 3)
        assert "X row 7" in text and words in text
    if hasattr(array("f"), "typecode"):  # where floats are wider than 32 bits
        assert "float32" in refused(data.check_row, [0.0, 1e39, 1.0], 7, 3)
        assert "float32" in refused(data.check_row, [0.0, -1e39, 1.0], 7, 3)


def lowest_highest(pieces):
    """The first three results of a scan; native code adds the spans of the features."""
    return run(pieces)[:3]


def test_all_rows_are_looked_at_whatever_they_are_kept_in():
    rows = [[5, -3], [0, 9], [2, 2]]
    flat = [v for row in rows for v in row]
    assert lowest_highest(data.scan(rows, 3, 2, False)) == (-3, 9, True)
    assert lowest_highest(data.scan(flat, 3, 2, True)) == (-3, 9, True)
    assert lowest_highest(data.scan(array("h", flat), 3, 2, True)) == (-3, 9, True)
    assert lowest_highest(data.scan(array("f", flat), 3, 2, True)) == (-3, 9, True)
    assert lowest_highest(data.scan([[1, 2], [0.5, 2], [1, 1]], 3, 2, False)) == (0.5, 2, False)
    assert lowest_highest(data.scan([[0.5, 2], [1, 2]], 2, 2, False)) == (0.5, 2, False)
    assert "X row 2" in refused(data.scan, [[1, 2], [1, 2], [1, "x"]], 3, 2, False)
    assert "X row 1" in refused(data.scan, [1.0, 2.0, NAN, 4.0], 2, 2, True)
    # the lowest and the highest may be in any piece of a long buffer
    for low, high in ((0, 5000), (5000, 0), (2047, 2048), (4096, 4095)):
        long = array("h", bytes(2 * 5001))
        long[low], long[high] = -7, 7
        assert lowest_highest(data.scan(long, 5001, 1, True)) == (-7, 7, True)
    assert len(list(data.scan(array("h", bytes(2 * 4096)), 4096, 1, True))) == 2
    assert len(list(data.scan([[0] * 128] * 20, 20, 128, False))) == 10


def test_the_smallest_type_that_holds_all_values_is_taken():
    for low, high, code in (
        (0, 255, "B"),
        (0, 0, "B"),
        (-1, 127, "b"),
        (-128, 127, "b"),
        (-1, 128, "h"),
        (-129, 0, "h"),
        (0, 256, "h"),
        (-32768, 32767, "h"),
    ):
        assert data.smallest_code(low, high, True, True) == code, (low, high)
        assert data.smallest_code(low, high, False, True) == "f"
        assert data.smallest_code(low, high, False, False) == "h"
    for low, high in ((0, 32768), (-32769, 0)):
        assert data.smallest_code(low, high, True, True) == "f"
        assert data.smallest_code(low, high, True, False) == "h"


def test_fractions_are_scaled_by_the_largest_power_of_two_that_leaves_room():
    assert data.shift_for("f", -1.5, 1e9, False, 4) == 0
    assert data.shift_for("h", -32768, 32767, True, 4) == 0
    for code, low, high in (("B", -1, 0), ("B", 0, 256), ("b", -129, 0), ("b", 0, 128)):
        assert "for this storage" in refused(data.shift_for, code, low, high, True, 4)
    assert "values >= 0" in refused(data.shift_for, "B", -0.5, 1.5, False, 4)
    for d in (1, 4, 100):
        for code, top in (("B", 255), ("b", 127), ("h", 32767)):
            room = min(top, int((2.0**30 / d) ** 0.5))
            for high in (0.001, 0.3, 1.5, 77.5, 30000.5, 1e6 + 0.5):
                shift = data.shift_for(code, 0.0, high, False, d)
                assert shift and high * 2.0**shift <= room, (code, d, high)
                # 0 stands for whole numbers: a power of 1 gives way to the next lower one
                assert shift == 24 or high * 2.0 ** (shift + 1 + (shift == -1)) > room
    assert data.shift_for("h", -3.5, 1.0, False, 1) == data.shift_for("h", -1.0, 3.5, False, 1)
    assert data.shift_for("h", 0.0, 1e-9, False, 1) == 24
    assert data.shift_for("h", 0.0, 1e20, False, 1) == -24


def test_a_buffer_is_used_as_it_is_only_where_its_items_fit():
    for X, code, same in (
        ([1, 2], "B", False),
        ((1, 2), "B", False),
        (b"\1\2", "B", False),
        (bytearray(2), "B", True),
        (bytearray(2), "b", False),
        (array("h", [1]), "h", True),
        (array("H", [1]), "h", True),
        (array("h", [1]), "B", False),
        (array("B", [1]), "b", True),
        (array("b", [1]), "B", True),
        (array("B", [1]), "h", False),
        (array("f", [1]), "f", True),
        (array("f", [1]), "h", False),
        (array("i", [1]), "h", False),
        (array("i", [1]), "f", False),
        (array("h", [1]), "f", False),
    ):
        assert data.same_items(X, code) is same, (X, code)


class Untyped:
    """A buffer that does not tell its type code, as on MicroPython."""

    def __init__(self, items):
        self.items = items

    def __getitem__(self, at):
        return self.items[at]


def test_a_buffer_without_a_type_code_is_told_by_its_items():
    for kind, value, code in (("h", 1, "h"), ("B", 1, "B"), ("f", 1, "f")):
        buffer = Untyped(array(kind, [value, value]))
        assert data.same_items(buffer, code)
        for other in "Bhf":
            if other != code:
                assert not data.same_items(buffer, other), (kind, other)
    assert data.same_items(Untyped(array("b", [1])), "b")


def stored(row, code, shift):
    buffer = array(code, (0 for _ in range(len(row) + 2)))
    data.store_into(buffer, 1, row, code, shift)
    assert buffer[0] == 0 and buffer[len(row) + 1] == 0
    return list(buffer[1 : 1 + len(row)])


def test_a_row_is_stored_rounded_half_away_from_zero():
    assert stored([1, 2.0, 255], "B", 0) == [1, 2, 255]
    assert stored([-128, 127], "b", 0) == [-128, 127]
    assert stored([0.25, -0.25, 0.5, 1.75], "h", 1) == [1, -1, 1, 4]
    assert stored([0.24, -0.24, 0.0], "h", 1) == [0, 0, 0]
    assert stored([3.0, 1.0, -1.0, -3.0], "h", -1) == [2, 1, -1, -2]
    assert stored([0.5, -1.5], "f", 0) == [0.5, -1.5]
    assert stored([127.5, 0], "B", 1) == [255, 0]


def test_what_does_not_fit_its_storage_is_refused():
    for row, code, shift in (
        ([256], "B", 0),
        ([-1], "B", 0),
        ([128], "b", 0),
        ([-129], "b", 0),
        ([0.5], "h", 0),
        ([128], "B", 1),
        ([-0.5], "B", 1),
        ([16384], "h", 1),
        ([-16384.5], "h", 1),
        ([NAN], "h", 1),
        ([INF], "f", 0),
        ([-INF], "h", 0),
    ):
        buffer = array(code, [0])
        assert "row: expected" in refused(data.store_into, buffer, 0, row, code, shift), row
    stored([16383.5, -16384], "h", 1)
    if hasattr(array("f"), "typecode"):
        assert "float32" in refused(data.store_into, array("f", [0]), 0, [1e39], "f", 0)
        assert "float32" in refused(data.store_into, array("f", [0]), 0, [-1e39], "f", 0)


def prepared(X, y, *arguments, **options):
    return run(data.prepare_pieces(X, y, *arguments, **options))


def test_data_are_brought_into_one_buffer():
    rows, y = [[1, 2], [3, 100], [5, 6]], [0, 1, 0]
    x, code, shift, n, d, classes, scaler, warning = prepared(rows, y)
    assert (list(x), code, shift, n, d) == ([1, 2, 3, 100, 5, 6], "B", 0, 3, 2)
    assert classes == b"\0\1" and scaler is None and warning is None
    for storage, wanted in (("int16", "h"), ("int8", "b"), ("float32", "f")):
        found = prepared(rows, y, storage, centre=False)
        assert found[1] == wanted and list(found[0]) == [1, 2, 3, 100, 5, 6]
    x, code, shift = prepared([[0.5, 1], [0.25, 1]], [0, 1], centre=False)[:3]
    assert (code, shift, list(x)) == ("f", 0, [0.5, 1, 0.25, 1])
    x, code, shift = prepared([[0.5, 1], [0.25, 1]], [0, 1], floats=False, centre=False)[:3]
    assert code == "h" and shift > 0
    assert list(x) == [v * 2**shift for v in (0.5, 1, 0.25, 1)]


def test_a_flat_buffer_of_the_right_type_is_used_in_place():
    y = [0, 1, 0]
    for X in (bytearray((1, 2, 3, 4, 5, 6)), array("h", [1, -2, 3, 4, 500, 6])):
        found = prepared(X, y, centre=False)
        assert found[0] is X and found[2:5] == (0, 3, 2)
    flat = [1, 2, 3, 4, 5, 6]
    assert prepared(flat, y)[0] is not flat
    assert list(prepared(flat, y)[0]) == flat
    x = array("f", [0.5, 1, 2, 3, 4, 5])
    assert prepared(x, y, floats=False, centre=False)[0] is not x


def test_wide_ranges_are_warned_of_and_equal_ones_are_not():
    assert prepared([[0, 0], [1, 200]], [0, 1], centre=False)[7]
    assert prepared([[0, 0], [200, 200]], [0, 1], centre=False)[7] is None
    assert prepared([[0, 0], [1, 100]], [0, 1], centre=False)[7] is None
    assert prepared([[0.5, 0], [1.0, 90]], [0, 1], centre=False)[7]


def test_products_beyond_float32_are_refused():
    for top in (1.5e19, -1.5e19):
        text = refused(data.prepare_pieces, [[top, 0.5], [0, 1]], [0, 1], None, False, True, False)
        assert "float32" in text
    assert prepared([[1e18, 0.5], [0, 1]], [0, 1], centre=False)[1] == "f"


def test_values_that_the_chosen_storage_does_not_hold_are_refused():
    assert "for this storage" in refused(data.prepare_pieces, [[300], [1]], [0, 1], "uint8")


def test_a_budget_keeps_as_many_rows_as_it_says():
    class Budget:
        budget = 4

    data.check_budget(Budget, 4)
    assert "budget = 4 rows, got 5" in refused(data.check_budget, Budget, 5)


def test_lists_of_numbers_far_from_zero_keep_what_the_runtime_tells_apart():
    if 1e5 + 0.001 == 1e5:
        return "numbers of 32 bits"
    X = [[1e5 + 0.001 * k] for k in range(20)]
    for options in ({}, {"storage": "float32"}):
        m = SVM(**options).fit(X, [k // 10 for k in range(20)])
        values = [m.decision(row) for row in X]
        assert all(values[k] < values[k + 1] for k in range(19)), values
        for k in range(19):
            row = [1e5 + 0.001 * k + 0.0005]
            assert values[k] < m.decision(row) < values[k + 1]
            assert m.predict(row) == (1 if m.decision(row) >= 0 else 0)
