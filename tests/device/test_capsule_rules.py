# SPDX-License-Identifier: MIT
"""Each field of a capsule's header, its limits, and each byte of its digest and its tag."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY
from nor import NorFlash

from acclimate.store import CapsuleError
from acclimate.store.capsule import (
    META,
    OPERATORS,
    PROGRAM,
    WEIGHTS,
    Checker,
    Head,
    Wanted,
    epoch_of,
    number,
    put_number,
)

PAGE = 128


def raised(call, *arguments):
    try:
        call(*arguments)
    except CapsuleError as error:
        assert str(error).startswith("capsule refused, %s: " % error.reason)
        return error.reason
    return None


def header(sizes=(8, 5), bounds=(), **fields):
    """A header of sections of these sizes, types from 1 on; fields by offset: b16=1 or n8=300.

    :param bounds: (type, number) each, after the sections.
    """
    entries = [(i + 1, length) for i, length in enumerate(sizes)] + list(bounds)
    data = bytearray(116 + 4 * len(entries))
    data[:7] = b"ACAP\x02\x01" + bytes((len(entries),))
    for i, (type, length) in enumerate(entries):
        data[116 + 4 * i] = type
        for k in range(3):
            data[117 + 4 * i + k] = length >> 8 * k & 255
    for name, value in fields.items():
        if name[0] == "n":
            put_number(data, int(name[1:]), value)
        else:
            data[int(name[1:])] = value
    return data


def parsed(data, n=None):
    head = Head()
    n = min(144, len(data)) if n is None else n
    for i in range(min(n, len(data))):
        head.bytes[i] = data[i]
    head.parse(n)
    return head


def refused(data, n=None):
    """The reason, and that a Head that refused says of no size."""
    head = Head()
    head.size = 99
    for i in range(min(144, len(data))):
        head.bytes[i] = data[i]
    reason = raised(head.parse, min(144, len(data)) if n is None else n)
    assert head.size == 0 or reason is None
    return reason


def test_types_of_sections_have_their_numbers():
    assert (PROGRAM, WEIGHTS, OPERATORS, META) == (1, 2, 3, 4)


def test_sections_begin_at_multiples_of_four():
    head = parsed(header((1, 6, 3, 8)))
    assert head.size == 132
    assert [head.section_at(i) for i in range(4)] == [132, 136, 144, 148]
    assert [head.section_size(i) for i in range(4)] == [1, 6, 3, 8]
    assert [head.section_type(i) for i in range(4)] == [1, 2, 3, 4]
    assert head.total == 156  # filled up to a multiple of four, too
    assert [head.find(type) for type in range(6)] == [-1, 0, 1, 2, 3, -1]


def test_a_section_may_have_16_megabytes():
    head = parsed(header((0x030201, 0x010000)))
    assert head.section_size(0) == 0x030201 and head.section_size(1) == 0x010000
    assert head.section_at(1) == 124 + 0x030204


def test_of_two_sections_of_a_type_the_first_is_found():
    data = header((4, 4))
    data[120] = 1
    assert parsed(data).find(1) == 0


def test_bounds_take_no_bytes_wherever_they_stand():
    head = parsed(header((5, 6), ((128, 9), (130, 0x0304))))
    assert head.size == 132 and head.total == 132 + 8 + 8
    data = header((5, 6), ((128, 9),))
    data[116:120], data[124:128] = data[124:128], data[116:120]  # the bound comes first
    head = parsed(data)
    assert head.section_at(1) == 128 and head.section_at(2) == 136 and head.total == 144
    assert raised(head.fits, Wanted(board=8), 144) == "board"
    for type in (131, 200, 255):
        assert refused(header((5,), ((type, 0),))) == "table"


def test_each_field_is_read_where_it_stands():
    head = parsed(header(b5=3, b7=1, n8=0x01020304, n12=0x04030201, b16=5, b17=6, b18=7, b19=2))
    assert head.kind == 3 and head.is_local is True
    assert head.model == 0x01020304 and head.version == 0x04030201
    assert head.temperature == 0x0207 and epoch_of(head) == 0x0605
    assert parsed(header(b7=0)).is_local is False
    assert parsed(header(b7=2)).is_local is False
    assert parsed(header(b7=3)).is_local is True


def test_one_to_seven_sections():
    assert refused(header(())) == "truncated"
    assert refused(header((4,), b6=0)) == "table"
    for count in (1, 7):
        assert parsed(header((4,) * count)).size == 116 + 4 * count
    assert refused(header((4,) * 7, b6=8), 144) == "table"


def test_a_header_that_is_cut_is_truncated():
    data = header((4, 4, 4))
    for n in (0, 119):
        assert refused(data, n) == "truncated"
    assert refused(data, 127) == "truncated"
    assert refused(data, 128) is None
    one = header((4,))
    assert refused(one, 120) is None and refused(one, 119) == "truncated"


def test_each_letter_of_the_magic_and_the_format_count():
    for at in range(4):
        data = header()
        data[at] ^= 1
        assert refused(data) == "magic"
    for form in (0, 1, 3):
        assert refused(header(b4=form)) == "format"


def test_numbers_above_30_bits_are_refused():
    for field in (8, 12):
        assert refused(header(**{"b%d" % (field + 3): 64})) == "format"
        assert refused(header(**{"b%d" % (field + 3): 63})) is None


def test_numbers_lie_in_their_bytes():
    buffer = bytearray(b"\xff" * 6)
    put_number(buffer, 1, 0x3A0B0C0D)
    assert bytes(buffer) == b"\xff\x0d\x0c\x0b\x3a\xff"
    assert number(buffer, 1) == 0x3A0B0C0D
    buffer[4] = 63
    assert number(buffer, 1) == 0x3F0B0C0D
    buffer[4] = 64
    assert number(buffer, 1) == -1


def test_what_the_device_wants_is_compared_and_zero_is_anything():
    data = header((8, 5), ((128, 5), (129, 6), (130, 0x0403)), b5=2, n8=7)
    head = parsed(data)
    total = head.total
    head.fits(Wanted(), total)
    head.fits(Wanted(7, 2, 5, 6, 3, 4), total)
    for place, reason in enumerate(("model", "kind", "board", "device", "arch", "abi")):
        wanted = [7, 2, 5, 6, 3, 4]
        wanted[place] += 1
        assert raised(head.fits, Wanted(*wanted), total) == reason
        only = [0] * 6
        only[place] = 99
        assert raised(head.fits, Wanted(*only), total) == reason
    assert raised(head.fits, Wanted(), total - 1) == "oversized"
    # a capsule that names no board is for any; its model and kind it always names
    anywhere = parsed(header(b5=2, n8=7))
    anywhere.bytes[112:116] = b"\x63\x63\x63\x63"  # what stands before the table is no bound
    anywhere.fits(Wanted(7, 2, 5, 6, 3, 4), total)
    assert raised(parsed(header(b5=2)).fits, Wanted(model=7), total) == "model"
    assert raised(parsed(header(b5=0, n8=7)).fits, Wanted(kind=2), total) == "kind"


def test_keys_have_16_to_64_bytes():
    for n in (0, 15, 65):
        try:
            Wanted(key=bytes(n))
        except ValueError:
            continue
        raise AssertionError(n)
    for n in (16, 64):
        assert len(Wanted(key=bytes(n)).key) == n
    assert Wanted().key is None and Wanted(1, 2, 3, 4, 5, 6).code == 0x0605


# ---- digest and tag ----------------------------------------------------------------------------


class Unmapped(NorFlash):
    """A flash that is not in the address space."""

    def __init__(self, size, *rest):
        super().__init__(size, *rest)
        self.view = None


def flashes(start):
    """Flashes, mapped or not, that hold BASE at a place."""
    for kind in (NorFlash, Unmapped):
        flash = kind(8 * PAGE, PAGE)
        flash.data[start : start + len(BASE)] = BASE
        yield flash


def test_the_whole_capsule_is_digested_wherever_it_lies():
    last = 8 * PAGE - len(BASE)
    for start in (0, 2 * PAGE, last - last % 4, last):
        for flash in flashes(start):
            for chunk in (64, 65, 67, 68, 100, 128):  # the last piece has 4, 2, 65, 64, 32, 4
                checker = Checker(flash, chunk)
                checker.intact(parsed(BASE), start)
                assert raised(lambda: list(checker.steps(parsed(BASE), start))) is None  # noqa: B023


def test_a_changed_byte_is_found_wherever_it_is():
    for flash in flashes(2 * PAGE):
        checker, head = Checker(flash, 64), parsed(BASE)
        for at in list(range(head.size, len(BASE), 13)) + [head.size, len(BASE) - 1]:
            flash.data[2 * PAGE + at] ^= 16
            assert raised(checker.intact, head, 2 * PAGE) == "integrity"
            assert raised(lambda: list(checker.steps(head, 2 * PAGE))) == "integrity"  # noqa: B023
            flash.data[2 * PAGE + at] ^= 16
        checker.intact(head, 2 * PAGE)


def test_what_lies_behind_the_capsule_does_not_matter():
    for flash in flashes(2 * PAGE):
        flash.data[2 * PAGE + len(BASE)] = 0
        Checker(flash, 64).intact(parsed(BASE), 2 * PAGE)


def test_each_byte_of_the_digest_and_of_the_tag_counts():
    flash = next(flashes(0))
    checker, wanted = Checker(flash, 64), Wanted(key=KEY)
    for at in range(32):
        data = bytearray(BASE)
        data[20 + at] ^= 1
        assert raised(checker.intact, parsed(data), 0) == "integrity"
        assert raised(checker.authentic, parsed(data), wanted) == "authenticity"
        for place in (52, 84):  # the zeros before the tag, and the tag
            data = bytearray(BASE)
            data[place + at] ^= 1
            checker.intact(parsed(data), 0)
            assert raised(checker.authentic, parsed(data), wanted) == "authenticity"


def test_the_digest_covers_the_header_and_the_table():
    flash = next(flashes(0))
    checker = Checker(flash, 64)
    for at in (5, 7, 8, 12, 16, 18, 19, 116, 120):
        head = parsed(BASE)
        head.bytes[at] ^= 1
        assert raised(checker.intact, head, 0) == "integrity", at


def test_another_key_is_refused_and_none_takes_anything():
    checker = Checker(next(flashes(0)), 64)
    checker.authentic(parsed(BASE), Wanted(key=KEY))
    assert raised(checker.authentic, parsed(BASE), Wanted(key=KEY[:-1])) == "authenticity"
    assert raised(checker.authentic, parsed(BASE), Wanted()) is None


def test_steps_pause_after_each_kilobyte():
    for kind in (NorFlash, Unmapped):
        data = bytearray(header((5000,)))
        flash = kind(64 * PAGE, PAGE)
        checker, head = Checker(flash, 64), parsed(data)
        checker.begin(head)
        at = head.size
        while at < head.total:
            at += checker.take(at, head.total - at)
        checker.sign(head, Wanted(key=KEY))
        pauses = list(checker.steps(head, 0))
        assert len(pauses) == 4 and pauses == sorted(pauses)
        gaps = [b - a for a, b in zip([head.size] + pauses, pauses + [head.total])]  # noqa: B905
        assert all(1024 <= gap < 1024 + 1088 for gap in gaps[:-1]) and gaps[-1] < 2112


def test_what_is_signed_here_is_authentic_and_intact():
    flash = next(flashes(0))
    checker, head = Checker(flash, 64), parsed(BASE)
    for key in (KEY, None):
        for i in list(range(20, 52)) + list(range(84, 116)):
            head.bytes[i] = 0xA5
        checker.begin(head)
        at = head.size
        while at < head.total:
            at += checker.take(at, head.total - at)
        checker.sign(head, Wanted(key=key))
        checker.intact(head, 0)
        assert bytes(head.bytes[:84]) == BASE[:84]
        assert bytes(head.bytes[84:116]) == (BASE[84:116] if key else b"\xa5" * 32)
        assert bytes(head.bytes[116:124]) == BASE[116:124]
