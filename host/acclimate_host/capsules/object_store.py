# SPDX-License-Identifier: MIT
"""A second home of a repository in an object store, through its S3 interface.

Devices pull from it as from any static server. What a manifest names is there before the
manifest is, and what goes is removed after it, so a device sees the old state or the new one.
Needs the extra "s3" (boto3).
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acclimate_host.capsules.lock import locked
from acclimate_host.capsules.manifest import is_object_name, read_manifest, read_object
from acclimate_host.errors import AcclimateError, Missing, Refused

_NEVER_CHANGES = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"
_BINARY = "application/octet-stream"


def mirror(
    folder: str | os.PathLike[str], url: str, endpoint: str | None = None, prune: bool = False
) -> dict[str, int]:
    """Bring a bucket to the state of a repository; return counts: sent, kept, removed, bytes.

    :param url: s3://BUCKET or s3://BUCKET/PREFIX. :param endpoint: of another store than AWS's.
    :param prune: also remove what the repository no longer has, below the prefix.
    :raises Refused: the folder is no repository, or a manifest names what is not there.
    :raises AcclimateError: the store refuses, or cannot be reached.
    """
    bucket, prefix = _place(url)
    with _quiet(Path(folder)):
        files = _files(Path(folder))
    client, errors = _client(endpoint)
    counts = dict.fromkeys(("sent", "kept", "removed", "bytes"), 0)
    try:
        there = dict(_listed(client, bucket, prefix))
        for name, data in files:
            if isinstance(data, Path):
                data = _object(data)
            if there.get(prefix + name) == hashlib.md5(data, usedforsecurity=False).hexdigest():
                counts["kept"] += 1
                continue
            is_object = name.startswith("objects/")
            client.put_object(
                Bucket=bucket,
                Key=prefix + name,
                Body=data,
                ContentType=_BINARY,
                CacheControl=_NEVER_CHANGES if is_object else _ASK_FIRST,
            )
            counts["sent"] += 1
            counts["bytes"] += len(data)
        gone = there.keys() - {prefix + name for name, _ in files} if prune else ()
        for key in sorted(gone):
            client.delete_object(Bucket=bucket, Key=key)
            counts["removed"] += 1
    except errors as error:
        raise AcclimateError(f"{url}: {error}") from None
    return counts


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc:
        raise AcclimateError(f"{url}: expected s3://BUCKET or s3://BUCKET/PREFIX")
    prefix = parts.path.strip("/")
    return parts.netloc, prefix + "/" if prefix else ""


def _quiet(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Let nobody publish meanwhile, where this may write at all."""
    can_write = (folder / "models").is_dir() and os.access(folder, os.W_OK)
    return locked(folder / ".lock") if can_write else contextlib.nullcontext()


def _object(path: Path) -> bytes:
    """Return an object as it is sent: no cache would ask for it again."""
    try:
        return read_object(path)
    except FileNotFoundError:
        raise Refused(f"{path}: was removed meanwhile: mirror again") from None


def _files(folder: Path) -> list[tuple[str, Path | bytes]]:
    """Return (name, content) of what devices may ask for, in the order to send it.

    Objects never change and come as paths. All else is as it is now: who publishes meanwhile
    must not bring a manifest there before its objects.
    """
    if not (folder / "models").is_dir():
        raise AcclimateError(f"{folder}: no repository; acclimate publish makes one")
    later = [path for path in sorted(folder.glob("models/**/*")) if path.is_file()]
    for path in later:
        if path.suffix != ".man":
            continue
        for entry in read_manifest(path).entries:
            if not (folder / "objects" / entry.name).exists():
                raise Refused(f"{path}: objects/{entry.name} is not there")
    # The manifests come last of all.
    later.sort(key=lambda path: path.suffix == ".man")
    later = [*sorted(folder.glob("keys/*")), *later]
    first = [path for path in sorted(folder.glob("objects/*")) if is_object_name(path.name)]
    return [
        *((f"objects/{path.name}", path) for path in first),
        *(
            (path.relative_to(folder).as_posix(), path.read_bytes())
            for path in later
            if not path.name.startswith(".")
        ),
    ]


def _listed(client: Any, bucket: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (key, MD5) of what is below our folders of a bucket."""
    for part in ("objects/", "models/", "keys/"):
        pages = client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=prefix + part):
            for found in page.get("Contents", ()):
                yield found["Key"], found["ETag"].strip('"')


def _client(endpoint: str | None) -> tuple[Any, tuple[type[Exception], ...]]:
    try:
        import boto3
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise Missing("an object store needs boto3: pip install 'acclimate[s3]'") from None
    return boto3.client("s3", endpoint_url=endpoint), (Boto3Error, BotoCoreError, ClientError)
