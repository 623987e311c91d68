# SPDX-License-Identifier: MIT
"""``acclimate fleet FOLDER``: what devices report, what each is offered, and the rollout."""

import json
import time
from pathlib import Path

from acclimate.pull.manifest import in_rollout
from acclimate_host.capsules.fleet_state import fleet_state
from acclimate_host.capsules.manifest import day_in
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.server import fleet_key, read_key
from acclimate_host.commands import table
from acclimate_host.errors import AcclimateError, Refused


def add_arguments(parser):
    parser.add_argument("folder", help="the repository")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--sums", action="store_true", help="count devices by version and state, list none"
    )
    parser.add_argument("--cohort", default="all", help="which manifest (%(default)s)")
    parser.add_argument("--model", type=int, metavar="ID", help="only this model")
    parser.add_argument(
        "--percent", type=int, help="set the share of the devices that take the newest version"
    )
    parser.add_argument(
        "--expires-days",
        type=int,
        metavar="N",
        help="devices with a clock refuse the manifest after so many days from now; 0: never",
    )
    parser.add_argument(
        "--fleet-key",
        metavar="FILE",
        help="beside a private --key: renews the tags of devices that have an HMAC key each",
    )
    parser.add_argument(
        "--forget", type=int, metavar="DEVICE", help="drop its report; needs --model"
    )
    parser.add_argument("--key", metavar="FILE", help="signs the manifest when the share changes")


def run(args):
    if not Path(args.folder, "models").is_dir():
        raise AcclimateError(f"{args.folder}: no repository; acclimate publish makes one")
    key = read_key(args.key) if args.key else None
    repository = Repository(args.folder, key, fleet_key(args.fleet_key))
    if args.percent is not None:
        if args.model is None:
            raise AcclimateError("--percent: name the model with --model ID")
        repository.set_percent(args.model, args.percent, args.cohort)
    if args.expires_days is not None:
        if args.model is None:
            raise AcclimateError("--expires-days: name the model with --model ID")
        repository.set_expires(args.model, day_in(args.expires_days), args.cohort)
    if args.forget is not None:
        if args.model is None:
            raise AcclimateError("--forget: name the model with --model ID")
        Reports(Path(args.folder, "reports")).forget(args.model, args.forget)
    if args.sums:
        _show_sums(args, fleet_state(repository))
        return
    reports = [
        {**report, "offered": offered(repository, report, args.cohort)}
        for report in Reports(Path(args.folder, "reports")).all()
        if args.model in (None, report["model"])
    ]
    published = [row for row in repository.models() if args.model in (None, row[0])]
    if args.model is not None and not published and not reports:
        raise AcclimateError(f"--model {args.model}: {args.folder} has no such model")
    if args.json:
        print(json.dumps(reports, indent=1))
        return
    for model, cohort, manifest in published:
        print(
            f"model {model}, cohort {cohort}: version {manifest.version} for "
            f"{manifest.percent} % of the devices"
        )
    if not reports:
        print("no device has reported yet")
        return
    print()
    table([_row(report) for report in reports], _HEADS)
    there = sum(report["version"] == report["offered"] for report in reports)
    print(f"\n{there} of {len(reports)} devices use what they are offered")


def _show_sums(args, state):
    if args.json:
        print(json.dumps(state, indent=1))
        return
    rows = [row for row in state["devices"] if args.model in (None, row["model"])]
    heads = ["model", "version", "state", "outcome", "devices"]
    table([[str(row[head]) for head in heads] for row in rows], heads)
    print(f"\n{state['total']} devices have reported")


def offered(repository, report, cohort="all"):
    """Return the version that a device is offered; its own where the rollout is not there yet."""
    try:
        manifest = repository.manifest(report["model"], cohort)
    except Refused:
        return report["version"]
    if manifest and in_rollout(report["device"], manifest.version, manifest.percent):
        return max(manifest.version, report["version"])
    return report["version"]


_HEADS = ["device", "model", "version", "offered", "state", "latest pull", "erases", "seen"]


def _row(report):
    pull = report["outcome"] + (f": {report['reason']}" if report["reason"] else "")
    if not report.get("is_authentic"):
        pull += " (unsigned)"
    return [
        str(report["device"]),
        str(report["model"]),
        str(report["version"]),
        str(report["offered"]),
        report["state"],
        pull,
        str(report["erases"]),
        _ago(time.time() - report["seen"]),
    ]


def _ago(seconds):
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name} ago"
    return f"{max(0, seconds):.0f} s ago"
