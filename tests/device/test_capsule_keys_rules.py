# SPDX-License-Identifier: MIT
"""A header that mends itself, which of two capsules is newer, and whom a key lets in."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY
from nor import NorFlash

from acclimate import _trust
from acclimate.store import CapsuleError
from acclimate.store.capsule import Checker, Head, Wanted

FLAGS, VERSION, EPOCH, SIGNATURE = 7, 12, 16, 52


def head_of(data):
    head = Head()
    for i in range(min(len(data), len(head.bytes))):
        head.bytes[i] = data[i]
    return head


def reason_of(call, *arguments):
    try:
        call(*arguments)
    except CapsuleError as error:
        return error.reason
    return None


# ---- one damaged byte --------------------------------------------------------------------------


def times(a, b):
    """The product in the field of 256 elements with x^8 + x^4 + x^3 + x^2 + 1, bit by bit."""
    product = 0
    for i in range(8):
        if b >> i & 1:
            product ^= a << i
    for i in range(14, 7, -1):
        if product >> i & 1:
            product ^= 0x11D << i - 8
    return product


def check_bytes(data):
    """P and Q of RAID 6: the sum of the bytes, and of the bytes times falling powers of 2."""
    p = q = 0
    power = 1
    for byte in reversed(bytes(data)):
        p ^= byte
        q ^= times(byte, power)
        power = times(power, 2)
    return p, q


def test_the_check_bytes_are_those_of_raid_6():
    for data in (BASE, bytes(144), bytes(range(144)), b"\x80" * 144):
        head = head_of(data)
        p, q = check_bytes(head.bytes)
        assert (head.parity() & 255, head.parity() >> 8) == (p, q)


def test_any_damaged_byte_of_a_header_is_set_right():
    for data in (BASE, bytes(range(144))):
        whole = head_of(data)
        kept = whole.parity()
        for at in range(len(whole.bytes)):
            for error in (1, 2, 0x55, 128, 255):
                head = head_of(data)
                head.bytes[at] ^= error
                assert head.mend(kept) is True and head.bytes == whole.bytes, (at, error)


def test_what_is_whole_or_damaged_in_two_places_is_left_as_it_is():
    kept = head_of(BASE).parity()
    # The last three look like one byte before the first: the 145th, 167th and 198th from the end.
    before_it = [((143, 1), (142, error)) for error in (22, 21, 3)]
    for damage in [(), ((5, 3), (9, 3)), ((0, 1), (143, 1)), ((20, 7), (21, 7))] + before_it:
        head = head_of(BASE)
        for at, error in damage:
            head.bytes[at] ^= error
        before = bytes(head.bytes)
        assert head.mend(kept) is False and head.bytes == before, damage


# ---- which is newer ----------------------------------------------------------------------------


def numbered(epoch, version, saves=0):
    head = head_of(BASE)
    head.bytes[EPOCH : EPOCH + 2] = bytes((epoch & 255, epoch >> 8))
    head.bytes[VERSION : VERSION + 4] = bytes((version & 255, version >> 8, 0, 0))
    head.bytes[FLAGS] = saves
    return head


def test_epoch_then_version_then_saves_say_which_is_newer():
    ordered = [(0, 9, 3), (1, 1, 0), (1, 1, 1), (1, 1, 128), (1, 2, 0), (255, 2, 0), (256, 1, 0)]
    for i in range(len(ordered) - 1):
        older, newer = numbered(*ordered[i]), numbered(*ordered[i + 1])
        assert newer.is_newer(older) is True, ordered[i]
        assert older.is_newer(newer) is False, ordered[i]
    same = numbered(1, 2, 3)
    assert same.is_newer(numbered(1, 2, 3)) is False


def test_the_count_of_saves_goes_round():
    base = numbered(0, 1, 250)
    for ahead, is_newer in ((1, True), (127, True), (128, False), (129, False), (255, False)):
        assert numbered(0, 1, 250 + ahead & 255).is_newer(base) is is_newer, ahead


# ---- bounds ------------------------------------------------------------------------------------


def bounded(type, value):
    """BASE with a third section that is a bound."""
    data = bytearray(BASE[:116]) + BASE[116:124]
    data += bytes((type, value & 255, value >> 8 & 255, value >> 16))
    data[6] = 3
    head = head_of(data)
    head.parse(len(data))
    return head


def test_a_bound_of_one_half_says_nothing_of_the_other():
    bounded(130, 0x0400).fits(Wanted(arch=0xFF, abi=4), 10000)
    bounded(130, 0x0003).fits(Wanted(arch=3, abi=0xFF), 10000)


def test_every_bit_of_a_bound_counts():
    for bit in range(24):
        value = 1 << bit
        for type, field in ((128, "board"), (129, "device")):
            head = bounded(type, value)
            head.fits(Wanted(**{field: value}), 10000)
            for other in (1 << (bit + 1) % 24, value ^ 1 << (bit + 7) % 24):
                assert reason_of(head.fits, Wanted(**{field: other}), 10000) == field, (bit, other)
    for bit in range(8):
        value = 1 << bit
        for shift, field in ((0, "arch"), (8, "abi")):
            head = bounded(130, value << shift)
            head.fits(Wanted(**{field: value}), 10000)
            other = value ^ 1 << (bit + 3) % 8
            assert reason_of(head.fits, Wanted(**{field: other}), 10000) == field


# ---- keys --------------------------------------------------------------------------------------


class Keys:
    """Stands for the Ed25519 keys of a board: what is asked of it, and what it refuses."""

    def __init__(self, refuses=False):
        self.asked = []
        self.refuses = refuses

    def check(self, data, n, role):
        self.asked.append(("check", bytes(data[:8]), n, role))
        if self.refuses:
            raise CapsuleError("authenticity", "not signed by a key of this board")

    def knows(self, data, n):
        self.asked.append(("knows", bytes(data[:8]), n))

    def meet(self, store):
        self.asked.append(("meet",))


def wanted_with(key, **options):
    wanted = Wanted(**options)
    wanted.key = key
    return wanted


def checker():
    return Checker(NorFlash(1024, 128), 64)


def test_public_keys_are_asked_for_what_came_from_outside_and_the_secret_for_a_save():
    keys = Keys()
    wanted = wanted_with(keys)
    wanted.secret = KEY
    head = head_of(BASE)
    checker().authentic(head, wanted)
    assert keys.asked == [("check", bytes(BASE[:8]), SIGNATURE, 1)]
    keys.asked.clear()
    head.bytes[FLAGS] = 1  # saved by the board: its own tag is wrong, and nobody else is asked
    assert reason_of(checker().authentic, head, wanted) == "authenticity"
    assert keys.asked == []
    flash = NorFlash(1024, 128)
    signer = Checker(flash, 64)
    head.bytes[EPOCH + 4 : EPOCH + 36] = bytes(32)
    signer.hasher.hmac(KEY, head.bytes, SIGNATURE + 32, signer._out)
    head.bytes[SIGNATURE + 32 : SIGNATURE + 64] = signer._out
    signer.authentic(head, wanted)
    assert keys.asked == [("knows", bytes(head.bytes[:8]), SIGNATURE)]


def test_a_save_keeps_whom_its_model_came_from_before_its_own_tag():
    """From outside these 32 bytes are zeros; the board's own tag covers them."""
    head, one = head_of(BASE), checker()
    for i in range(32):
        head.bytes[SIGNATURE + i] = 255 - i
    one.hasher.hmac(KEY, head.bytes, SIGNATURE + 32, one._out)
    head.bytes[SIGNATURE + 32 : SIGNATURE + 64] = one._out
    wanted = Wanted(key=KEY)
    one.signed(head.bytes, SIGNATURE, wanted, 0)
    assert reason_of(one.signed, head.bytes, SIGNATURE, wanted, 1) == "authenticity"
    head.bytes[SIGNATURE] ^= 1
    assert reason_of(one.signed, head.bytes, SIGNATURE, wanted, 0) == "authenticity"
    for at in (0, 15, 31):  # one of them is enough to be no release
        for i in range(32):
            head.bytes[SIGNATURE + i] = 5 if i == at else 0
        one.hasher.hmac(KEY, head.bytes, SIGNATURE + 32, one._out)
        head.bytes[SIGNATURE + 32 : SIGNATURE + 64] = one._out
        one.signed(head.bytes, SIGNATURE, wanted, 0)
        assert reason_of(one.signed, head.bytes, SIGNATURE, wanted, 1) == "authenticity", at


def test_a_save_under_an_hmac_key_asks_for_no_list_of_keys():
    head, one = head_of(BASE), checker()
    assert one.vouch is None
    head.bytes[FLAGS] = 1
    one.hasher.hmac(KEY, head.bytes, SIGNATURE + 32, one._out)
    head.bytes[SIGNATURE + 32 : SIGNATURE + 64] = one._out
    one.authentic(head, Wanted(key=KEY))


def test_a_board_s_own_secret_takes_the_place_of_the_key_where_there_is_one():
    secret = bytes(range(32))
    assert Wanted(key=KEY).secret == KEY and Wanted(key=KEY, secret=secret).secret == secret
    assert Wanted(secret=secret).secret == secret and Wanted().secret is None


def test_a_first_save_takes_the_origin_of_its_model_and_a_later_one_keeps_it():
    class Origins(Keys):
        def origin(self, old, new):
            self.asked.append(("origin", bytes(old[:8]), bytes(new[:8])))

    keys, head, old = Origins(), head_of(BASE), head_of(BASE)
    head.bytes[0] = 1  # to tell it from the old one
    for wanted, model, flags, is_asked in (
        (wanted_with(keys), old, 0, True),
        (wanted_with(keys), old, 1, False),  # saved by the board: it has one
        (wanted_with(keys), None, 0, False),
        (Wanted(key=KEY), old, 0, False),
    ):
        old.bytes[FLAGS] = flags
        keys.asked.clear()
        one = checker()
        one.hasher.reset()
        one.sign(head, wanted, model)
        told = ("origin", bytes(old.bytes[:8]), bytes(head.bytes[:8]))
        assert keys.asked == ([told] if is_asked else [])


def test_what_public_keys_refuse_is_refused():
    wanted = wanted_with(Keys(refuses=True), unsigned=True)
    assert reason_of(checker().authentic, head_of(BASE), wanted) == "authenticity"


def test_without_a_key_only_a_board_that_was_told_so_takes_what_comes_from_outside():
    for options, reason in (({}, "authenticity"), ({"unsigned": True}, None)):
        found = reason_of(checker().signed, head_of(BASE).bytes, SIGNATURE, Wanted(**options), 1)
        assert found == reason
    # with a key, `unsigned` changes nothing
    wanted = Wanted(key=KEY[:-1], unsigned=True)
    assert reason_of(checker().signed, head_of(BASE).bytes, SIGNATURE, wanted, 1) == "authenticity"


def test_the_path_of_a_key_is_read_where_the_board_has_what_reads_it():
    read = _trust.trusted
    _trust.trusted = lambda path: ("the key in " + path, b"its secret")
    try:
        wanted = Wanted(key="board.key", secret=b"another")
    finally:
        _trust.trusted = read
    assert wanted.key == "the key in board.key" and wanted.secret == b"its secret"


def test_whether_there_is_a_key_is_shown_and_no_key():
    for options, word in (({}, "unsigned"), ({"key": KEY}, "signed")):
        assert repr(Wanted(7, 2, **options)) == "Wanted(model=7, kind=2): " + word
