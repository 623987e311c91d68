# SPDX-License-Identifier: MIT
"""A Receiver packet by packet: what it answers, what it passes over, and what it refuses."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, TARGET, UPDATE
from pull_cases import PAGE, half_pulled, large, new
from store_cases import model
from test_pull_sealed_rules import OBJECT_KEY, sealed

from acclimate import _crc as crc
from acclimate.pull import Receiver
from acclimate.pull.blocks import ASK, DATA, IDLE, OFFER, READY, REFUSED, STATUS, WANTS
from acclimate.store import Store

SESSION = 0x1234


def whole(body):
    """A packet with its CRC-32 behind it."""
    out = bytearray(4)
    crc.start(out)
    crc.update(out, body, 0, len(body))
    crc.finish(out)
    return bytes(body) + bytes(out)


def packet(kind, body=b"", session=SESSION):
    return whole(bytes((kind, session & 255, session >> 8)) + bytes(body))


def small(value, n):
    return bytes([value >> 8 * i & 255 for i in range(n)])


def offer(size, block, mark=b"mark", session=SESSION):
    return packet(OFFER, small(size, 4) + small(block, 2) + mark, session)


def data(number, content, session=SESSION):
    return packet(DATA, small(number, 2) + bytes(content), session)


def blocks_of(content, block):
    return [content[at : at + block] for at in range(0, len(content), block)]


def take(receiver, what):
    return receiver.take(what, len(what))


def said(answer, session=SESSION):
    """(state, first block, bits or reason) of a status."""
    answer = bytes(answer)
    assert answer == whole(answer[:-4]) and answer[:3] == bytes((STATUS,)) + small(session, 2)
    return answer[3], answer[4] | answer[5] << 8, answer[6:-4]


def begun(content=TARGET, block=32, window=8, block_bytes=240, store=None, **options):
    receiver = Receiver(store or new(), window, block_bytes, **options)
    answer = take(receiver, offer(len(content), block))
    return receiver, answer


def raised(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("expected ValueError")


def test_kinds_and_states_have_their_numbers():
    assert (OFFER, DATA, STATUS, ASK) == (1, 2, 3, 4)
    assert (IDLE, WANTS, READY, REFUSED) == (0, 1, 2, 3)


def test_a_window_has_1_to_64_blocks_of_8_to_1024_bytes():
    store = new()
    for window, block in ((0, 240), (65, 240), (8, 7), (8, 1025)):
        assert "window %d, block %d" % (window, block) in raised(
            lambda w=window, b=block: Receiver(store, w, b)
        )
    for window, block in ((1, 8), (64, 1024)):
        assert Receiver(store, window, block).state == IDLE
    made = Receiver(store)
    assert (made.window, made.block_max, made.any_version) == (8, 240, False)


def test_an_offer_is_answered_with_what_is_missing():
    for window, bits in ((1, b"\1"), (3, b"\7"), (8, b"\xff"), (20, b"\xff\0\0"), (64, b"\xff")):
        receiver, answer = begun(window=window)  # of 8 blocks
        assert said(answer) == (WANTS, 0, (bits + bytes(7))[: (window + 7) // 8]), window
        assert receiver.state == WANTS
    # the same offer changes nothing; one of another file begins anew
    receiver, _ = begun()
    take(receiver, data(0, TARGET[:32]))
    again = offer(len(TARGET), 32)
    assert said(take(receiver, again)) == (WANTS, 1, b"\x7f")
    assert said(take(receiver, packet(ASK))) == (WANTS, 1, b"\x7f")
    assert said(take(receiver, offer(len(TARGET), 32, b"Mark"))) == (WANTS, 0, b"\xff")
    take(receiver, data(0, TARGET[:32]))
    other = offer(len(TARGET), 32, session=7)
    assert said(take(receiver, other), 7) == (WANTS, 0, b"\xff")


def test_an_answer_is_no_longer_than_a_packet_with_a_block():
    for window in (8, 64):
        for block in (8, 9, 32):
            receiver, answer = begun(large(6000), block, window, store=new(130))
            state, first, bits = said(answer)
            assert len(answer) <= block + 9 and bits == b"\xff" * min(block - 1, window // 8)
    receiver, _ = begun(block=8)
    assert said(take(receiver, offer(5, 8, b"tiny"))) == (REFUSED, 0, b"size")


def test_whatever_is_damaged_is_passed_over():
    for what in (offer(len(TARGET), 32), packet(ASK), data(0, TARGET[:32])):
        receiver, _ = begun()
        before = said(receiver.status())
        for at in range(len(what)):
            bad = bytearray(what)
            bad[at] ^= 1
            assert take(receiver, bad) is None and said(receiver.status()) == before, at
        for n in range(len(what)):
            assert receiver.take(what, n) is None
        assert said(receiver.status()) == before


def test_what_is_not_of_this_transfer_is_passed_over():
    receiver = Receiver(new())
    for early in (packet(ASK), data(0, bytes(32))):
        assert take(receiver, early) is None and receiver.state == IDLE
    assert take(receiver, packet(ASK, session=0xFFFF)) is None  # of no session
    receiver, _ = begun()
    for other in (
        packet(ASK, session=SESSION + 1),
        packet(ASK, session=SESSION + 256),
        data(0, TARGET[:32], SESSION - 1),
        packet(0),
        packet(STATUS, b"\1\0\0"),
        packet(5),
        packet(OFFER, bytes(9)),
        packet(OFFER, bytes(11)),
        packet(DATA, b"\0\0"),
        packet(DATA, b"\0"),
    ):
        assert take(receiver, other) is None
        assert said(receiver.status()) == (WANTS, 0, b"\xff")


def test_blocks_and_sizes_that_cannot_be_are_refused():
    for block, state in ((0, REFUSED), (7, REFUSED), (8, WANTS), (64, WANTS), (65, REFUSED)):
        receiver = Receiver(new(), 8, 64)
        found = said(take(receiver, offer(len(TARGET), block)))
        assert found[0] == receiver.state == state, block
        assert receiver.reason == ("block" if state == REFUSED else "")
    for size, block, state in (
        (0, 8, REFUSED),
        (72, 8, REFUSED),
        (73, 8, WANTS),
        (65535 * 8, 8, WANTS),
        (65535 * 8 + 1, 8, REFUSED),
        (0x01000000, 512, WANTS),
        (0x02000000, 512, REFUSED),
    ):
        receiver = Receiver(new(), 8, 512)
        found = said(take(receiver, offer(size, block)))
        assert found[0] == state, size
        assert found[2] == b"size" if state == REFUSED else found[2] != b""
    # after a refusal no block is taken, and a new offer may be good
    assert take(receiver, data(0, bytes(512))) is None
    assert said(take(receiver, packet(ASK)))[0] == REFUSED
    assert said(take(receiver, offer(len(TARGET), 32, b"next")))[0] == WANTS == receiver.state


def test_blocks_are_held_until_those_before_them_have_come():
    pieces = blocks_of(TARGET, 32)
    receiver, _ = begun()
    for number, bits in ((2, b"\xfb"), (7, b"\x7b"), (1, b"\x79")):
        assert take(receiver, data(number, pieces[number])) is None
        assert said(receiver.status()) == (WANTS, 0, bits)
        assert take(receiver, data(number, bytes(32))) is None  # it is here already
    # the first one sets three free; that several went on is told
    assert said(take(receiver, data(0, pieces[0]))) == (WANTS, 3, b"\x0f")
    for number in (0, 2, 8, 9, 300):
        assert take(receiver, data(number, bytes(32))) is None
    for wrong in (pieces[3][:-1], pieces[3] + b"x", b"x"):
        assert take(receiver, data(3, wrong)) is None
    assert said(receiver.status()) == (WANTS, 3, b"\x0f")
    for number in (3, 4, 5):
        assert take(receiver, data(number, pieces[number])) is None
    assert said(take(receiver, data(6, pieces[6]))) == (READY, 8, b"\0")
    assert receiver.store.state == "verified"
    assert take(receiver, data(7, pieces[7])) is None  # it is over
    receiver.store.confirm()
    assert model(receiver.store) == TARGET


def test_each_window_that_is_full_is_told():
    content = large(1024)
    for window in (1, 4, 5):
        receiver, _ = begun(content, 32, window, store=new(40))
        told = []
        for number, piece in enumerate(blocks_of(content, 32)):
            answer = take(receiver, data(number, piece))
            if answer:
                told.append(said(answer)[:2])
        wanted = [(WANTS, n) for n in range(1, 32) if n % window == 0] + [(READY, 32)]
        assert told == wanted, window


def test_the_last_block_has_what_is_left():
    for block in (31, 40, 200):
        receiver, _ = begun(block=block)
        pieces = blocks_of(TARGET, block)
        last = len(pieces) - 1
        for wrong in (pieces[last] + b"x", pieces[last][:-1]):
            if len(wrong) != block or len(pieces[last]) != block:
                assert take(receiver, data(last, wrong)) is None
        assert said(receiver.status())[1] == 0
        for number, piece in enumerate(pieces):
            answer = take(receiver, data(number, piece))
        assert said(answer)[0] == READY == receiver.state


def pushed(receiver, content, block=32):
    """Give all blocks; return (state, bits or reason) of the last answer."""
    answer = None
    for number, piece in enumerate(blocks_of(content, block)):
        answer = take(receiver, data(number, piece)) or answer
    state, _, text = said(answer)
    return state, text


def test_what_the_store_refuses_is_named():
    store = new()
    store.swap_capsule(TARGET)
    steps = store.flash.steps
    receiver, _ = begun(store=store)
    assert pushed(receiver, TARGET) == (REFUSED, b"version") and receiver.reason == "version"
    assert store.flash.steps == steps
    receiver, _ = begun(store=store, any_version=True)
    assert pushed(receiver, TARGET)[0] == READY
    bad = bytearray(TARGET)
    bad[-1] ^= 1
    receiver, _ = begun(bad)
    assert pushed(receiver, bad) == (REFUSED, b"integrity")
    assert model(receiver.store) == BASE
    for content in (TARGET + bytes(4), TARGET[:-4]):  # not as long as it says itself
        store = new()
        steps = store.flash.steps
        receiver, _ = begun(content, store=store)
        assert pushed(receiver, content) == (REFUSED, b"truncated")
        assert store.flash.steps == steps
    sealed = b"AENC" + TARGET[4:]
    receiver, _ = begun(sealed)
    assert pushed(receiver, sealed) == (REFUSED, b"encryption")


def test_a_store_that_is_not_ready_is_named():
    store = new()
    receiver, _ = begun(store=store)
    assert pushed(receiver, TARGET)[0] == READY
    store.trial()
    receiver, _ = begun(store=store, any_version=True)
    assert pushed(receiver, TARGET) == (REFUSED, b"store not ready")
    assert model(store) == TARGET


def test_an_update_is_told_by_its_first_bytes():
    for block in (8, 32, 200):
        receiver, _ = begun(UPDATE, block)
        assert pushed(receiver, UPDATE, block)[0] == READY
        receiver.store.confirm()
        assert model(receiver.store) == TARGET
    for at in range(4):  # else it is a capsule, and a wrong one
        bad = bytearray(UPDATE)
        bad[at] ^= 1
        receiver, _ = begun(bad)
        assert pushed(receiver, bad) == (REFUSED, b"magic"), at


def test_after_a_reset_whole_blocks_that_the_flash_holds_are_not_asked_for():
    for written in (PAGE, 3 * PAGE, 8 * PAGE):
        for block in (40, 128):
            store, content = half_pulled(written, 2000, 60)
            receiver, _ = begun(content, block, store=store)
            pieces = blocks_of(content, block)
            first = -(-144 // block)  # blocks of the header
            for number in range(first):
                take(receiver, data(number, pieces[number]))
            start = max(written - PAGE, first * block) // block
            assert said(receiver.status())[1] == max(first, start), (written, block)
            for number in range(max(first, start), len(pieces)):
                answer = take(receiver, data(number, pieces[number]))
            assert said(answer)[0] == READY
            store.confirm()
            assert model(store) == content
            assert model(Store(store.flash, store.wanted, chunk_bytes=64)) == content


def test_a_block_that_came_early_and_is_not_needed_leaves_its_place():
    store, content = half_pulled(3 * PAGE, 2000, 60)
    receiver, _ = begun(content, 40, store=store)
    pieces = blocks_of(content, 40)
    for number in (5, 0, 1, 2, 3):
        take(receiver, data(number, pieces[number]))
    assert said(receiver.status())[1:] == (6, b"\xff")
    for number in range(6, len(pieces)):
        answer = take(receiver, data(number, pieces[number]))
    assert said(answer)[0] == READY


# ---- encrypted files ---------------------------------------------------------------------------


def test_an_encrypted_file_is_taken_with_its_key():
    for plain in (TARGET, UPDATE):
        for block in (32, 200):
            content = sealed(plain, TARGET[20:52])
            receiver, answer = begun(content, block, object_key=OBJECT_KEY)
            assert said(answer)[0] == WANTS
            assert pushed(receiver, content, block)[0] == READY
            receiver.store.confirm()
            assert model(receiver.store) == TARGET


def test_with_a_key_for_objects_nothing_else_is_taken():
    content = sealed(TARGET, TARGET[20:52])
    other = bytes(32)
    store = new()
    steps = store.flash.steps
    for what, key, reason in (
        (TARGET, OBJECT_KEY, b"encryption"),
        (content, other, b"encryption"),
        (content, None, b"encryption"),
    ):
        receiver, _ = begun(what, store=store, object_key=key)
        assert pushed(receiver, what) == (REFUSED, reason)
    for size in (1, 72, 73, 88, 89, 72 + 16 + 72, 72 + 512 + 16 + 5):  # no encryption makes them
        receiver = Receiver(store, object_key=OBJECT_KEY)
        state, _, reason = said(take(receiver, offer(size, 32)))
        assert (state, reason) == (REFUSED, b"size"), size
    assert said(take(Receiver(store, object_key=OBJECT_KEY), offer(72 + 16 + 73, 32)))[0] == WANTS
    assert store.flash.steps == steps


def test_before_an_offer_a_status_says_that_nothing_is_wanted():
    receiver = Receiver(new(), 8, 64)
    assert said(receiver.status(), 0xFFFF) == (IDLE, 0, b"\0")
    assert take(receiver, packet(ASK)) is None  # and nobody is answered
