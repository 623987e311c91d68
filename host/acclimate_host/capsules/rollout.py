# SPDX-License-Identifier: MIT
"""A release that goes to more and more devices, and halts by itself when they report harm.

    rollout = Rollout(repository, 7, "all", reports)
    rollout.start(capsule, stages=(1, 10, 50, 100), wait_s=86400)
    rollout.step()         # now and then: looks at the reports, goes on, waits or halts

The state is one file, rollouts/<model>-<cohort>.json, replaced in one step; what devices are
offered is the manifest alone, so a rollout that nobody looks after stands still.
"""

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from acclimate.pull.manifest import in_rollout
from acclimate_host.capsules import kept as kept_files
from acclimate_host.capsules.build import Capsule, build, read
from acclimate_host.capsules.history import KEPT, History, read_object, release_of
from acclimate_host.capsules.manifest import Manifest
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.errors import Refused
from acclimate_host.paths import write_whole

STAGES = (1, 10, 50, 100)
HARMS = ("refused", "rolled_back", "resets", "low_score")
# Why a manifest counts for nothing here, as that of a cohort not published since the epoch was
# raised: that is no harm of a release.
_NO_HARM = ("epoch", "expired", "cohort")


@dataclass(frozen=True)
class Limits:
    """When a rollout halts.

    :param harmed_percent: share of the devices that took the release, or refused it, above
        which it halts. :param least: harmed devices that it takes to halt, however few took it.
    :param resets: more resets on trial than this are harm.
    :param score: a score of ``acceptance.accept`` below this is harm; None: no score is.
    """

    harmed_percent: float = 5.0
    least: int = 3
    resets: int = 1
    score: int | None = None

    def __post_init__(self) -> None:
        for name in ("harmed_percent", "least", "resets"):
            kept_files.check_number(name, getattr(self, name))
        if self.score is not None and type(self.score) is not int:
            raise Refused(f"score {self.score}: expected a whole number")

    def exceeded(self, harmed: int, took: int) -> bool:
        """Tell whether a rollout halts that harmed so many devices of those that took it."""
        return harmed >= self.least and harmed * 100 > self.harmed_percent * took


def harm_of(
    report: dict[str, Any], version: int, limits: Limits, since: float = 0, epoch: int = 0
) -> str:
    """Return what a release did to the device of a report: one of HARMS, or "".

    :param since: a refusal that was reported before is of another release.
    :param epoch: of the release; versions of an epoch before say nothing of it.
    """
    own, used = report.get("epoch", 0), used_by(report)
    if used < (epoch, version):
        is_tried = own == epoch and report["floor"] >= version
        if is_tried and report["state"] == "rolled back":
            return "rolled_back"
        is_refused = report["outcome"] == "refused" and report.get("seen", since) >= since
        return "refused" if is_refused and report["reason"] not in _NO_HARM else ""
    if used > (epoch, version):
        return ""
    if report.get("resets", 0) > limits.resets:
        return "resets"
    score = report.get("score")
    if limits.score is None or score is None:
        return ""
    return "low_score" if score < limits.score else ""


def used_by(report: dict[str, Any]) -> tuple[int, int]:
    """Return (epoch, version) of the model in use, an epoch before the board's as that less 1."""
    return report.get("epoch", 0) - report.get("is_older", False), report["version"]


def _release(state: dict[str, Any]) -> tuple[int, int]:
    return state.get("epoch", 0), state["version"]


def _was_cut(state: dict[str, Any] | None, new: Capsule, manifest: Manifest, share: int) -> bool:
    """Tell whether a start ended after its capsule was published and before its state was kept."""
    release = new.epoch, new.version
    if state and _release(state) == release:
        return False
    published = manifest.epoch, manifest.version, manifest.digest, manifest.percent
    return published == (*release, new.digest, share)


def _alone(verb: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Let one verb of a rollout wait for another: a step must not undo a pause meanwhile."""

    @functools.wraps(verb)
    def waiting(self: "Rollout", *arguments: Any, **options: Any) -> dict[str, Any]:
        with self.repository.alone(f"-{self.model}-{self.cohort}"):
            return verb(self, *arguments, **options)

    return waiting


class Rollout:
    """The rollout of one cohort of a model.

    :param clock: gives seconds since 1970.
    """

    def __init__(
        self,
        repository: Repository,
        model: int,
        cohort: str = "all",
        reports: Reports | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        repository.manifest_path(model, cohort)  # refuses what is no cohort
        self.repository = repository
        self.model = model
        self.cohort = cohort
        self.path = repository.folder / "rollouts" / f"{model}-{cohort}.json"
        self._reports = reports or Reports(repository.folder / "reports")
        self._clock = clock

    def __repr__(self) -> str:
        return f"Rollout({str(self.path)!r})"

    def state(self) -> dict[str, Any] | None:
        """Return the state as a dictionary, or None before the first rollout.

        :raises Refused: its file is damaged.
        """
        return kept_files.rollout_state(self.path)

    @_alone
    def start(
        self,
        capsule: bytes,
        stages: Iterable[int] = STAGES,
        wait_s: float = 86400,
        limits: Limits | None = None,
        kept: int = KEPT,
        expires: int = 0,
    ) -> dict[str, Any]:
        """Publish a capsule for the first stage.

        :param stages: rising percentages, the last one 100.
        :param wait_s: how long a stage lasts, at least.
        :param kept: releases before it that updates are made from.
        :param expires: last day since 1970 on which its manifest counts; 0: no end.
        :raises Refused: another rollout is not at its end, or ``publish`` refuses it, or a number
            that the state cannot keep.
        """
        shares = list(stages)
        kept_files.check_number("wait_s", wait_s)  # before anybody is offered anything
        if not all(type(share) is int for share in shares):
            raise Refused(f"stages {shares}: expected whole percentages")
        if not shares or sorted(set(shares)) != shares or shares[0] < 1 or shares[-1] != 100:
            raise Refused(f"stages {shares}: expected rising percentages, 1 to 100 at the end")
        old = self.state()
        if old and old["state"] in ("running", "paused"):
            if self.repository.is_newest(self.model, self.cohort, _release(old)):
                raise Refused(
                    f"version {old['version']} is {old['state']}: wait, or go back first"
                )
        new = read(capsule)
        if new.model != self.model:
            raise Refused(f"capsule of model {new.model}: expected {self.model}")
        history = self._history()
        manifest = self.repository.manifest(self.model, self.cohort)
        if manifest and _was_cut(old, new, manifest, shares[0]):
            before = history.before(manifest)
        else:
            before = release_of(manifest) if manifest else {}
            bases = self.repository.of_this_key(history.capsules(kept))
            self.repository.publish(capsule, self.cohort, shares[0], bases, expires)
        state = {
            "model": self.model,
            "cohort": self.cohort,
            "version": new.version,
            "epoch": new.epoch,
            "before": before.get("version"),
            "before_object": before.get("object"),
            "stages": shares,
            "wait_s": wait_s,
            "limits": dataclasses.asdict(limits or Limits()),
            "stage": 0,
            "started": int(self._clock()),
            "state": "running",
            "history": old["history"] if old else [],
        }
        return self._note(state, f"version {new.version} for {shares[0]} %")

    @_alone
    def step(self) -> dict[str, Any]:
        """Look at the reports: halt, wait or go on; return the state with ``sums``.

        :raises Refused: something else was published since, which is none of this rollout's.
        """
        state = self._expected()
        # Where the clock went back, what devices report now is still of this release.
        state["started"] = min(state["started"], int(self._clock()))
        sums = self.sums(state)
        if state["state"] == "running":
            self.repository.expect_newest(self.model, self.cohort, _release(state))
            why = self._harm(state, sums)
            waited = self._clock() - state["since"]
            if why:
                self._offer(state, 0)
                state["state"] = "halted"
                state = self._note(state, "halted: " + why)
            elif waited < 0:
                state = self._note(state, "the clock went back: the stage begins anew")
            elif waited >= state["wait_s"]:
                state = self._next(state)
        return {**state, "sums": sums}

    @_alone
    def pause(self) -> dict[str, Any]:
        """Offer the release to nobody more until ``resume``."""
        state = self._expected("running")
        self._offer(state, 0)
        state["state"] = "paused"
        return self._note(state, "paused")

    @_alone
    def resume(self) -> dict[str, Any]:
        """Go on after ``pause``, or after a halt that was looked into."""
        state = self._expected("paused", "halted")
        if state["state"] == "halted":
            # What was harmed until now is known; only more of it halts again.
            state["forgiven"] = sum(self.sums(state)[harm] for harm in HARMS)
        share = state["stages"][state["stage"]]
        self._offer(state, share)
        state["state"] = "running"
        return self._note(state, f"resumed at {share} %")

    @_alone
    def back(self, key: Any = None, expires: int = 0) -> dict[str, Any]:
        """Offer everybody the content of the version before, as a release of its own.

        Devices take no version that is not above the highest they tried; so the capsule before
        is signed once more, under the next number.

        :param key: that capsules are signed with; None: the repository's.
        :param expires: as in ``start``.
        """
        state = self._expected()
        if state["before"] is None:
            raise Refused(f"version {state['version']} was the first: nothing to go back to")
        history = self._history()
        releases = history.releases()
        data = read_object(
            self.repository.folder, state["before_object"], self.repository.object_key
        )
        if data is None:
            raise Refused(f"version {state['before']}: its capsule is not kept, or is damaged")
        epoch = self.repository.epoch()
        known = [r["version"] for r in releases if r.get("epoch", 0) == epoch]
        version = max(known, default=0) + 1
        capsule = self._signed_again(data, version, key)
        bases = self.repository.of_this_key(history.capsules())
        self.repository.publish(capsule, self.cohort, 100, bases, expires)
        told = f"back: content of version {state['before']} as version {version}"
        state.update(version=version, epoch=epoch, state="back", stages=[100], stage=0)
        return self._note(state, told)

    def sums(self, state: dict[str, Any] | None = None) -> dict[str, int]:
        """Return counts of devices: offered, took, confirmed, each kind of harm, others.

        A device whose model only another cohort was given is none of this rollout's.
        """
        state = state or self._expected()
        version, limits = state["version"], Limits(**state["limits"])
        epoch = state.get("epoch", 0)
        share = state["stages"][state["stage"]]
        sums = dict.fromkeys(("devices", "offered", "took", "confirmed", *HARMS), 0)
        foreign = self._history().foreign()
        for report in self._reports.all():
            if report["model"] != self.model or report.get("digest") in foreign:
                continue
            sums["devices"] += 1
            sums["offered"] += in_rollout(report["device"], version, share)
            harm = harm_of(report, version, limits, state.get("started", 0), epoch)
            has = used_by(report) == (epoch, version)
            sums["took"] += has or harm in ("refused", "rolled_back")
            sums["confirmed"] += has and report["state"] == "confirmed"
            if harm:
                sums[harm] += 1
        return sums

    def _harm(self, state: dict[str, Any], sums: dict[str, int]) -> str:
        limits = Limits(**state["limits"])
        harmed = sum(sums[harm] for harm in HARMS) - state.get("forgiven", 0)
        if not limits.exceeded(harmed, sums["took"]):
            return ""
        kinds = ", ".join(f"{sums[harm]} {harm.replace('_', ' ')}" for harm in HARMS if sums[harm])
        return f"{harmed} of {sums['took']} devices harmed ({kinds})"

    def _next(self, state: dict[str, Any]) -> dict[str, Any]:
        if state["stage"] + 1 == len(state["stages"]):
            state["state"] = "done"
            return self._note(state, "done")
        state["stage"] += 1
        share = state["stages"][state["stage"]]
        self._offer(state, share)
        return self._note(state, f"{share} %")

    def _offer(self, state: dict[str, Any], percent: int) -> None:
        self.repository.set_percent(self.model, percent, self.cohort, _release(state))

    def _signed_again(self, data: bytes, version: int, key: Any) -> bytes:
        old = read(data)
        return build(
            dict(old.sections),
            old.kind,
            old.model,
            version,
            key=self.repository.key if key is None else key,
            epoch=self.repository.epoch(),
            arch=old.arch,
            abi=old.abi,
            temperature=old.temperature,
            board=old.board,
            device=old.device,
        )

    def _history(self) -> History:
        repository = self.repository
        return History(
            repository.folder, self.model, self.cohort, self._clock, repository.object_key
        )

    def _expected(self, *states: str) -> dict[str, Any]:
        state = self.state()
        if state is None:
            raise Refused(f"model {self.model}, cohort {self.cohort}: no rollout was started")
        if states and state["state"] not in states:
            raise Refused(f"the rollout is {state['state']}: expected {' or '.join(states)}")
        return state

    def _note(self, state: dict[str, Any], what: str) -> dict[str, Any]:
        now = int(self._clock())
        state["since"] = now
        state["history"] = [*state["history"], {"at": now, "what": what}]
        write_whole(self.path, json.dumps(state, indent=1).encode())
        return state
