# SPDX-License-Identifier: MIT
"""One pull of a model as a machine without a socket: requests out as bytes, replies in as bytes.

Any transport can drive it; `acclimate.pull.client` does so with sockets, blocking or with asyncio.
Everything that can be refused is refused before the first erase; after a lost connection, or a
reset in the middle, it goes on from the last whole page.
"""

from acclimate.flash import FlashError
from acclimate.pull import _seal, http
from acclimate.pull.http import HttpError
from acclimate.pull.manifest import Manifest, in_rollout
from acclimate.pull.part import Part
from acclimate.store import CapsuleError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_HEAD_MAX = const(144)
# layout: end
_MORE_MAX = const(512)  # bytes of a list of keys; a tag has 32
_REDIRECTS = const(4)
_SKIP_MAX = 4096  # bytes that cost less to read again than a new connection


def check_device(device):
    """Raise ValueError for a number that no report and no rollout holds."""
    if not 0 <= device <= 0x3FFFFFFF:
        raise ValueError("device: expected 0 to 2**30 - 1, got %s" % device)


class Refused(HttpError):
    """An answer that a second try would not change."""


class Pull:
    """One pull as a machine without a socket.

    While ``request()`` gives [tls, host, port, bytes]: send them, then ``feed`` what comes until
    it returns True, or call ``end`` when the connection closes, or ``lost`` when it breaks.

    :param attempts: connections that may break one after the other without a byte gained.
    :param whole_only: take no updates, which need 1.4 KB more of RAM.
    :param allow_http: follow a redirect from https to http.
    :param object_key: 32 bytes, or the path of a file with them, that objects are encrypted with.
    :raises ImportError: `acclimate install --with encrypted` is missing.
    """

    def __init__(
        self,
        store,
        url,
        etag="",
        device=0,
        any_version=False,
        attempts=5,
        whole_only=False,
        allow_http=False,
        object_key=None,
    ):
        check_device(device)
        self.store = store
        self._seal = object_key and _seal(object_key)
        store.checker.vouch = None
        self.etag = etag
        self.reason = ""  # why there is nothing to take
        self.is_ready = False  # a verified model is there
        self.wait_s = 0  # that the server asked for before the next request
        self.manifest = Manifest()
        self._device = device
        self._any_version = any_version
        self._whole_only = whole_only
        self._allow_http = allow_http
        self._refusal = None  # of a manifest for which a tag or a list of keys is asked for
        self._most = self._attempts = attempts
        self._base = url.rsplit("/models/", 1)[0]
        self._url = self._first = url
        self._is_headed = 0  # the status, once the headers of a reply have come
        self._part = None  # what the manifest leads to: the part of the object to come
        self._more = None  # bytes of a short file beside the manifest, while one is asked for
        self._reply = http.Reply(self)
        self._redirects = 0
        self._is_done = False
        http.split(url)

    # ---- for the transport ---------------------------------------------------------------

    def request(self):
        """Return what to send next and where, or None when the pull has ended."""
        if self._is_done:
            return None
        tls, host, port, path = http.split(self._url)
        self._reply.restart()
        self._is_headed = 0
        start = self._part.have if self._part else 0
        etag = "" if self._part or self._more is not None else self.etag
        # A list, so that the transport can forget the text once it is sent.
        return [tls, host, port, http.request(host, port, path, start, etag)]

    def feed(self, view, n):
        """Take n bytes of the reply (a memoryview); return whether it is complete."""
        try:
            # What an answer that is refused has to say is not waited for: it may have no end.
            if self._reply.feed(view, n) or self._is_headed not in (0, 200, 206):
                self._complete()
                return True
        except CapsuleError as error:
            return self._whole_instead(error)
        # A part that is skipped to is asked for by a connection of its own.
        return self._part is not None and self._part.wants_jump()

    def end(self):
        """The server closed the connection."""
        self._reply.end()
        try:
            self._complete()
        except CapsuleError as error:
            self._whole_instead(error)

    def _whole_instead(self, error):
        """After an update that failed ask for the manifest again, and for the whole capsule.

        A capsule of a key that is not known asks for the newest list of keys first.
        """
        is_of_keys = error.reason == "authenticity" or error.reason == "epoch"
        if is_of_keys and not self._refusal and hasattr(self.store.wanted.key, "check"):
            self._ask_more(error)
            return True
        if not isinstance(getattr(self._part, "part", self._part), _Update):
            raise error
        self._part = None
        self._whole_only = True
        self._url, self.etag = self._first, ""
        self.manifest = Manifest()
        return True

    def lost(self, error):
        """The connection broke: raise when it did so too often without a byte gained.

        What the flash refused is raised at once: a part of it may be in the slot.
        """
        if isinstance(error, (Refused, FlashError)):
            raise error
        if self._part is not None and self._part.gained():
            self._attempts = self._most
        self._attempts -= 1
        if self._attempts <= 0:
            raise error
        return self._most - self._attempts  # how many in a row

    # ---- for the parser ------------------------------------------------------------------

    def begin(self, reply):
        self._is_headed = reply.status
        if reply.status not in (200, 206):
            return
        if self._part:
            self._part.begin(reply)
        elif self._more is not None:
            self._more = bytearray()
        else:
            self.manifest.have = 0

    def body(self, view, n):
        status = self._reply.status
        if status not in (200, 206):
            return
        if self._part:
            self._part.body(view, n)
        elif self._more is not None:
            if len(self._more) + n > _MORE_MAX:
                raise CapsuleError("oversized", "more than %d bytes" % _MORE_MAX)
            self._more += view[:n]
        elif status == 200:
            self.manifest.add(view, n)

    def _complete(self):
        reply = self._reply
        if reply.status in (301, 302, 303, 307, 308):
            self._redirects += 1
            if self._redirects > _REDIRECTS or not reply.location:
                raise HttpError("redirect %d: no place to go" % self._redirects)
            self._url = http.join(self._url, reply.location)
            try:
                tls = http.split(self._url)[0]
            except ValueError as error:  # the server's word, not the caller's
                raise Refused("redirect: %s" % error) from None
            if not tls and not self._allow_http and self._first.startswith("https:"):
                raise Refused("redirect: from https to http")
        elif reply.status >= 500 or reply.status == 429:
            self.wait_s = reply.wait_s
            raise HttpError("server answers %d" % reply.status)
        elif self._more is not None:
            if reply.status not in (200, 206):
                raise self._refusal
            self._take_more(reply.etag)
        elif reply.status == 304 and self.etag and not self._part:
            self._nothing("unchanged")
        elif reply.status not in (200, 206):
            raise Refused("server answers %d for %s" % (reply.status, self._url[-60:]))
        elif self._part:
            self._part.finish()
            if not self.manifest.names(self.store.incoming.bytes):
                self.store.cancel()
                raise CapsuleError("integrity", "it is not the capsule of the manifest")
            self.is_ready = self._is_done = True
        else:
            self._decide(reply.etag)

    # ---- inside --------------------------------------------------------------------------

    def _nothing(self, reason):
        self.reason = reason
        self._is_done = True

    def _decide(self, etag):
        """The manifest is here: is there something to take, and in which file?"""
        store, manifest = self.store, self.manifest
        try:
            cohort = self._first[self._first.rfind("/") + 1 : -4]
            manifest.check(store, cohort.encode(), self._seal is not None)
        except CapsuleError as error:
            return self._ask_more(error)
        manifest.keep_sequence(store)
        self.etag = etag
        self._redirects = 0
        if manifest.version <= store.journal.floor and not self._any_version:
            return self._nothing("current")
        if not in_rollout(self._device, manifest.version, manifest.percent):
            return self._nothing("not in this rollout")
        if manifest.total > store.slots.bytes:
            text = "%d bytes, a slot has %d" % (manifest.total, store.slots.bytes)
            raise CapsuleError("oversized", text + "; send a new region layout")
        if store.state == "verified" and self._is_here():
            self.is_ready = True
            return self._nothing("here already")
        takes_updates = store.active is not None and not self._whole_only
        base = store.head.bytes if takes_updates else None
        whole, size, name = manifest.choose(base)
        self._url = self._base + "/objects/" + name
        make = _Whole if whole else _Update
        try:
            part = make(store, manifest, size, self._any_version)
            self._part = self._seal.around(part) if self._seal else part
        except MemoryError:
            if whole:
                raise
            self._whole_only = True  # a whole capsule needs 1.4 KB less of RAM
            return self._decide(etag)
        manifest.shrink()
        return None

    def _ask_more(self, error):
        """Ask for the newest list of keys, or for the tag that is for this device alone."""
        key = self.store.wanted.key
        if self._refusal or error.reason not in ("authenticity", "epoch"):
            raise error
        if hasattr(key, "check"):
            self._url = self._base + "/keys/" + key.name()
        elif key is not None and self._device:
            self._url = self._first[:-4] + "/%d.tag" % self._device
        else:
            raise error
        self._refusal = error
        self._part, self._more = None, bytearray()

    def _take_more(self, etag):
        store, data, self._more = self.store, self._more, None
        if hasattr(store.wanted.key, "check"):
            if store.wanted.key.take(store, data):
                self._refusal = None  # of a new root there may be a newer list
            self._url, self.manifest = self._first, Manifest()
            return
        if len(data) != 32:
            raise self._refusal
        self.manifest.tag(data)
        self._decide(etag)

    def _is_here(self):
        """Whether the capsule that waits in the other slot is the one of the manifest."""
        head = bytearray(_HEAD_MAX)
        self.store.flash.readinto(self.store.slots.start(self.store.journal.slot), head)
        return self.manifest.names(head)


class _Whole(Part):
    """A capsule: its header is checked, then it goes page by page into the slot."""

    def __init__(self, store, manifest, size, any_version):
        super().__init__(store, manifest, size, any_version)
        self._head = bytearray(min(_HEAD_MAX, size))
        self._jump = False

    def take(self, view, n):
        missing = len(self._head) - self.have
        if missing <= 0:
            self.store.write(view, n)
            self.have += n
            return n
        n = min(n, missing)
        for i in range(n):
            self._head[self.have + i] = view[i]
        self.have += n
        if n == missing:
            self._stage()
        return n

    def _stage(self):
        """Check the header and make room; pages that a reset left are passed over."""
        head = self._head
        if not self.manifest.names(head):
            raise CapsuleError("integrity", "it is not the capsule of the manifest")
        self.vouch(head)
        start = self.store.stage(head, len(head), self.any_version)
        if start < len(head):
            self.store.write(memoryview(head)[start:], len(head) - start)
        else:
            self._skip = start - len(head)
            self._jump = self._skip > _SKIP_MAX
            self.have = start

    def wants_jump(self):
        jump, self._jump = self._jump, False
        return jump

    def skip(self, n):
        """Pass over the next n bytes that come, as the flash holds them."""
        self._skip = n

    def close(self):
        self.store.finish()


class _Update(Part):
    """An update container, applied from the model in use to the other slot as it comes."""

    def __init__(self, store, manifest, size, any_version):
        super().__init__(store, manifest, size, any_version)
        from acclimate.store import Updater

        self._updater = Updater(store, any_version)
        store.checker.vouch = self.vouch

    def take(self, view, n):
        self.have += n
        self._updater.feed(view, n)
        return n

    def close(self):
        self.store.checker.vouch = None
        self._updater.finish()
