# SPDX-License-Identifier: MIT
"""What devices say of themselves: signed records, of which the latest of each is kept."""

import hmac
import json
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.layout import ENUMS, LIMITS, NUMBER_MAX, REPORT
from acclimate_host.errors import Refused
from acclimate_host.paths import write_whole

_RECORD = struct.Struct("<4sBBBB7I12s32sBBHIIHH32s")
assert _RECORD.size == REPORT.bytes
_TAG = REPORT.offset("tag")
_STATES = {number: name.lower().replace("_", " ") for name, number in ENUMS["States"][1].items()}
_OUTCOMES = {number: name.lower() for name, number in ENUMS["Outcomes"][1].items()}
_VERDICTS = {0: "", 1: "accept", 2: "undecided", 3: "reject"}
_NUMBERS = ("device", "model", "version", "floor", "erases", "slot_bytes", "count")
_DEVICES_MAX = 1_000_000


def parse(data: bytes, key: bytes | None = None) -> dict[str, Any]:
    """Return a report as a dictionary.

    :param key: bytes, of the fleet or of the device itself as made from the fleet's; without
        one ``is_authentic`` is None.
    :raises Refused: no report, or not signed with either key.
    """
    if len(data) != REPORT.bytes:
        raise Refused(f"report of {len(data)} bytes: {REPORT.bytes}")
    magic, form, state, outcome, zero, *values = _RECORD.unpack(data)
    numbers, (reason, digest, *health, epoch, tag) = values[:7], values[7:]
    if magic != b"AREP" or form != LIMITS["REPORT_FORMAT"] or zero or epoch & 0x4000:
        raise Refused(f"report: it does not begin with AREP and format {LIMITS['REPORT_FORMAT']}")
    if state not in _STATES or outcome not in _OUTCOMES:
        raise Refused(f"report: state {state}, outcome {outcome}")
    if max(*numbers, *health) > NUMBER_MAX or health[0] > max(_VERDICTS):
        raise Refused(f"report: a number above {NUMBER_MAX}")
    if key is not None and not any(
        hmac.compare_digest(hmac.new(known, data[:_TAG], "sha256").digest(), tag)
        for known in _keys(key, numbers[0])
    ):
        raise Refused("report: authenticity: it was not signed with this key")
    text = reason.rstrip(b"\0").decode("ascii", "replace")
    return {
        **dict(zip(_NUMBERS, numbers, strict=True)),
        "state": _STATES[state],
        "outcome": _OUTCOMES[outcome],
        "reason": "".join(c if c.isascii() and (c.isalnum() or c in " -") else "?" for c in text),
        **_health(*health),
        "digest": digest.hex() if any(digest) else "",
        "epoch": epoch & 0x3FFF,
        "is_older": bool(epoch >> 15),  # the model in use is of an epoch before
        "is_authentic": None if key is None else True,
    }


def _health(
    verdict: int, resets: int, score: int, heap: int, erases_left: int, battery: int
) -> dict[str, Any]:
    return {
        "verdict": _VERDICTS[verdict],
        "score": score - 32768 if verdict else None,
        "resets": resets,
        "heap": heap,
        "erases_left": None if erases_left == NUMBER_MAX else erases_left,
        "battery_mv": battery or None,
    }


def _keys(key: bytes, device: int) -> Iterator[bytes]:
    """Yield the keys that a device's report may be signed with."""
    yield key
    if device:
        yield device_key(key, device)


class Reports:
    """The latest report of each device, one small file each in a folder.

    :param key: bytes; reports that were not signed with it are refused. Without a key any report
        is kept, marked as not authentic: it never stands in the way of a signed one.
    :param clock: gives seconds since 1970.
    :param models: a repository's folder ``models``: reports of others are refused, so that one
        opened device cannot fill the folder with models that there are not.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        key: bytes | None = None,
        clock: Callable[[], float] = time.time,
        models: str | os.PathLike[str] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._models = None if models is None else Path(models)
        self.key = key
        self._clock = clock
        self._count: int | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Reports({str(self.folder)!r}, {'signed' if self.key else 'of anybody'})"

    def take(self, data: bytes) -> dict[str, Any]:
        """Keep a report; return it.

        :raises Refused: a signed one that is not newer than the signed one that is there; one
            without a signature where a signed one is there.
        """
        report = parse(data, self.key)
        if self._models and not (self._models / str(report["model"])).is_dir():
            raise Refused(f"report: model {report['model']} is not published here")
        with self._lock:  # else the older one of two at once might be kept
            self._keep(report)
        return report

    def _keep(self, report: dict[str, Any]) -> None:
        path = self.folder / f"{report['model']}-{report['device']}.json"
        old = _load(path)
        is_known = old is not None and old.get("is_authentic")
        if is_known and not report["is_authentic"]:
            raise Refused(f"report of {report['device']}: its reports are signed: give the key")
        if old and is_known and report["count"] <= old["count"]:
            raise Refused(f"report {report['count']} of {report['device']} is not a new one")
        if old is None:
            self._one_more()
        report["seen"] = int(self._clock())
        write_whole(path, json.dumps(report).encode())

    def forget(self, model: int, device: int) -> None:
        """Drop what a device reported, so that its next report counts whatever it says."""
        try:
            (self.folder / f"{model}-{device}.json").unlink()
        except FileNotFoundError:
            raise Refused(f"model {model}, device {device}: no report is kept") from None

    def all(self) -> list[dict[str, Any]]:
        """Return all reports in order of model and device; unreadable files are left out."""
        found = [_load(path) for path in self.folder.glob("*-*.json")]
        return sorted((r for r in found if r), key=lambda r: (r["model"], r["device"]))

    def _one_more(self) -> None:
        if self._count is None:
            self._count = sum(1 for _ in self.folder.glob("*-*.json"))
        if self._count >= _DEVICES_MAX:
            raise Refused(f"reports of {_DEVICES_MAX} devices are kept, no more")
        self._count += 1


def _load(path: Path) -> dict[str, Any] | None:
    try:
        report = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return report if isinstance(report, dict) and _is_sound(report) else None


def _is_sound(report: dict[str, Any]) -> bool:
    """Tell whether what is kept of a device has the types that a report has."""
    whole = [report.get(name) for name in (*_NUMBERS, "seen")]
    whole += [report.get(name, 0) for name in ("resets", "heap", "epoch")]
    whole += [report.get(name) or 0 for name in ("score", "erases_left", "battery_mv")]
    texts = [report.get(name) for name in ("state", "outcome", "reason")]
    texts += [report.get(name, "") for name in ("verdict", "digest")]
    truths = [report.get(name) or False for name in ("is_older", "is_authentic")]
    return (
        all(type(value) is int and abs(value) < 1 << 53 for value in whole)
        and all(isinstance(value, str) for value in texts)
        and all(isinstance(value, bool) for value in truths)
    )
