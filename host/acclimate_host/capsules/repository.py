# SPDX-License-Identifier: MIT
"""A repository of capsules: a folder of files that any static web server can serve.

    objects/<name>                 capsules and updates; never changed, named by their content
    models/<model>/<cohort>.man    signed manifest: what is the newest for these devices

An object is there before a manifest names it, and a manifest is replaced in one step, so a
device sees the old state or the new one.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from acclimate_host.capsules import delta
from acclimate_host.capsules.build import Capsule, read
from acclimate_host.capsules.history import History
from acclimate_host.capsules.layout import ENTRIES_MAX, TAG_BYTES
from acclimate_host.capsules.manifest import WHOLE, Entry, Manifest, is_signed, object_name, unpack
from acclimate_host.errors import Refused
from acclimate_host.paths import write_whole

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_COHORT = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


class Repository:
    """The folder; it is made when it is not there.

    :param key: of the devices (16 to 64 bytes), which manifests are signed with, or None.
    """

    def __init__(self, folder: str | os.PathLike[str], key: bytes | None = None) -> None:
        self.folder = Path(folder)
        self.key = key
        for name in ("objects", "models"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def manifest_path(self, model: int, cohort: str = "all") -> Path:
        if not _COHORT.fullmatch(cohort):
            raise Refused(f"cohort {cohort!r}: lower-case letters, digits, - and _, at most 32")
        return self.folder / "models" / str(model) / f"{cohort}.man"

    def manifest(self, model: int, cohort: str = "all") -> Manifest | None:
        """Return the Manifest of a cohort, or None."""
        path = self.manifest_path(model, cohort)
        return unpack(path.read_bytes()) if path.exists() else None

    def capsule(self, model: int, cohort: str = "all") -> bytes | None:
        """Return the bytes of the newest whole capsule of a cohort, or None.

        :raises Refused: the file is not there, or is not what its name says.
        """
        manifest = self.manifest(model, cohort)
        for entry in manifest.entries if manifest else ():
            if entry.base == WHOLE:
                return self._object(entry.name)
        return None

    def _object(self, name: str) -> bytes:
        path = self.folder / "objects" / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}: publish a whole capsule anew") from None
        if object_name(data) != name:
            raise Refused(f"{path}: damaged: its SHA-256 is not that of its name")
        return data

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else publish meanwhile; whoever comes second waits."""
        with open(self.folder / ".lock", "a+b") as file:
            if sys.platform == "win32":
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                if sys.platform == "win32":
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

    def publish(
        self,
        capsule: bytes,
        cohort: str = "all",
        percent: int = 100,
        bases: Iterable[bytes] = (),
    ) -> Manifest:
        """Make a signed capsule the newest of its model for a cohort; return the Manifest.

        :param percent: share of the cohort's devices that take it; raise it later with
            ``set_percent``.
        :param bases: whole capsules that devices have: updates from them are added where they
            are smaller. The cohort's present capsule is always one of them.
        :raises Refused: the version is not above that of the present one, or the capsule or a
            base is damaged, or not signed with the repository's key.
        """
        with self._alone():
            made = self._publish(capsule, cohort, percent, bases)
            History(self.folder, made.model, cohort).add(made)
            return made

    def _publish(
        self, capsule: bytes, cohort: str, percent: int, bases: Iterable[bytes]
    ) -> Manifest:
        if not 0 <= percent <= 100:
            raise Refused(f"percent {percent}: 0 to 100")
        new = read(capsule)
        if not new.intact:
            raise Refused("integrity: the capsule's SHA-256 is not that of its content")
        if self.key is not None and not new.authentic(self.key, capsule):
            raise Refused("authenticity: the capsule was not signed with the repository's key")
        present = self.manifest(new.model, cohort)
        if present and self.key is None and self._is_signed(new.model, cohort):
            raise Refused(f"model {new.model}, cohort {cohort}: signed until now: give the key")
        if present and new.version <= present.version:
            raise Refused(f"version {new.version}: expected above {present.version}")
        known: dict[bytes, bytes] = {}
        for base in (self._present(new.model, cohort), *bases):
            if base is not None:
                known.setdefault(self._base(base).digest, base)
        entries = [self._entry(WHOLE, capsule)]
        for digest, base in list(known.items())[: ENTRIES_MAX - 1]:
            made = delta.smallest(base, capsule)
            if len(made) < len(capsule):
                entries.append(self._entry(digest[:16], made))
        manifest = Manifest(new.model, new.version, new.total, new.digest, percent, tuple(entries))
        write_whole(self.manifest_path(new.model, cohort), manifest.pack(self.key))
        return manifest

    def _present(self, model: int, cohort: str) -> bytes | None:
        """Return the present capsule, or None where it is damaged: the next one is whole then."""
        try:
            return self.capsule(model, cohort)
        except Refused:
            return None

    def _base(self, data: bytes) -> Capsule:
        """Return what a base says of itself: devices would never get beyond a damaged one."""
        base = read(data)
        if not base.intact:
            raise Refused("base: integrity: its SHA-256 is not that of its content")
        if self.key is not None and not base.authentic(self.key, data):
            raise Refused("base: authenticity: it was not signed with the repository's key")
        return base

    def set_percent(self, model: int, percent: int, cohort: str = "all") -> None:
        """Change which share of a cohort takes its newest capsule.

        :raises Refused: nothing is published, or it is signed with another key than this one.
        """
        with self._alone():
            self._set_percent(model, percent, cohort)

    def _set_percent(self, model: int, percent: int, cohort: str) -> None:
        old = self.manifest(model, cohort)
        if old is None:
            raise Refused(f"model {model}, cohort {cohort}: nothing is published")
        # Signed otherwise than before, devices would take no manifest any more.
        signed = self._is_signed(model, cohort)
        if signed and self.key is None:
            raise Refused(f"model {model}, cohort {cohort}: signed until now: give the key")
        if self.key is not None and not signed:
            raise Refused(f"model {model}, cohort {cohort}: not signed with this key until now")
        new = Manifest(old.model, old.version, old.total, old.digest, percent, old.entries)
        write_whole(self.manifest_path(model, cohort), new.pack(self.key))

    def _is_signed(self, model: int, cohort: str) -> bool:
        """Tell whether the present manifest is signed: with the key, or, without one, at all."""
        data = self.manifest_path(model, cohort).read_bytes()
        return any(data[-TAG_BYTES:]) if self.key is None else is_signed(data, self.key)

    def models(self) -> Iterator[tuple[int, str, Manifest]]:
        """Yield (model, cohort, Manifest) of all that is published."""
        for path in sorted(self.folder.glob("models/*/*.man")):
            yield int(path.parent.name), path.stem, unpack(path.read_bytes())

    def _entry(self, base: bytes, data: bytes) -> Entry:
        name = object_name(data)
        path = self.folder / "objects" / name
        if not path.exists() or path.read_bytes() != data:
            write_whole(path, data)
        return Entry(base, len(data), name)
