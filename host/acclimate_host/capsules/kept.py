# SPDX-License-Identifier: MIT
"""What a repository keeps beside capsules, read back: JSON, of which each field has its type."""

import json
import re
from pathlib import Path
from typing import Any

from acclimate_host.capsules.manifest import is_object_name
from acclimate_host.errors import Refused

_STATES = ("running", "paused", "halted", "done", "back")
_NUMBER_MAX = 1 << 53  # of seconds, versions and bytes


def releases(path: Path) -> list[dict[str, Any]]:
    """Return the releases of a file of one JSON object a line, oldest first; none without it.

    :raises Refused: the file is damaged.
    """
    if not path.exists():
        return []
    found = [_json(line, path) for line in _text(path).splitlines()]
    for release in found:
        _expect(path, release, "version", _is_number)
        _expect(path, release, "object", is_object_name)
        for name in ("bytes", "percent", "at"):
            _expect(path, release, name, _is_number)
        if "epoch" in release:
            _expect(path, release, "epoch", _is_number)
        if "digest" in release:
            _expect(path, release, "digest", lambda value: isinstance(value, str))
    return found


def rollout_state(path: Path) -> dict[str, Any] | None:
    """Return the state of a rollout, or None before the first one.

    :raises Refused: the file is damaged.
    """
    if not path.exists():
        return None
    state = _json(_text(path), path)
    for name in ("model", "version", "wait_s", "started", "since"):
        _expect(path, state, name, _is_number)
    for name in ("epoch", "forgiven"):
        if name in state:
            _expect(path, state, name, _is_number)
    _expect(path, state, "before", lambda value: value is None or _is_number(value))
    has = state["before"] is not None
    _expect(path, state, "before_object", is_object_name if has else lambda value: value is None)
    _expect(path, state, "state", lambda value: value in _STATES)
    _expect(path, state, "cohort", lambda value: isinstance(value, str))
    _expect(path, state, "stages", lambda value: _is_list(value, _is_number) and value)
    _expect(path, state, "stage", lambda value: value in range(len(state["stages"])))
    _expect(path, state, "history", lambda value: _is_list(value, _is_event) and value)
    _expect(path, state, "limits", _is_limits)
    return state


def next_sequence(path: Path, epoch: int) -> int:
    """Return the first number that no manifest of the epoch has had yet; 0 without a file.

    :raises Refused: the file is damaged.
    """
    if not path.exists():
        return 0
    found = re.fullmatch("([0-9]{1,5}) ([0-9]{1,10})\n", _text(path))
    if found is None:
        raise Refused(
            f"{path}: damaged: expected EPOCH SEQUENCE; remove it if manifests are whole"
        )
    return int(found[2]) + 1 if int(found[1]) == epoch else 0


def check_number(name: str, value: Any) -> None:
    """Raise Refused unless a file may keep a number, so that it can be read back."""
    if not _is_number(value):
        raise Refused(f"{name} {value}: expected 0 to {_NUMBER_MAX}")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path}: damaged: expected UTF-8") from None


def _json(text: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(f"{path}: damaged: expected a JSON object, got {text[:30]!r}")
    return found


def _expect(path: Path, found: dict[str, Any], name: str, fits: Any) -> None:
    if name not in found:
        raise Refused(f"{path}: damaged: {name} is missing")
    try:
        good = fits(found[name])
    except TypeError:
        good = False
    if not good:
        raise Refused(f"{path}: damaged: {name} is {str(found[name])[:40]!r}")


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= _NUMBER_MAX


def _is_list(value: Any, fits: Any) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_event(value: Any) -> bool:
    is_event = isinstance(value, dict) and value.keys() == {"at", "what"}
    return is_event and _is_number(value["at"]) and isinstance(value["what"], str)


def _is_limits(value: Any) -> bool:
    names = {"harmed_percent", "least", "resets", "score"}
    if not isinstance(value, dict) or value.keys() != names:
        return False
    score = value["score"]
    is_score = score is None or isinstance(score, int) and not isinstance(score, bool)
    return is_score and all(_is_number(value[name]) for name in names - {"score"})
