# SPDX-License-Identifier: MIT
"""A repository of capsules: a folder of files that any static web server can serve.

    objects/<name>                 capsules and updates; never changed, named by their content
    models/<model>/<cohort>.man    signed manifest: what is the newest for these devices
    models/<model>/<cohort>/<device>.tag    its tag for one device that has an HMAC key
    keys/<root>.keys               the newest list of keys that a root signed

An object is there before a manifest names it, and a manifest is replaced in one step, so a
device sees the old state or the new one.
"""

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from acclimate_host.capsules import delta, kept, key_list, signing
from acclimate_host.capsules.build import Capsule, check_numbers, read
from acclimate_host.capsules.encryption import seal, unseal
from acclimate_host.capsules.history import History
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.layout import ENTRIES_MAX, NUMBER_MAX, SIGNATURE_BYTES
from acclimate_host.capsules.lock import locked
from acclimate_host.capsules.manifest import (
    WHOLE,
    Entry,
    Manifest,
    cohort_mark,
    is_signed,
    object_name,
    read_manifest,
    read_object,
)
from acclimate_host.capsules.signing import Key, SigningKey
from acclimate_host.errors import Refused
from acclimate_host.paths import write_whole

_MODEL = re.compile(r"[0-9]{1,10}")
_COHORT = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")

_FOLDERS = ("objects", "models", "keys")
_NEW_KEY = "give the key that signed it, or publish --new-key where the devices have a new one"


@contextlib.contextmanager
def nothing_left(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Remove a repository that was made for something that is then refused."""
    is_new = not Path(folder).exists()
    try:
        yield
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # somebody else's files may be in it by now
                for name in _FOLDERS:
                    Path(folder, name).rmdir()
                Path(folder).rmdir()
        raise


class Repository:
    """The folder; it is made when it is not there.

    :param key: that manifests are signed with: a private key of the rollout role; or the HMAC
        key of the devices (16 to 64 bytes); or None.
    :param fleet_key: bytes that devices with an HMAC key have theirs from: with it their tags
        follow each manifest; without it, and with a private key, old tags are removed.
    :param object_key: 32 bytes that objects are encrypted with; None: they are plain.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        key: Key | None = None,
        fleet_key: bytes | None = None,
        object_key: bytes | None = None,
    ) -> None:
        self.folder = Path(folder)
        if object_key is not None and object_key in (key, fleet_key):
            raise Refused("object key: expected a key of its own, got the one that signs")
        self.key = key
        self.object_key = object_key
        self._fleet_key = key if isinstance(key, bytes) else fleet_key
        for name in _FOLDERS:
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def __repr__(self) -> str:
        return f"Repository({str(self.folder)!r}, {'signs' if self.key else 'signs nothing'})"

    def manifest_path(self, model: int, cohort: str = "all") -> Path:
        if not _COHORT.fullmatch(cohort):
            raise Refused(f"cohort {cohort!r}: lower-case letters, digits, - and _, at most 32")
        return self.folder / "models" / str(model) / f"{cohort}.man"

    def manifest(self, model: int, cohort: str = "all") -> Manifest | None:
        """Return the Manifest of a cohort, or None."""
        path = self.manifest_path(model, cohort)
        return read_manifest(path) if path.exists() else None

    def capsule(self, model: int, cohort: str = "all") -> bytes | None:
        """Return the plain bytes of the newest whole capsule of a cohort, or None.

        :raises Refused: the file is not there, is not what its name says, or is encrypted and the
            key is another one, or missing.
        """
        manifest = self.manifest(model, cohort)
        for entry in manifest.entries if manifest else ():
            if entry.base == WHOLE:
                return unseal(self._object(entry.name), self.object_key)
        return None

    def _object(self, name: str) -> bytes:
        path = self.folder / "objects" / name
        try:
            return read_object(path)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}: publish a whole capsule anew") from None

    @contextlib.contextmanager
    def alone(self, what: str = "") -> Iterator[None]:
        """Let nobody else publish meanwhile; whoever comes second waits.

        :param what: name of something else that one alone may change, such as a rollout.
        """
        with locked(self.folder / f".lock{what}"):
            yield

    def publish(
        self,
        capsule: bytes,
        cohort: str = "all",
        percent: int = 100,
        bases: Iterable[bytes] = (),
        expires: int = 0,
        new_key: bool = False,
    ) -> Manifest:
        """Make a signed capsule the newest of its model for a cohort; return the Manifest.

        :param percent: share of the cohort's devices that take it; raise it later with
            ``set_percent``.
        :param bases: whole capsules that devices have: updates from them are added where they
            are smaller. The cohort's present capsule is always one of them.
        :param expires: last day since 1970 on which the manifest counts, for devices that have a
            clock; 0: no end. It stays through later changes; ``set_expires`` renews it.
        :param new_key: the devices have this key from now on, and had another one, or none, when
            the cohort's present capsule was signed. With an HMAC key there is no update from what
            was. Where a list of keys says what counts, nothing needs to be said.
        :raises Refused: the version is not above that of the present one, or the capsule or a
            base is damaged, or not signed with the repository's key.
        """
        with self.alone():
            made = self._publish(capsule, cohort, percent, bases, expires, new_key)
            History(self.folder, made.model, cohort).add(made)
            return made

    def _publish(
        self,
        capsule: bytes,
        cohort: str,
        percent: int,
        bases: Iterable[bytes],
        expires: int,
        new_key: bool,
    ) -> Manifest:
        _check_offer(percent=percent, expires=expires)
        new = read(capsule)
        if not new.intact:
            raise Refused("integrity: the capsule's SHA-256 is not that of its content")
        if new.flags:
            raise Refused("authenticity: a board saved it for itself; others do not take it")
        self._check_release(new, capsule, "the capsule")
        if new.epoch != self.epoch():
            raise Refused(f"epoch {new.epoch}: expected {self.epoch()}, that of the key list")
        present = self.manifest(new.model, cohort)
        self._check_rollout()
        self._check_others(new.model, cohort, new_key)
        if present and present.encrypted and self.object_key is None:
            text = "encrypted until now: give the object key"
            raise Refused(f"model {new.model}, cohort {cohort}: {text}")
        # Of an epoch before, the version may be one that a thief signed.
        whole = self._present(new.model, cohort)
        epoch = read(whole).epoch if whole else present.epoch if present else 0
        if present and new.epoch == epoch and new.version <= present.version:
            raise Refused(f"version {new.version}: expected above {present.version}")
        if present and self.key is not None:
            if not new_key and not self._is_of_this_key(new.model, cohort, whole):
                raise Refused(
                    f"model {new.model}, cohort {cohort}: not signed with this key until now: "
                    f"{_NEW_KEY}"
                )
            whole = next(iter(self.of_this_key([whole])), None)
        known: dict[bytes, bytes] = {}
        for base in (whole, *bases):
            if base is not None:
                known.setdefault(self._base(base).digest, base)
        entries = [self._entry(WHOLE, capsule)]
        for digest, base in list(known.items())[: ENTRIES_MAX - 1]:
            made = delta.smallest(base, capsule)
            if len(made) < len(capsule):
                entries.append(self._entry(digest[:16], made))
        manifest = Manifest(
            new.model,
            new.version,
            new.total,
            new.digest,
            percent,
            tuple(entries),
            expires=expires,
            encrypted=self.object_key is not None,
        )
        return self._put_manifest(cohort, manifest)

    def _put_manifest(self, cohort: str, manifest: Manifest) -> Manifest:
        """Write a cohort's manifest, and those of the others anew: all have the next sequence.

        A cohort whose capsule is of an epoch before is offered to nobody: devices would refuse it.
        """
        model = manifest.model
        there = {name: old for _, name, old in self.models(model)}
        epoch = self.epoch()
        known = [old.sequence for old in there.values() if old.epoch == epoch]
        sequence = max(known, default=0) + 1
        # A damaged manifest may be removed by hand: devices still expect what comes after it.
        sequence = max(sequence, kept.next_sequence(self._sequence_path(model), epoch))
        if sequence > NUMBER_MAX:
            raise Refused(f"sequence {sequence}: used up: raise the epoch with a new key list")
        write_whole(self._sequence_path(model), f"{epoch} {sequence}\n".encode())
        # The changed one comes first: a device that reads meanwhile has at least this.
        for name, old in {cohort: manifest, **{**there, cohort: manifest}}.items():
            is_current = name == cohort or old.epoch == epoch
            new = dataclasses.replace(
                old,
                cohort=cohort_mark(name),
                sequence=sequence,
                epoch=epoch,
                percent=old.percent if is_current else 0,
            )
            write_whole(self.manifest_path(model, name), new.pack(self.key))
            self._renew_tags(new, name)
            if name == cohort:
                manifest = new
        return manifest

    def _sequence_path(self, model: int) -> Path:
        return self.folder / "history" / f"{model}.sequence"

    def write_tags(self, fleet_key: bytes, devices: Iterable[int], model: int, cohort: str) -> int:
        """Write the manifest's detached tag for devices with an HMAC key each; return how many.

        :param fleet_key: that the devices' keys are made from, see ``keys.device_key``.
        """
        manifest = self.manifest(model, cohort)
        if manifest is None:
            raise Refused(f"model {model}, cohort {cohort}: nothing is published")
        return self._tag(manifest, fleet_key, devices, cohort)

    def _tag(self, manifest: Manifest, key: bytes, devices: Iterable[int], cohort: str) -> int:
        count, signed = 0, manifest.signed()
        folder = self.manifest_path(manifest.model, cohort).with_suffix("")
        for device in devices:
            made = signing.tag(signed, device_key(key, device))
            write_whole(folder / f"{device}.tag", made)
            count += 1
        return count

    def _renew_tags(self, manifest: Manifest, cohort: str) -> None:
        """Make the tags that are there anew: they are those of the manifest before.

        Without the fleet's key they go, as a device would take a wrong tag for an attack:
        ``write_tags`` is then called where that key is.
        """
        folder = self.manifest_path(manifest.model, cohort).with_suffix("")
        tags = [path for path in folder.glob("*.tag") if path.stem.isdigit()]
        if self._fleet_key is not None:
            self._tag(manifest, self._fleet_key, [int(path.stem) for path in tags], cohort)
        elif self.key is not None:
            for path in tags:
                path.unlink()

    # ---- keys ----------------------------------------------------------------------------

    def keys(self) -> key_list.KeyList | None:
        """Return the newest list of keys, or None."""
        lists = [key_list.read_list(path) for path in self.folder.glob("keys/*.keys")]
        return max(lists, key=lambda found: found.sequence, default=None)

    def epoch(self) -> int:
        """Return the epoch that new capsules and manifests belong to; 0 without a list."""
        newest = self.keys()
        return newest.epoch if newest else 0

    def publish_keys(
        self,
        root: SigningKey,
        release: Iterable[bytes],
        rollout: Iterable[bytes],
        raise_epoch: bool = False,
        new_root: SigningKey | None = None,
    ) -> key_list.KeyList:
        """Sign the next list of keys and make it the newest; return it.

        :param release: and :param rollout: public keys; those not named no longer count.
        :param raise_epoch: let versions and sequences begin anew, after a key was stolen.
        :raises Refused: root is not the one of the newest list.
        """
        with self.alone():
            old = self.keys()
            if old and old.root != root.public:
                raise Refused("root: expected the key that signed the newest list")
            made = key_list.KeyList(
                (old.epoch if old else 0) + raise_epoch,
                (old.sequence if old else 0) + 1,
                (new_root or root).public,
                (*((1, key) for key in release), *((2, key) for key in rollout)),
            )
            data = made.pack(root, new_root)
            write_whole(self.folder / "keys" / key_list.list_name(root.public), data)
            if new_root:
                path = self.folder / "keys" / key_list.list_name(new_root.public)
                write_whole(path, made.pack(new_root))
            return made

    def _check_release(self, said: Capsule, data: bytes, what: str) -> None:
        """Raise unless a capsule is signed as the devices want it."""
        newest = self.keys()
        key = newest.of("release") if newest and not isinstance(self.key, bytes) else self.key
        if key is not None and not said.authentic(key, data):
            raise Refused(
                f"{what}: authenticity: it was not signed with "
                + ("a listed release key" if newest else "the repository's key")
            )

    def _check_rollout(self) -> None:
        """Raise unless devices take manifests that are signed with this repository's key."""
        newest = self.keys()
        if newest is None or isinstance(self.key, bytes):
            return
        if self.key is None or self.key.public not in newest.of("rollout"):
            raise Refused(
                f"key list {newest.sequence}: give the private key of a listed rollout key"
            )

    def _present(self, model: int, cohort: str) -> bytes | None:
        """Return the present capsule, or None where it is damaged: the next one is whole then."""
        try:
            return self.capsule(model, cohort)
        except Refused:
            return None

    def _epoch_of(self, manifest: Manifest, cohort: str) -> int | None:
        """Return the epoch of the newest capsule, or None where nothing tells it."""
        present = self._present(manifest.model, cohort)
        if present:
            return read(present).epoch
        # It is encrypted, and whoever only changes shares needs no key to read it.
        name = manifest.whole.name
        releases = History(self.folder, manifest.model, cohort).releases()
        return next((r.get("epoch", 0) for r in releases if r["object"] == name), None)

    def of_this_key(self, capsules: Iterable[bytes | None]) -> list[bytes]:
        """Return those that devices may have: with an HMAC key they have none of another key."""
        found = [data for data in capsules if data is not None]
        if not isinstance(self.key, bytes):
            return found
        return [data for data in found if read(data).authentic(self.key, data)]

    def _check_others(self, model: int, cohort: str, new_key: bool) -> None:
        """Refuse a key that devices of some cohort do not have: all manifests are signed anew."""
        for name in [name for _, name, _ in self.models(model)]:
            signed = any(self._signature(model, name))
            if signed and self.key is None:
                raise Refused(f"model {model}, cohort {name}: signed until now: give the key")
            if signed and name != cohort and not new_key:
                if not self._is_signed(model, name):
                    raise Refused(f"model {model}, cohort {name}: of another key: {_NEW_KEY}")

    def _signature(self, model: int, cohort: str) -> bytes:
        return self.manifest_path(model, cohort).read_bytes()[-SIGNATURE_BYTES:]

    def _is_of_this_key(self, model: int, cohort: str, whole: bytes | None) -> bool:
        return self._is_signed(model, cohort) and (not whole or bool(self.of_this_key([whole])))

    def _base(self, data: bytes) -> Capsule:
        """Return what a base says of itself: devices would never get beyond a damaged one."""
        base = read(data)
        if not base.intact:
            raise Refused("base: integrity: its SHA-256 is not that of its content")
        if isinstance(self.key, bytes):  # a base of a key before may be what devices have
            self._check_release(base, data, "base")
        return base

    def set_percent(
        self,
        model: int,
        percent: int,
        cohort: str = "all",
        release: tuple[int, int] | None = None,
    ) -> None:
        """Change which share of a cohort takes its newest capsule.

        :param release: (epoch, version) that it has to be; None: whatever is published.
        :raises Refused: nothing is published, or something else, or it is signed with another key
            than this one.
        """
        _check_offer(percent=percent)
        with self.alone():
            if release is not None:
                self.expect_newest(model, cohort, release)
            self._change(model, cohort, percent=percent)

    def is_newest(self, model: int, cohort: str, release: tuple[int, int]) -> bool:
        """Tell whether (epoch, version) is what a cohort's manifest names."""
        there = self.manifest(model, cohort)
        if there is None or there.version != release[1]:
            return False
        return self._epoch_of(there, cohort) in (None, release[0])

    def expect_newest(self, model: int, cohort: str, release: tuple[int, int]) -> None:
        """Raise Refused unless (epoch, version) is what a cohort's manifest names."""
        if not self.is_newest(model, cohort, release):
            raise Refused(
                f"model {model}, cohort {cohort}: version {release[1]} is not the newest any "
                "more: something else was published"
            )

    def set_expires(self, model: int, expires: int, cohort: str = "all") -> None:
        """Change the last day, since 1970, on which a cohort's manifest counts; 0: no end.

        :raises Refused: as ``set_percent`` does.
        """
        _check_offer(expires=expires)
        with self.alone():
            self._change(model, cohort, expires=expires)

    def _change(self, model: int, cohort: str, **changes: Any) -> None:
        old = self.manifest(model, cohort)
        if old is None:
            raise Refused(f"model {model}, cohort {cohort}: nothing is published")
        self._check_rollout()
        epoch = self._epoch_of(old, cohort)
        if changes.get("percent") and epoch not in (None, self.epoch()):
            raise Refused(
                f"version {old.version}: of an epoch before {self.epoch()}: publish it anew"
            )
        # Signed otherwise than before, devices would take no manifest any more.
        signed = self._is_signed(model, cohort)
        if signed and self.key is None:
            raise Refused(f"model {model}, cohort {cohort}: signed until now: give the key")
        if self.key is not None and not signed:
            text = f"not signed with this key until now: {_NEW_KEY}"
            raise Refused(f"model {model}, cohort {cohort}: {text}")
        self._put_manifest(cohort, dataclasses.replace(old, **changes))

    def _is_signed(self, model: int, cohort: str) -> bool:
        """Tell whether the present manifest is signed: with the key, or, without one, at all."""
        if self.key is None:
            return any(self._signature(model, cohort))
        if isinstance(self.key, SigningKey) and self.keys():
            return True  # what the list says now decides, not what signed it then
        return is_signed(self.manifest_path(model, cohort).read_bytes(), self.key)

    def models(self, model: int | None = None) -> Iterator[tuple[int, str, Manifest]]:
        """Yield (model, cohort, Manifest) of all that is published, or of one model.

        A file that is in no folder of a number, or has no name of a cohort, is somebody else's.
        """
        folder = "*" if model is None else str(model)
        for path in sorted(self.folder.glob(f"models/{folder}/*.man")):
            if not (_MODEL.fullmatch(path.parent.name) and _COHORT.fullmatch(path.stem)):
                continue
            yield int(path.parent.name), path.stem, read_manifest(path)

    def _entry(self, base: bytes, data: bytes) -> Entry:
        sent = seal(data, self.object_key) if self.object_key else data
        name = object_name(sent)
        path = self.folder / "objects" / name
        if not path.exists() or path.read_bytes() != sent:
            write_whole(path, sent)
        return Entry(base, len(data), name)


def _check_offer(percent: int = 0, expires: int = 0) -> None:
    check_numbers(100, percent=percent)
    check_numbers(0xFFFF, expires=expires)
