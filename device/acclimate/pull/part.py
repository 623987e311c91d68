# SPDX-License-Identifier: MIT
"""A file of the repository as it comes: where it goes on, and that it has the size it should."""

from acclimate.pull.http import HttpError
from acclimate.store import CapsuleError

try:
    from micropython import const
except ImportError:

    def const(value):
        return value


# layout: begin
_H_SIGNATURE = const(52)
_H_BYTES = const(116)
_TAG_BYTES = const(32)
# layout: end


class Part:
    """A file of the repository, of which the first ``have`` bytes are not needed any more."""

    def __init__(self, store, manifest, size, any_version):
        self.store = store
        self.manifest = manifest
        self.size = size
        self.any_version = any_version
        self.have = 0
        self._skip = 0
        self._known = 0

    def begin(self, reply):
        if reply.status == 206:
            total = self.size if reply.total < 0 else reply.total
            if reply.start != self.have or total != self.size:
                text = "part from %d of %d, wanted %d of %d"
                raise HttpError(text % (reply.start, total, self.have, self.size))
            self._skip = 0
        else:
            self._skip = self.have
        rest = self.size if reply.status == 200 else self.size - self.have
        if reply.length not in (-1, rest):
            text = "file of %d bytes, the manifest says %d"
            raise CapsuleError(
                "truncated" if reply.length < rest else "oversized", text % (reply.length, rest)
            )

    def body(self, view, n):
        at = 0
        while at < n:
            part = min(self._skip, n - at)
            if part:
                self._skip -= part
            elif self.have + n - at > self.size:
                raise CapsuleError("oversized", "more than the %d bytes declared" % self.size)
            else:
                part = self.take(view[at:] if at else view, n - at)
            at += part

    def vouch(self, head):
        """Tag a capsule's header for the store, where a tag of this device alone is there."""
        if self.manifest.is_tagged and self.manifest.names(head):
            out = bytearray(_TAG_BYTES)
            for i in range(_TAG_BYTES):
                head[_H_SIGNATURE + i] = 0
            hasher, key = self.store.checker.hasher, self.store.wanted.key
            hasher.hmac(key, head, _H_SIGNATURE + _TAG_BYTES, out)
            head[_H_SIGNATURE + _TAG_BYTES : _H_BYTES] = out

    def wants_jump(self):
        return False

    def gained(self):
        """Whether bytes were gained since the last time."""
        known, self._known = self._known, self.have
        return self.have > known

    def finish(self):
        if self.have != self.size:
            raise CapsuleError("truncated", "%d of %d bytes" % (self.have, self.size))
        self.close()
