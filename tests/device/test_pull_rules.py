# SPDX-License-Identifier: MIT
"""Manifests and pulls without a socket: what is taken, and what is refused before any erase."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET
from pull_cases import (
    PAGE,
    URL,
    WHOLE,
    asked,
    begun,
    give,
    half_pulled,
    large,
    manifest,
    name_of,
    new,
    part,
    reply,
)
from store_cases import model, raised

from acclimate import _crc as crc
from acclimate._digest import Hasher
from acclimate.flash import FlashError
from acclimate.pull import HttpError, exchange
from acclimate.pull.exchange import Pull, Refused
from acclimate.pull.manifest import Manifest, in_rollout
from acclimate.store import CapsuleError, Store
from acclimate.store.capsule import Wanted, put_number

# ---- the manifest ------------------------------------------------------------------------------


def taken(data, pieces=420):
    found = Manifest()
    for at in range(0, len(data), pieces):
        piece = data[at : at + pieces]
        found.add(memoryview(piece), len(piece))
    return found


def reason(data, wanted=None):
    store = new(base=None)
    store.wanted = wanted or Wanted(model=7, key=KEY)
    try:
        taken(data).check(store, b"all")
    except CapsuleError as error:
        return error.reason
    return None


def test_a_manifest_says_what_the_newest_capsule_is():
    for pieces in (1, 7, 420):
        found = taken(manifest(percent=40), pieces)
        found.check(new(base=None), b"all")
        assert found.version == TARGET[12] and found.total == len(TARGET)
        assert found.percent == 40
        assert found.have == 68 + 36 + 64
    found = taken(manifest(n12=0x01020304, n24=0x04030201))
    assert (found.version, found.total) == (0x01020304, 0x04030201)


def test_each_byte_of_the_manifest_s_tag_counts():
    good = manifest()
    assert reason(good) is None
    for at in range(len(good) - 64, len(good)):
        bad = bytearray(good)
        bad[at] ^= 1
        assert reason(bad) == "authenticity", at


def test_each_signed_byte_counts():
    good = manifest(percent=40)
    for at in [6] + list(range(8, len(good) - 64)):
        bad = bytearray(good)
        bad[at] ^= 1
        assert reason(bad) == "authenticity", at
    assert reason(manifest(key=KEY[:-1])) == "authenticity"
    assert reason(manifest(key=None)) == "authenticity"
    assert reason(manifest(key=None), Wanted(model=7)) == "authenticity"
    assert reason(manifest(key=None), Wanted(model=7, unsigned=True)) is None


def test_what_is_no_manifest_is_named():
    for at in range(4):
        bad = manifest()
        bad[at] ^= 1
        assert reason(bad) == "magic"
    assert reason(manifest()[:67]) == "magic"
    assert reason(b"") == "magic"
    assert reason(manifest()[:68]) == "truncated"
    assert reason(manifest()[:-1]) == "truncated"
    assert reason(manifest() + b"x") == "truncated"
    for form in (0, 1, 3):
        assert reason(manifest(b4=form)) == "format"
    assert reason(manifest(b7=1)) == "encryption"  # no key for objects here
    assert reason(manifest(b7=2)) == reason(manifest(b7=128)) == "format"
    assert reason(manifest(b6=101)) == "format"
    assert reason(manifest(entries=[])) == "table"
    assert reason(manifest(b5=9)) == "table"
    assert reason(manifest(b5=2)) == "truncated"
    assert reason(manifest(entries=[(WHOLE, len(TARGET))] * 8)) is None


def test_numbers_of_a_manifest_have_30_bits():
    for field in (8, 12, 20, 24):
        wanted = Wanted(key=KEY)
        assert reason(manifest(**{"b%d" % (field + 3): 64}), wanted) == "format"
        assert reason(manifest(**{"b%d" % (field + 3): 63}), wanted) is None


def test_a_manifest_is_for_the_device_s_model():
    assert reason(manifest(n8=8)) == "model"
    assert reason(manifest(n8=8), Wanted(key=KEY)) is None
    assert reason(manifest(n8=8), Wanted(model=8, key=KEY)) is None


def test_a_manifest_has_at_most_420_bytes():
    found = Manifest()
    found.add(memoryview(bytes(420)), 420)
    assert found.have == 420
    assert raised(CapsuleError, found.add, memoryview(b"x"), 1).reason == "oversized"
    found = Manifest()
    assert raised(CapsuleError, found.add, memoryview(bytes(421)), 421).reason == "oversized"
    assert found.have == 0


def test_only_n_bytes_of_a_buffer_are_added():
    found = Manifest()
    found.add(memoryview(b"abcd"), 2)
    found.add(memoryview(b"xyz"), 1)
    assert bytes(found.bytes[:4]) == b"abx\0" and found.have == 3


def test_a_capsule_is_named_by_its_whole_digest():
    found = taken(manifest())
    assert found.names(TARGET) and not found.names(BASE)
    for at in range(20, 52):
        other = bytearray(TARGET)
        other[at] ^= 1
        assert not found.names(other), at
    found.shrink()
    assert len(found.bytes) == 68 and found.names(TARGET) and found.version == TARGET[12]


def hexed(i):
    return "".join("%02x" % byte for byte in name_of(i))


def test_the_smallest_file_that_the_device_can_use_is_chosen():
    base = bytes(BASE[20:36])
    size = len(TARGET)
    other = bytes((base[0] ^ 1,)) + base[1:]
    last = base[:-1] + bytes((base[-1] ^ 1,))
    for entries, known, wanted in (
        ([(WHOLE, size)], None, (True, size, 0)),
        ([(WHOLE, size)], BASE, (True, size, 0)),
        ([(WHOLE, size), (base, 50)], BASE, (False, 50, 1)),
        ([(base, 50), (WHOLE, size)], BASE, (False, 50, 0)),
        ([(base, 50), (WHOLE, size)], None, (True, size, 1)),
        ([(other, 10), (WHOLE, size), (last, 10)], BASE, (True, size, 1)),
        ([(WHOLE, size), (base, size + 1)], BASE, (True, size, 0)),
        ([(WHOLE, size), (base, size)], BASE, (True, size, 0)),
        ([(base, 60), (base, 50), (base, 55)], BASE, (False, 50, 1)),
    ):
        whole, found, name = taken(manifest(entries=entries)).choose(known)
        assert (whole, found, name) == wanted[:2] + (hexed(wanted[2]),), entries


def test_where_no_file_fits_the_base_that_is_said():
    base = bytes(BASE[20:36])
    for known in (None, TARGET):
        found = taken(manifest(entries=[(base, 50)]))
        assert raised(CapsuleError, found.choose, known).reason == "base"


def test_a_size_that_cannot_be_is_refused():
    found = taken(manifest(entries=[(WHOLE, len(TARGET) + 1)]))
    assert raised(CapsuleError, found.choose, None).reason == "format"
    found = taken(manifest(b87=64))
    assert raised(CapsuleError, found.choose, None).reason == "format"
    base = bytes(BASE[20:36])
    found = taken(manifest(entries=[(WHOLE, len(TARGET)), (base, 9)], b123=64))
    assert raised(CapsuleError, found.choose, BASE).reason == "format"


def test_a_rollout_is_drawn_from_all_bytes_of_device_and_version():
    def share(device, version):
        word = bytearray(8)
        put_number(word, 0, device)
        put_number(word, 4, version)
        out = bytearray(4)
        crc.start(out)
        crc.update(out, word, 0, 8)
        crc.finish(out)
        return (out[0] | out[1] << 8) % 100

    for device in (0, 1, 300, 70000, 0x12345678):
        for version in (1, 2, 259, 0x01020304):
            percent = share(device, version)
            assert not in_rollout(device, version, percent)
            assert in_rollout(device, version, percent + 1)
            assert in_rollout(device, version, 100) and not in_rollout(device, version, 0)


# ---- the pull ----------------------------------------------------------------------------------


def test_a_capsule_is_pulled_in_two_requests():
    for pieces in (1, 50, 500):
        store = new()
        pull = begun(store)
        assert pull.etag == '"e"' and not pull.is_ready and pull.reason == ""
        assert asked(pull) == ("/objects/" + hexed(0), 0)
        assert give(pull, reply(TARGET), pieces)
        assert pull.is_ready and pull.request() is None and store.state == "verified"
        store.confirm()
        assert model(store) == TARGET


def test_one_byte_is_a_gain_once():
    assert exchange.Part(new(), None, 9, False).gained() is False
    part = exchange.Part(new(), None, 9, False)
    part.have = 1
    assert part.gained() is True and part.gained() is False


def test_a_part_that_nobody_asked_for_is_no_manifest():
    pull = Pull(new(), URL)
    pull.request()
    assert raised(CapsuleError, give, pull, part(manifest(), 0)).reason == "magic"
    assert pull.manifest.have == 0


def test_what_is_known_is_not_asked_for_again():
    store = new()
    pull = Pull(store, URL, etag='"e"')
    assert b'If-None-Match: "e"' in bytes(pull.request()[3])
    assert give(pull, reply(b"", "304 Not Modified"))
    assert pull.request() is None and pull.reason == "unchanged" and not pull.is_ready
    # for the object itself no tag is sent, and 304 is no answer to it
    pull = begun(store)
    assert b"If-None-Match" not in bytes(pull.request()[3])
    raised(Refused, give, pull, reply(b"", "304 Not Modified"))


def test_a_model_that_is_not_newer_is_left():
    store = new()
    store.swap_capsule(TARGET)
    pull = begun(store)
    assert pull.reason == "current" and pull.request() is None and not pull.is_ready
    pull = begun(store, any_version=True)
    pull.request()
    assert give(pull, reply(TARGET)) and pull.is_ready


def test_a_device_outside_of_the_rollout_waits():
    store, fields = new(), {"percent": 50}
    inside = [device for device in range(40) if in_rollout(device, TARGET[12], 50)]
    outside = [device for device in range(40) if device not in inside]
    pull = begun(store, fields=fields, device=outside[0])
    assert pull.reason == "not in this rollout" and pull.request() is None
    pull = begun(store, fields=fields, device=inside[0])
    assert pull.reason == "" and pull.request() is not None


def test_a_capsule_that_no_slot_holds_is_refused_before_it_is_fetched():
    store = new()
    size = store.slots.bytes
    steps = store.flash.steps
    fields = {"n24": size + 1}
    pull = Pull(store, URL)
    pull.request()
    data = reply(manifest(entries=[(WHOLE, size + 1)], **fields))
    assert raised(CapsuleError, give, pull, data).reason == "oversized"
    assert store.flash.steps == steps
    pull = begun(store, [(WHOLE, size)], fields={"n24": size})
    assert pull.request() is not None


def test_a_manifest_that_is_not_signed_is_refused_before_anything_is_fetched():
    store = new()
    pull = Pull(store, URL)
    pull.request()
    data = reply(manifest(key=KEY[:-1]))
    assert raised(CapsuleError, give, pull, data).reason == "authenticity"


def test_what_waits_already_is_not_fetched_again():
    store = new()
    pull = begun(store)
    pull.request()
    give(pull, reply(TARGET))
    again = begun(store)
    assert again.is_ready and again.reason == "here already" and again.request() is None
    # another one that waits there does not count
    other = bytearray(TARGET)
    other[40] ^= 1
    again = begun(store, capsule=other)
    assert not again.is_ready and again.request() is not None


def test_an_update_is_asked_for_only_with_its_base_and_if_wanted():
    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)]
    assert asked(begun(new(), entries))[0] == "/objects/" + hexed(1)
    assert asked(begun(new(), entries, whole_only=True))[0] == "/objects/" + hexed(0)
    assert asked(begun(new(base=None), entries))[0] == "/objects/" + hexed(0)
    # a damaged model is no base, though its header is still there
    store = new()
    store.flash.data[store.slots.start(store.active) + 150] ^= 255
    store = Store(store.flash, store.wanted, chunk_bytes=64)
    assert store.active is None
    assert asked(begun(store, entries))[0] == "/objects/" + hexed(0)


def test_without_room_for_an_update_the_whole_capsule_is_taken():
    real = exchange._Update

    def no_room(*arguments):
        raise MemoryError("no room")

    exchange._Update = no_room
    try:
        pull = begun(new(), [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)])
        assert asked(pull)[0] == "/objects/" + hexed(0) and pull.etag == '"e"'
        assert give(pull, reply(TARGET)) and pull.is_ready
    finally:
        exchange._Update = real


def test_without_room_for_a_whole_capsule_that_is_said():
    real = exchange._Whole

    def no_room(*arguments):
        raise MemoryError("no room")

    exchange._Whole = no_room
    try:
        raised(MemoryError, begun, new())
    finally:
        exchange._Whole = real


def test_another_capsule_than_the_manifest_s_is_refused():
    other = bytearray(TARGET)
    other[18] ^= 1  # signed with the same key, but not the one that was named
    hasher, out = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(other, 20)
    hasher.update(bytes(other[116:]), len(other) - 116)
    hasher.into(out)
    other[20:52] = out
    hasher.hmac(KEY, other, 84, out)
    other[84:116] = out
    store = new()
    pull = begun(store)
    pull.request()
    assert raised(CapsuleError, give, pull, reply(other)).reason == "integrity"
    assert store.state == "confirmed" and model(store) == BASE


def test_an_update_that_makes_another_capsule_than_the_manifest_s_is_undone():
    class Other(exchange.Part):
        """A file that brings BASE with another version, whatever came."""

        def take(self, view, n):
            self.have += n
            return n

        def close(self):
            self.store.stage(BASE, len(BASE), True)
            self.store.write(BASE, len(BASE))
            self.store.finish()

    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)]
    real, exchange._Update = exchange._Update, Other
    try:
        store = new()
        pull = begun(store, entries)
        assert asked(pull)[0] == "/objects/" + hexed(1)
        assert give(pull, reply(bytes(60)))
        assert not pull.is_ready and store.state == "rolled back" and model(store) == BASE
    finally:
        exchange._Update = real
    # then the whole capsule is asked for, once
    assert asked(pull) == ("/models/7/all.man", 0) and give(pull, reply(manifest(TARGET, entries)))
    assert asked(pull)[0] == "/objects/" + hexed(0)
    assert give(pull, reply(TARGET)) and pull.is_ready and store.state == "verified"


def test_after_an_update_that_failed_a_whole_capsule_that_fails_ends_the_pull():
    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)]
    for by_end in (False, True):
        store = new()
        pull = begun(store, entries)
        assert asked(pull)[0] == "/objects/" + hexed(1)
        if by_end:
            assert not give(pull, b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 10)
            pull.end()
        else:
            assert give(pull, reply(b"x" * 60))
        assert asked(pull) == ("/models/7/all.man", 0) and give(
            pull, reply(manifest(TARGET, entries))
        )
        assert asked(pull)[0] == "/objects/" + hexed(0)
        bad = bytearray(TARGET)
        bad[-1] ^= 1
        raised(CapsuleError, give, pull, reply(bad))
        assert not pull.is_ready and model(store) == BASE


def test_a_file_of_another_length_is_refused_at_its_header():
    for change, reason in ((-1, "truncated"), (1, "oversized")):
        store = new()
        steps = store.flash.steps
        pull = begun(store)
        pull.request()
        data = reply(TARGET, length=len(TARGET) + change)
        assert raised(CapsuleError, give, pull, data).reason == reason
        assert store.flash.steps == steps


def test_a_file_without_a_length_ends_with_the_connection():
    for body, reason in ((TARGET, None), (TARGET[:-1], "truncated"), (TARGET + b"x", "oversized")):
        pull = begun(new())
        pull.request()
        data = b"HTTP/1.1 200 OK\r\n\r\n" + body

        def take(pull=pull, data=data):
            give(pull, data)
            pull.end()

        if reason is None:
            take()
            assert pull.is_ready
        else:
            assert raised(CapsuleError, take).reason == reason


def test_a_connection_that_closes_early_is_lost():
    pull = begun(new())
    pull.request()
    give(pull, reply(TARGET)[:-5])
    raised(HttpError, pull.end)


def broken(store, at, **options):
    """A pull that lost its connection after so many bytes of the object."""
    pull = begun(store, **options)
    pull.request()
    assert not give(pull, reply(TARGET)[: len(reply(TARGET)) - len(TARGET) + at])
    pull.lost(HttpError("gone"))
    return pull


def test_after_a_lost_connection_the_rest_is_asked_for():
    for at in (1, 60, 127, 128, 129, 200, len(TARGET) - 1):
        store = new()
        pull = broken(store, at)
        assert asked(pull) == ("/objects/" + hexed(0), at)
        assert give(pull, part(TARGET, at))
        assert pull.is_ready
        store.confirm()
        assert model(store) == TARGET


def test_a_server_without_parts_sends_all_and_what_is_known_is_skipped():
    for at in (60, 200):
        for pieces in (1, 50):
            store = new()
            pull = broken(store, at)
            pull.request()
            assert give(pull, reply(TARGET), pieces) and pull.is_ready
            store.confirm()
            assert model(store) == TARGET


def test_a_part_that_was_not_asked_for_is_refused():
    right = len(TARGET)
    for first, total in ((99, None), (101, None), (100, right + 1), (100, right - 1), (100, 0)):
        store = new()
        pull = broken(store, 100)
        pull.request()
        raised(HttpError, give, pull, part(TARGET, 100, total, first))
        assert model(store) == BASE
    # a total that the server does not know is none that is wrong
    pull = broken(new(), 100)
    pull.request()
    assert give(pull, part(TARGET, 100, "*")) and pull.is_ready


def test_a_part_of_another_length_is_refused():
    for change, reason in ((-1, "truncated"), (1, "oversized")):
        pull = broken(new(), 100)
        pull.request()
        rest = len(TARGET) - 100
        data = reply(
            TARGET[100:],
            "206 Partial Content",
            "Content-Range: bytes 100-%d/%d" % (len(TARGET) - 1, len(TARGET)),
            length=rest + change,
        )
        assert raised(CapsuleError, give, pull, data).reason == reason


def test_a_part_after_a_whole_answer_skips_nothing():
    pull = broken(new(), 100)
    pull.request()
    whole = reply(TARGET)
    give(pull, whole[: len(whole) - len(TARGET) + 30])  # skipped, then lost again
    pull.lost(HttpError("gone"))
    assert asked(pull)[1] == 100
    assert give(pull, part(TARGET, 100)) and pull.is_ready


def test_attempts_count_in_a_row_without_a_byte_gained():
    pull = begun(new(), attempts=3)
    error = HttpError("gone")
    assert [pull.lost(error), pull.lost(error)] == [1, 2]
    assert raised(HttpError, pull.lost, error) is error
    pull = begun(new(), attempts=2)
    whole = reply(TARGET)
    for at in range(0, 6):
        pull.request()
        answer = part(TARGET, at) if at else whole
        give(pull, answer[: answer.index(b"\r\n\r\n") + 5])
        assert pull.lost(error) == 1
    assert raised(HttpError, pull.lost, error) is error
    pull = Pull(new(), URL, attempts=1)
    raised(HttpError, pull.lost, error)
    pull = Pull(new(), URL)
    assert [pull.lost(error) for _ in range(4)] == [1, 2, 3, 4]
    raised(HttpError, pull.lost, error)


def test_what_the_flash_refuses_is_not_tried_again_as_a_lost_connection():
    store = new()
    pull = begun(store)
    asked(pull)
    real = store.flash.program

    def failing(at, data):
        if at >= 2 * PAGE:  # beyond the journal, which is there twice
            raise FlashError("program: I/O error")
        real(at, data)

    store.flash.program = failing
    error = raised(FlashError, give, pull, reply(TARGET))
    assert raised(FlashError, pull.lost, error) is error  # a part of it may be in the slot
    store.flash.program = real
    assert model(store) == BASE and Store(store.flash, store.wanted).head.version == BASE[12]


def test_an_answer_that_a_second_try_would_not_change_is_not_tried_again():
    for status in ("404 Not Found", "204 None", "400 Bad", "428 X", "305 X", "201 X", "300 X"):
        pull = begun(new())
        pull.request()
        error = raised(Refused, give, pull, reply(b"", status))
        assert status[:3] in str(error)
        assert raised(Refused, pull.lost, error) is error
    for status in ("429 Too Many", "500 Error", "503 Busy", "599 X"):
        pull = begun(new())
        pull.request()
        error = raised(HttpError, give, pull, reply(b"", status))
        assert status[:3] in str(error) and not isinstance(error, Refused)
        assert pull.lost(error) == 1


def test_what_an_error_says_is_not_taken_for_the_body():
    for status in ("404 Not Found", "500 Error", "302 Found"):
        store = new()
        pull = Pull(store, URL)
        pull.request()
        body = manifest()
        try:
            give(pull, reply(body, status, "Location: /x"))
        except HttpError:
            pass
        assert pull.manifest.have == 0
        pull = begun(store)
        pull.request()
        try:
            give(pull, reply(TARGET, status, "Location: /x"))
        except HttpError:
            pass
        assert pull._part.have == 0


def test_what_an_answer_that_is_refused_has_to_say_is_not_waited_for():
    for status, kind in (("404 Not Found", Refused), ("503 Busy", HttpError)):
        pull = Pull(new(), URL)
        pull.request()
        raised(kind, give, pull, reply(b"", status, length=1000000))
    pull = Pull(new(), URL)
    pull.request()
    assert give(pull, reply(b"", "302 Found", "Location: /x", length=1000000))
    assert asked(pull)[0] == "/x"


def test_after_an_answer_that_was_refused_the_next_is_read_to_its_end():
    pull = Pull(new(), URL)
    pull.request()
    error = raised(HttpError, give, pull, reply(b"", "503 Busy"))
    pull.lost(error)
    pull.request()
    assert give(pull, reply(manifest()), 1)
    pull.request()
    error = raised(HttpError, give, pull, reply(b"", "503 Busy", "Retry-After: 7"))
    assert pull.wait_s == 7 and pull.lost(error) == 2
    pull.request()
    assert give(pull, reply(TARGET), 1) and pull.is_ready


def test_once_a_file_is_chosen_its_manifest_takes_68_bytes():
    pull = Pull(new(), URL)
    pull.request()
    assert len(pull.manifest.bytes) == 420
    give(pull, reply(manifest()))
    assert len(pull.manifest.bytes) == 68


def test_no_file_is_given_more_than_its_declared_size():
    taken = []

    class Counting(exchange.Part):
        def take(self, view, n):
            taken.append(n)
            self.have += n
            return n

    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)]
    real, exchange._Update = exchange._Update, Counting
    try:
        for body, pieces in ((61, 61), (61, 20), (1000, 30), (61, 1)):
            taken.clear()
            pull = begun(new(), entries)
            pull.request()
            # the whole capsule instead
            assert give(pull, b"HTTP/1.1 200 OK\r\n\r\n" + bytes(body), pieces)
            assert asked(pull)[0] == "/models/7/all.man" and sum(taken) <= 60
    finally:
        exchange._Update = real


def test_a_file_that_ends_early_is_not_closed():
    closed = []

    class Closing(exchange.Part):
        def take(self, view, n):
            self.have += n
            return n

        def close(self):
            closed.append(self.have)
            raise CapsuleError("patch", "not what it should be")

    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), 60)]
    real, exchange._Update = exchange._Update, Closing
    try:
        for body, found in ((0, []), (1, []), (59, []), (60, [60])):
            closed.clear()
            pull = begun(new(), entries)
            pull.request()
            assert not give(pull, b"HTTP/1.1 200 OK\r\n\r\n" + bytes(body))
            pull.end()
            assert closed == found and asked(pull)[0] == "/models/7/all.man"
    finally:
        exchange._Update = real


def test_a_new_pull_waits_for_nothing_and_vouches_for_nothing():
    store = new()
    store.checker.vouch = lambda head: None  # of a pull that was given up
    pull = Pull(store, URL)
    assert store.checker.vouch is None and pull.wait_s == 0
    assert (pull.reason, pull.is_ready, pull.etag) == ("", False, "")


def test_the_sequence_of_a_manifest_is_kept():
    store = new()
    begun(store, fields={"n20": 7})
    assert store.journal.manifest == 7
    error = raised(CapsuleError, begun, store, None, TARGET, {"n20": 6})
    assert error.reason == "version" and begun(store, fields={"n20": 7}).reason == ""


def test_a_second_manifest_begins_anew():
    pull = Pull(new(), URL)
    pull.request()
    whole = reply(manifest())
    give(pull, whole[:-40])
    pull.lost(HttpError("gone"))
    pull.request()
    assert give(pull, whole)
    assert asked(pull)[0] == "/objects/" + hexed(0)


def test_redirects_are_followed_up_to_four_and_counted_anew_for_the_object():
    for status in ("301 a", "302 a", "303 a", "307 a", "308 a"):
        pull = Pull(new(), URL)
        for count in range(4):
            assert asked(pull)[0] == ("/%d" % (count - 1) if count else "/models/7/all.man")
            assert give(pull, reply(b"", status, "Location: /%d" % count))
        assert asked(pull)[0] == "/3"
        assert give(pull, reply(manifest()))
        for count in range(4):
            pull.request()
            assert give(pull, reply(b"", status, "Location: /o%d" % count))
        assert asked(pull)[0] == "/o3"
        error = raised(HttpError, give, pull, reply(b"", status, "Location: /o"))
        assert "redirect 5" in str(error)


def test_a_redirect_to_nowhere_is_refused():
    pull = Pull(new(), URL)
    pull.request()
    raised(HttpError, give, pull, reply(b"", "302 Found"))
    pull = Pull(new(), URL)
    pull.request()
    raised(Refused, give, pull, reply(b"", "302 Found", "Location: ftp://host/x"))


def test_objects_are_beside_the_models_whatever_the_redirect():
    pull = Pull(new(), URL)
    pull.request()
    give(pull, reply(b"", "302 Found", "Location: /cdn/models/9"))
    pull.request()
    give(pull, reply(manifest()))
    assert asked(pull)[0] == "/objects/" + hexed(0)
    pull = Pull(new(), "http://host:81/a/models/b/models/7/all.man")
    pull.request()
    give(pull, reply(manifest()))
    assert asked(pull)[0] == "/a/models/b/objects/" + hexed(0)


def test_an_address_that_cannot_be_meant_is_refused_at_once():
    raised(ValueError, Pull, new(), "ftp://host/models/7")
    for device in (-1, 1 << 30):  # rollouts and reports would cut it
        assert str(device) in str(raised(ValueError, Pull, new(), URL, "", device))
    Pull(new(), URL, "", (1 << 30) - 1)


# ---- a capsule of many pages, and a reset in the middle ----------------------------------------


def test_after_a_reset_little_is_read_again_and_much_is_jumped_over():
    for written, jumps in ((1024, False), (4096 + 256, False), (4096 + 384, True)):
        store, data = half_pulled(written, 6000, 130)
        pull = begun(store, capsule=data)
        pull.request()
        whole = reply(data)
        start = written - PAGE
        if jumps:
            assert give(pull, whole)  # a connection of its own is asked for
            assert not pull.is_ready and asked(pull)[1] == start
            assert give(pull, part(data, start))
        else:
            assert give(pull, whole)
        assert pull.is_ready, written
        store.confirm()
        assert model(store) == data


def test_what_lies_in_the_flash_is_jumped_over_from_one_byte_above_the_border_on():
    before = exchange._SKIP_MAX
    try:
        for border, jumps in ((1024 - PAGE - 144, False), (1024 - PAGE - 145, True)):
            exchange._SKIP_MAX = border
            store, data = half_pulled(1024, 6000, 130)
            pull = begun(store, capsule=data)
            pull.request()
            assert give(pull, reply(data)) and pull.is_ready is not jumps
    finally:
        exchange._SKIP_MAX = before
    assert before == 4096


def test_a_jump_is_made_once_and_from_the_first_page_there_is_none():
    store, data = half_pulled(PAGE, 1000, 40)
    pull = begun(store, capsule=data)
    pull.request()
    assert give(pull, reply(data), 16) and pull.is_ready
    store, data = half_pulled(2 * PAGE, 1000, 40)
    pull = begun(store, capsule=data)
    pull.request()
    assert give(pull, reply(data), 16) and pull.is_ready
    store.confirm()
    assert model(store) == data


def test_a_capsule_shorter_than_its_first_read_is_taken():
    data = large(124)
    store = new()
    pull = begun(store, capsule=data)
    pull.request()
    assert give(pull, reply(data)) and pull.is_ready
    store.confirm()
    assert model(store) == data
