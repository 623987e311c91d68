# SPDX-License-Identifier: MIT
"""What a pull asks for where a signature is not known: a tag of its own, or the list of keys."""

# RUNTIMES = ("cpython", "desktop")

from capsule_vectors import BASE, KEY, TARGET, UPDATE
from pull_cases import URL, WHOLE, asked, give, manifest, new, reply
from store_cases import model, raised

from acclimate._digest import Hasher
from acclimate.pull import HttpError
from acclimate.pull.exchange import Pull, Refused
from acclimate.store import CapsuleError

OTHER_KEY = bytes(reversed(KEY))
DEVICE = 300


def tag_of(data, n, key=KEY):
    """HMAC of the first n bytes and 32 zeros."""
    tag = bytearray(32)
    Hasher().hmac(key, bytes(data[:n]) + bytes(32), n + 32, tag)
    return tag


def for_all():
    """A manifest and a capsule that another key signed, and their tags for this device."""
    data = manifest(key=OTHER_KEY)
    capsule = bytearray(TARGET)
    capsule[52:116] = bytes(range(64))
    return data, capsule, tag_of(data, len(data) - 64)


# ---- a tag of its own --------------------------------------------------------------------------


def test_a_device_asks_for_its_tag_and_takes_what_it_vouches_for():
    store, (data, capsule, tag) = new(), for_all()
    pull = Pull(store, URL, device=DEVICE)
    assert asked(pull)[0] == "/models/7/all.man"
    assert give(pull, reply(data, "200 OK", 'ETag: "e"'))
    assert asked(pull)[0] == "/models/7/all/300.tag" and pull.manifest.is_tagged is False
    assert give(pull, reply(tag, "200 OK", 'ETag: "t"'))
    assert pull.manifest.is_tagged and pull.etag == '"t"'
    assert asked(pull)[0].startswith("/objects/") and give(pull, reply(capsule))
    assert pull.is_ready and store.state == "verified"
    store.confirm()
    # the device's own tag now stands in the header, where 64 other bytes came
    found = model(store)
    assert found[:52] == bytes(TARGET[:52]) and found[52:84] == bytes(32)
    assert found[84:116] == bytes(tag_of(TARGET, 52)) and found[116:] == bytes(TARGET[116:])


def test_a_tag_vouches_for_the_capsule_of_its_manifest_alone():
    store, (data, capsule, tag) = new(), for_all()
    pull = Pull(store, URL, device=DEVICE)
    for answer in (data, tag):
        asked(pull)
        assert give(pull, reply(answer))
    capsule[20] ^= 1
    asked(pull)
    assert raised(CapsuleError, give, pull, reply(capsule)).reason == "integrity"
    assert store.state == "confirmed" and model(store) == BASE


def test_a_tag_vouches_for_no_other_header():
    store, (data, capsule, tag) = new(), for_all()
    pull = Pull(store, URL, device=DEVICE)
    for answer in (data, tag):
        asked(pull)
        assert give(pull, reply(answer))
    named, other = bytearray(capsule), bytearray(capsule)
    other[51] ^= 1  # the last byte of its digest
    before = bytes(other)
    pull._part.vouch(other)
    assert other == before
    pull._part.vouch(named)
    assert named[52:84] == bytes(32) and named[84:116] == tag_of(TARGET, 52)


def test_for_a_capsule_that_an_hmac_key_did_not_sign_nothing_more_is_asked():
    bad = bytearray(TARGET)
    bad[100] ^= 1
    store = new()
    pull = Pull(store, URL, device=DEVICE)
    asked(pull)
    assert give(pull, reply(manifest()))
    asked(pull)
    assert raised(CapsuleError, give, pull, reply(bad)).reason == "authenticity"
    assert model(store) == BASE


def test_without_a_number_or_a_key_no_tag_is_asked_for():
    data = for_all()[0]
    pull = Pull(new(), URL)
    asked(pull)
    assert raised(CapsuleError, give, pull, reply(data)).reason == "authenticity"
    store = new()
    store.wanted.key = None
    pull = Pull(store, URL, device=DEVICE)
    asked(pull)
    assert raised(CapsuleError, give, pull, reply(data)).reason == "authenticity"


def test_what_is_wrong_otherwise_asks_for_no_tag():
    for fields, reason in (({"n8": 8}, "model"), ({"b4": 9}, "format"), ({"b5": 9}, "table")):
        pull = Pull(new(), URL, device=DEVICE)
        asked(pull)
        assert raised(CapsuleError, give, pull, reply(manifest(**fields))).reason == reason


def test_a_tag_that_is_wrong_missing_or_of_another_length_ends_with_the_first_refusal():
    data, _, tag = for_all()
    wrong = bytearray(tag)
    wrong[31] ^= 1
    for answer in (
        reply(wrong),
        reply(tag[:31]),
        reply(tag + b"x"),
        reply(b""),
        reply(b"", "404 Not Found"),
        reply(b"", "410 Gone"),
    ):
        store = new()
        pull = Pull(store, URL, device=DEVICE)
        asked(pull)
        assert give(pull, reply(data))
        asked(pull)
        assert raised(CapsuleError, give, pull, answer).reason == "authenticity"
        assert store.state == "confirmed" and model(store) == BASE


def test_without_a_refusal_before_404_says_which_address():
    pull = Pull(new(), URL, device=DEVICE)
    asked(pull)
    error = raised(Refused, give, pull, reply(b"", "404 Not Found"))
    assert "404" in str(error) and "/models/7/all.man" in str(error)


def test_a_file_beside_the_manifest_has_at_most_512_bytes():
    data = for_all()[0]
    for size, reason in ((512, "authenticity"), (513, "oversized")):
        pull = Pull(new(), URL, device=DEVICE)
        asked(pull)
        assert give(pull, reply(data))
        asked(pull)
        assert raised(CapsuleError, give, pull, reply(bytes(size))).reason == reason


# ---- the list of keys --------------------------------------------------------------------------


class Keys:
    """Stands for the Ed25519 keys of a board.

    :param refuses: how often from now on a check refuses; takes: whether a list is newer.
    """

    def __init__(self, refuses=0, takes=True):
        self.refuses, self.takes = refuses, takes
        self.given = []

    def check(self, data, n, role):
        if self.refuses:
            self.refuses -= 1
            raise CapsuleError("authenticity", "not signed by a key of this board")

    def knows(self, data, n):
        pass

    def name(self):
        return "root"

    def take(self, store, data):
        self.given.append(bytes(data))
        return self.takes


def with_keys(**options):
    store = new()
    store.wanted.key = Keys(**options)
    return store


def test_after_a_list_of_keys_the_manifest_is_asked_for_again():
    store = with_keys(refuses=1)
    pull = Pull(store, URL, device=DEVICE)
    for path, answer in (
        ("/models/7/all.man", manifest()),
        ("/keys/root", b"a list"),
        ("/models/7/all.man", manifest()),
    ):
        assert asked(pull)[0] == path and give(pull, reply(answer))
    assert store.wanted.key.given == [b"a list"]
    asked(pull)
    assert give(pull, reply(TARGET)) and pull.is_ready


def test_a_list_that_brings_nothing_is_not_asked_for_twice():
    store = with_keys(refuses=2, takes=False)
    pull = Pull(store, URL)
    for answer in (manifest(), b"a list"):
        asked(pull)
        assert give(pull, reply(answer))
    asked(pull)
    assert raised(CapsuleError, give, pull, reply(manifest())).reason == "authenticity"
    assert len(store.wanted.key.given) == 1


def test_after_each_newer_list_a_new_one_may_be_asked_for():
    store = with_keys(refuses=2)
    pull = Pull(store, URL)
    for path in ("/models/7/all.man", "/keys/root") * 2:
        assert asked(pull)[0] == path
        assert give(pull, reply(manifest() if path.endswith("man") else b"list"))
    assert asked(pull)[0] == "/models/7/all.man" and give(pull, reply(manifest()))


def test_an_epoch_that_is_not_known_asks_for_the_list_of_keys():
    store = with_keys()
    pull = Pull(store, URL)
    asked(pull)
    assert give(pull, reply(manifest(h16=1))) and asked(pull)[0] == "/keys/root"


def test_a_capsule_of_an_epoch_that_is_not_known_asks_for_the_list_of_keys():
    store = with_keys()
    store.journal.keys = 0
    newer = bytearray(TARGET)
    newer[16] = 1
    hasher, out = Hasher(), bytearray(32)
    hasher.reset()
    hasher.update(newer, 20)
    hasher.update(newer[116:], len(newer) - 116)
    hasher.into(out)
    newer[20:52] = out
    pull = Pull(store, URL)
    asked(pull)
    assert give(pull, reply(manifest(newer)))
    asked(pull)
    assert give(pull, reply(newer)) and asked(pull)[0] == "/keys/root"


def test_a_capsule_of_a_key_that_is_not_known_asks_for_the_list_of_keys():
    store = with_keys()
    pull = Pull(store, URL)
    asked(pull)
    assert give(pull, reply(manifest()))
    store.wanted.key.refuses = 1
    asked(pull)
    assert give(pull, reply(TARGET)) and asked(pull)[0] == "/keys/root"
    assert give(pull, reply(b"a list")) and asked(pull)[0] == "/models/7/all.man"
    assert give(pull, reply(manifest()))
    asked(pull)
    assert give(pull, reply(TARGET)) and pull.is_ready


def test_an_update_that_is_damaged_asks_for_the_whole_capsule_and_for_no_list_of_keys():
    store, bad = with_keys(), bytearray(UPDATE)
    bad[-1] ^= 1
    entries = [(WHOLE, len(TARGET)), (bytes(BASE[20:36]), len(UPDATE))]
    pull = Pull(store, URL)
    for path, answer in (("/models", manifest(entries=entries)), ("/objects", bad)):
        assert asked(pull)[0].startswith(path) and give(pull, reply(answer))
    assert asked(pull)[0] == "/models/7/all.man" and give(pull, reply(manifest(entries=entries)))
    asked(pull)
    assert give(pull, reply(TARGET)) and pull.is_ready and not store.wanted.key.given


def test_a_server_without_a_list_ends_with_the_first_refusal():
    for status in ("404 Not Found", "403 Forbidden"):
        store = with_keys(refuses=1)
        pull = Pull(store, URL)
        asked(pull)
        assert give(pull, reply(manifest()))
        asked(pull)
        assert raised(CapsuleError, give, pull, reply(b"", status)).reason == "authenticity"


def test_what_is_missing_after_the_list_of_keys_is_named_itself():
    store = with_keys(refuses=1, takes=False)
    pull = Pull(store, URL)
    for answer in (manifest(), b"a list"):
        asked(pull)
        assert give(pull, reply(answer))
    asked(pull)
    error = raised(Refused, give, pull, reply(b"", "404 Not Found"))
    assert "all.man" in str(error)


def test_a_list_of_keys_is_taken_in_pieces_and_gains_nothing_when_it_breaks():
    store = with_keys(refuses=1)
    pull = Pull(store, URL, attempts=2)
    asked(pull)
    assert give(pull, reply(manifest()))
    asked(pull)
    answer = reply(b"a longer list")
    for at in range(len(answer) - 1):
        assert pull.feed(memoryview(answer[at : at + 1]), 1) is False
    assert pull.lost(HttpError("gone")) == 1
    asked(pull)
    assert give(pull, answer) and store.wanted.key.given == [b"a longer list"]
    raised(HttpError, pull.lost, HttpError("gone"))


# ---- the way there, and an update ----------------------------------------------------------


def moved(first, place, **options):
    """A pull that was sent on by the server of its first address."""
    pull = Pull(new(), first, **options)
    assert pull.request()[0] == first.startswith("https")
    assert give(pull, reply(b"", "302 Found", "Location: " + place))
    return pull.request()


def test_https_is_left_for_http_only_where_that_was_allowed():
    plain, secure = "http://host/models/7/all.man", "https://host/models/7/all.man"
    error = raised(Refused, moved, secure, "http://other/a")
    assert "https to http" in str(error)
    assert moved(secure, "http://other/a", allow_http=True)[:2] == [False, "other"]
    assert moved(secure, "https://other/a")[:2] == [True, "other"]
    assert moved(secure, "/b")[:2] == [True, "host"]
    assert moved(plain, "https://other/a")[:2] == [True, "other"]
    assert moved(plain, "http://other/a")[:2] == [False, "other"]


def test_an_update_makes_the_capsule_of_the_manifest():
    for pieces in (1, 50, 500):
        store = new()
        pull = Pull(store, URL)
        for answer in (manifest(entries=[(BASE[20:36], len(UPDATE))]), UPDATE):
            assert asked(pull)[1] == 0
            assert give(pull, reply(answer), pieces)
        assert pull.is_ready and store.state == "verified"
        store.confirm()
        assert model(store) == TARGET
