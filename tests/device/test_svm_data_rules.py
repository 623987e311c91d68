# SPDX-License-Identifier: MIT
"""How training data are checked and stored: each border, and what is refused by name."""

# RUNTIMES = ("cpython", "desktop")

from array import array

from acclimate.svm import SVM, data
from acclimate.svm.parameters import run

NAN = float("nan")
INF = float("inf")
BIG = 3.4e38
PIECE = 256  # of acclimate.svm.rows: a constant that files on a board no longer name


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
    assert len(list(data.classes_of(many))) == len(many) // PIECE
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
        assert lowest_highest(data.scan(long, 1667, 3, True)) == (-7, 7, True)
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


def test_labels_that_bytes_hold_are_plain():
    for y in ([0, 254], [5], [], b"", b"\xff", bytearray(2), [1.0, 2], array("B", [254])):
        assert data.plain_labels(y) is True, y
    for y in ([0, 255], [-1, 3], ["a", "b"], [0, "b"], [None], array("h", [255, 0])):
        assert data.plain_labels(y) is False, y
    for y in (None, 7):
        assert "y: expected a label" in refused(data.plain_labels, y)
    assert "got 0" in refused(data.classes_of, b"")
    assert "y[1]" in refused(data.classes_of, b"\0\xff")


# ---- pieces ------------------------------------------------------------------------------------


class Watched:
    """Rows that count how often one is asked for."""

    def __init__(self, rows):
        self.rows = rows
        self.seen = 0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        self.seen += 1
        return self.rows[at]


def seen_at_pauses(steps, watched):
    """(how many rows were asked for at each pause, at the end)."""
    return [watched.seen for _ in steps], watched.seen


def test_rows_are_read_in_pieces_of_one_size():
    for d, pause in ((1, 256), (100, 2), (128, 2), (129, 1), (300, 1)):
        for n in (3 * pause - 1, 3 * pause, 3 * pause + 1):
            every = list(range(pause, n + 1, pause))
            X = Watched([[1] * d] * n)
            assert seen_at_pauses(data.scan(X, n, d, False), X) == (every, n), (d, n)
            X, y = Watched([[i & 1] * d for i in range(n)]), bytes(i & 1 for i in range(n))
            # the labels, all rows looked at, a pause, all rows stored
            looked = [1] + [1 + k for k in every] + [1 + n]
            stored = [1 + n + k for k in every]
            found = seen_at_pauses(data.prepare_pieces(X, y), X)
            assert found == (looked + stored, 1 + 2 * n), (d, n)


def test_only_data_that_may_be_wide_are_looked_at_once_more():
    y = b"\0\1"
    for rows, options, times in (
        ([[0], [100]], {}, 2),
        ([[0], [101]], {}, 3),
        ([[155], [255]], {}, 2),
        ([[154], [255]], {}, 3),
        ([[-50], [50]], {}, 2),
        ([[-51], [50]], {}, 3),
        ([[0], [1]], {"storage": "int16"}, 3),
        ([[0.5], [1]], {}, 3),
    ):
        if data._widen is not None:
            return "native code looks once"
        X = Watched(rows)
        run(data.prepare_pieces(X, y, **options))
        assert X.seen == 1 + 2 * times, (rows, options)


# ---- what native code does ---------------------------------------------------------------------


def widen(low, high, row, scratch):
    """As the native function: 1 whole, 0 real, -1 too large or not finite."""
    values = [v + 0 for v in row]
    whole = 1
    assert len(scratch) == len(low) == len(high) == len(values)
    for k in range(len(values)):
        v = values[k]
        if not -16777216 < v < 16777216:
            return -1
        if v != int(v):
            whole = 0
        low[k] = min(low[k], v)
        high[k] = max(high[k], v)
    return whole


def with_native(name, function, call):
    before = getattr(data, name)
    setattr(data, name, function)
    try:
        return call()
    finally:
        setattr(data, name, before)


def scanned(rows):
    found = with_native("_widen", widen, lambda: run(data.scan(rows, len(rows), 2, False)))
    spans = found[3]
    return found[:3] + (spans and (list(spans[0]), list(spans[1])),)


def test_native_code_and_python_look_at_the_same_rows():
    found = scanned([[5, -3], [0, 9], [2, 2]])
    assert found == (-3, 9, True, ([0, -3], [5, 9]))
    assert all(isinstance(v, int) for v in found[:2] + tuple(found[3][0] + found[3][1]))
    assert scanned([[5, -3], [0.5, 9]]) == (-3, 9, False, ([0.5, -3], [5, 9]))
    assert scanned([[0.5, -3], [1, 9]]) == (-3, 9, False, ([0.5, -3], [1, 9]))
    big = 1 << 25
    # from a row that native code leaves to Python on, Python looks; what was seen counts
    for rows, wanted in (
        ([[-7, 3], [big, 0]], (-7, big, True, None)),
        ([[7, 3], [-big, 0]], (-big, 7, True, None)),
        ([[-7, 0.5], [big, 0]], (-7, big, False, None)),
        ([[big, 2], [1, 0]], (0, big, True, None)),
        ([[big, 2], [1, 0.5]], (0.5, big, False, None)),
        ([[big, -2], [1, 0]], (-2, big, True, None)),
        ([[1, 0], [2, big], [3, -4]], (-4, big, True, None)),
    ):
        assert scanned(rows) == wanted, rows
    for bad in ([1, "x"], [1, NAN], [INF, 0], [1, None]):
        assert "X row 1" in refused(scanned, [[1, 2], bad])


def test_native_code_stores_what_it_can_and_python_the_rest():
    asked = []

    def store(buf, at, row, d):
        asked.append((at, d))
        if row[0] == 3:
            return False
        for k in range(d):
            buf[at + k] = row[k]
        return True

    X, y = [[1, 2], [3, 4], [5, 6]], b"\0\1\0"
    found = with_native("_store", store, lambda: prepared(X, y))
    assert list(found[0]) == [1, 2, 3, 4, 5, 6] and asked == [(0, 2), (2, 2), (4, 2)]
    asked.clear()
    found = with_native("_store", store, lambda: prepared(X, y, scale=True))
    assert found[6] is not None and asked == []
    half = [[0.5, 2], [3, 4], [5, 6]]
    found = with_native("_store", store, lambda: prepared(half, y, "int16", centre=False))
    assert asked == [] and [v * 2.0 ** -found[2] for v in found[0]] == [0.5, 2, 3, 4, 5, 6]


# ---- rows far from zero ------------------------------------------------------------------------


def centre(low, high, whole=True, code="h", floats=True):
    """(type, offsets, shift) of what is subtracted, or None."""
    low, high = [v for v in low], [v for v in high]
    made = data._centre(low, high, whole, code, floats)
    return made and (made.code, list(made.offset), made.shift)


def test_rows_are_moved_from_four_spans_on():
    # the middle is 4 halves of the span: not yet
    assert centre([30], [50]) is None and centre([31], [51]) == ("h", [41], 0)
    assert centre([-50], [-30]) is None and centre([-51], [-31]) == ("h", [-41], 0)
    assert centre([30.0], [50.0], False, "f") is None
    assert centre([31.0], [51.0], False, "f") == ("f", [41.0], 0)
    # in a store of scaled integers from one on
    assert centre([30], [50], True, "h", False) is None
    assert centre([0.0], [20.5], False, "h", False) is None
    assert centre([1.0], [20.5], False, "h", False) == ("h", [10.75], 11)
    # all features together
    assert centre([30, 0], [50, 0]) is None and centre([30, 1], [50, 1]) == ("h", [40, 1], 0)


def test_middles_of_whole_numbers_are_whole_and_others_are_not():
    assert centre([1000], [1003]) == ("h", [1002], 0)
    assert centre([-1003], [-1000]) == ("h", [-1001], 0)
    assert centre([1000.0], [1003.0]) == ("h", [1002], 0)  # the spans came as floats
    assert centre([1000.0], [1003.0], False, "f") == ("f", [1001.5], 0)
    assert centre([1000], [1003], False, "h", False) == ("h", [1001.5], 14)
    # the largest distance of any feature, on either side, must enter the store
    for low, high in (([1000, 3000], [1003, 3020]), ([1000, 3000], [1020, 3003])):
        assert centre(low, high, False, "h", False)[2] == 11
    assert centre([-1020], [-1000], False, "h", False)[2] == 11


def test_beyond_24_bits_whole_numbers_stay_whole_where_int16_holds_them():
    edge = 1 << 24
    for sign in (1, -1):
        for largest, code in ((edge, "f"), (edge + 2, "h"), (2 * edge, "h")):
            ends = sorted((sign * largest, sign * (largest - 8)))
            assert centre(ends[:1], ends[1:], True, "f")[0] == code, ends
            assert centre(ends[:1], ends[1:], True, "f", False)[0] == "h"
    for top, span, code in ((2099999000, 20, "h"), (2100001000, 100000, "f")):
        assert centre([top - span], [top], True, "f")[0] == code
        assert centre([-top], [span - top], True, "f")[0] == code
    assert "too far from 0" in refused(centre, [2100000980], [2100001000], True, "f")
    # products of what is left must still be floats
    assert centre([1e19], [1.0001e19], False, "f")[0] == "f"
    if hasattr(array("f"), "typecode"):  # where floats are wider than 32 bits
        for span, code in ((65534, "h"), (65535, "f"), (65540, "f"), (70000, "f")):
            found = centre([100000000], [100000000 + span], True, "f")
            assert found[0] == code, span
        assert "float32" in refused(centre, [1e20], [1.3e20], False, "f")


def test_only_wide_stores_are_moved_and_only_where_it_is_asked():
    y = b"\0\1"
    for rows, options, code in (
        ([[250, 100], [251, 101]], {}, "B"),
        ([[250, 100], [251, 101]], {"storage": "int16"}, "h moved"),
        ([[250, 100], [251, 101]], {"storage": "int16", "centre": False}, "h"),
        ([[2500, 100], [2510, 101]], {}, "h moved"),
        ([[2500, 100], [2510, 101]], {"centre": False}, "h"),
        ([[0, 100], [2510, 101]], {}, "h"),
        ([[250.5, 100], [251, 101]], {}, "f moved"),
        ([[250.5, 100], [251, 101]], {"floats": False}, "h moved"),
    ):
        found = prepared(rows, y, **options)
        moved = " moved" if found[6] is not None else ""
        assert found[1] + moved == code, (rows, options)
        assert len(found[0]) == 4 and found[3:5] == (2, 2)
        back = [v * 2.0 ** -found[2] for v in found[0]]
        if found[6] is not None:
            back = [back[k] + found[6].offset[k % 2] for k in range(4)]
        flat = [v for row in rows for v in row]
        assert all(abs(back[k] - flat[k]) < 0.01 for k in range(4)), (rows, back)


def test_scaled_whole_numbers_that_no_array_holds_are_scaled_as_real_ones():
    y = b"\0\1\0"
    for top, code in ((2000000000, "h"), (3000000000, "f")):
        for sign in (1, -1):
            rows = [[sign * top], [sign * (top - 1000000000)], [sign * (top - 500000000)]]
            found = prepared(rows, y, scale=True)
            assert found[1] == found[6].code == code and found[2] == found[6].shift
            assert found[5] == b"\0\1" and found[7] is None
            assert prepared(rows, y, scale=True, floats=False)[1] == "h"


def test_signed_bytes_stay_signed():
    y = b"\0\1"
    for kind in ("b", "B"):
        X = array(kind, [1, 127])
        found = prepared(X, y)
        assert found[0] is X and found[1] == kind
        assert data.code_of(X) == kind and data.code_of(memoryview(X)) in (kind, None)
    assert data.code_of([1]) is None and data.code_of(array("h", [1])) == "h"
    assert prepared([[1], [127]], y)[1] == "B" and prepared([[-1], [127]], y)[1] == "b"


def test_a_scale_for_fractions_may_fill_the_store_to_its_last_number():
    for code, top in (("B", 255), ("b", 127), ("h", 32767)):
        for shift in (-3, -2, -1, 1, 2, 3, 23, 24):
            assert data.shift_for(code, 0.0, top * 2.0**-shift, False, 1) == shift, (code, shift)
    # and the sum of d squares 30 bits
    for d, room in ((4, 16384), (16, 8192), (64, 4096)):
        assert data.shift_for("h", 0.0, room * 0.25, False, d) == 2
        assert data.shift_for("h", -room * 0.25, 0.0, False, d) == 2
        assert data.shift_for("h", 0.0, room * 0.2501, False, d) == 1


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


def test_whole_numbers_that_no_board_tells_apart_are_refused():
    """Beyond 31 bits nothing keeps them whole, and native code predicts in float32."""
    rows = ((1, 2), (2, 1), (1, 1), (8, 9), (9, 8), (8, 8))
    for far in (1 << 31, -(1 << 33)):
        for kernel in ("linear", "rbf"):
            X = [[value + far for value in row] for row in rows]
            error = refused(SVM(kernel=kernel).fit, X, bytes((0, 0, 0, 1, 1, 1)))
            assert "too far from 0" in error, error
    wide = [[(value << 31) for value in row] for row in rows]  # its range is as wide as it is far
    assert [SVM().fit(wide, bytes((0, 0, 0, 1, 1, 1))).predict(row) for row in wide] == [0] * 3 + [
        1
    ] * 3
