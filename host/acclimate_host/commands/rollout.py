# SPDX-License-Identifier: MIT
"""``acclimate rollout FOLDER VERB``: a release in stages, which halts by itself on harm."""

import argparse
import json
import time
from pathlib import Path

from acclimate_host.capsules.encryption import read_object_key
from acclimate_host.capsules.history import KEPT, History
from acclimate_host.capsules.layout import ENTRIES_MAX
from acclimate_host.capsules.manifest import day_in
from acclimate_host.capsules.prune import prune
from acclimate_host.capsules.repository import Repository, nothing_left
from acclimate_host.capsules.rollout import HARMS, STAGES, Limits, Rollout
from acclimate_host.capsules.server import fleet_key, read_key
from acclimate_host.commands import add_object_key_argument, read_capsule, table, to_seconds
from acclimate_host.errors import AcclimateError

_VERBS = {
    "start": "publish a capsule for the first stage",
    "step": "look at the reports: go on, wait or halt (exit status 3 when halted)",
    "watch": "step again and again, until it is done or halted",
    "status": "what step would look at; changes nothing",
    "pause": "offer it to nobody more for now",
    "resume": "go on after a pause or a halt",
    "back": "offer all the content of the version before, under the next number",
    "history": "what was published, and what became of it",
    "prune": "remove the objects that no device needs any more",
}


def add_arguments(parser):
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(f"  {verb:8} {text}" for verb, text in _VERBS.items())
    parser.add_argument("folder", help="the repository")
    parser.add_argument("verb", choices=tuple(_VERBS))
    parser.add_argument("capsule", nargs="?", help="with start")
    parser.add_argument("--model", type=int, metavar="ID", help="needed but by start and prune")
    parser.add_argument("--cohort", default="all", help="which manifest (%(default)s)")
    parser.add_argument("--key", metavar="FILE", help="signs the manifest")
    parser.add_argument(
        "--fleet-key",
        metavar="FILE",
        help="beside a private --key: renews the tags of devices that have an HMAC key each",
    )
    parser.add_argument(
        "--release-key", metavar="FILE", help="signs capsules, with back; --key without it"
    )
    add_object_key_argument(parser)
    parser.add_argument(
        "--expires-days",
        type=int,
        default=0,
        metavar="N",
        help="with start, back: days that the manifest counts, by a clock; 0: no end",
    )
    parser.add_argument(
        "--stages",
        type=_to_stages,
        default=STAGES,
        metavar="P,P,...",
        help="percentages, rising to 100 (1,10,50,100)",
    )
    parser.add_argument(
        "--wait-s", type=to_seconds, default=86400, help="how long a stage lasts (%(default)s)"
    )
    limits = Limits()
    parser.add_argument(
        "--harmed-percent",
        type=float,
        default=limits.harmed_percent,
        help="halt above this share of the devices that took it (%(default)s)",
    )
    parser.add_argument(
        "--least", type=int, default=limits.least, help="harmed devices to halt (%(default)s)"
    )
    parser.add_argument(
        "--resets",
        type=int,
        default=limits.resets,
        help="more resets than this on trial are harm (%(default)s)",
    )
    parser.add_argument("--score", type=int, help="a score below this is harm")
    parser.add_argument(
        "--deltas", type=int, default=KEPT, metavar="N", help="releases that updates are made from"
    )
    parser.add_argument(
        "--every-s", type=to_seconds, default=60, help="pause of watch (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args):
    if args.verb != "start" and not Path(args.folder, "models").is_dir():
        raise AcclimateError(f"{args.folder}: no repository; acclimate publish makes one")
    if not 0 <= args.deltas <= ENTRIES_MAX - 1:
        raise AcclimateError(f"--deltas {args.deltas}: expected 0 to {ENTRIES_MAX - 1}")
    if args.verb == "prune":
        count, size = prune(args.folder, args.deltas)
        if args.json:
            print(json.dumps({"removed": count, "bytes": size}))
            return None
        print(f"removed {count} objects, {size:,} bytes")
        return None
    return _VERB_CALLS.get(args.verb, _simple)(args)


def _rollout(args, model=None):
    model = args.model if model is None else model
    if model is None:
        raise AcclimateError(f"rollout {args.verb}: name the model with --model ID")
    key = read_key(args.key) if args.key else None
    object_key = read_object_key(args.object_key) if args.object_key else None
    repository = Repository(args.folder, key, fleet_key(args.fleet_key), object_key)
    return Rollout(repository, model, args.cohort)


def _start(args):
    if args.capsule is None:
        raise AcclimateError("rollout start: name the capsule")
    if not 0 <= args.harmed_percent <= 100:
        raise AcclimateError(f"--harmed-percent {args.harmed_percent}: expected 0 to 100")
    data, capsule = read_capsule(args.capsule)
    limits = Limits(args.harmed_percent, args.least, args.resets, args.score)
    expires = day_in(args.expires_days)
    with nothing_left(args.folder):
        rollout = _rollout(args, capsule.model)
        state = rollout.start(data, args.stages, args.wait_s, limits, args.deltas, expires)
    return _show(args, state)


def _simple(args):
    return _show(args, getattr(_rollout(args), args.verb)())


def _back(args):
    key = read_key(args.release_key) if args.release_key else None
    return _show(args, _rollout(args).back(key, day_in(args.expires_days)))


def _status(args):
    rollout = _rollout(args)
    state = rollout.state()
    if state is None:
        raise AcclimateError(f"model {args.model}, cohort {args.cohort}: no rollout was started")
    return _show(args, {**state, "sums": rollout.sums(state)})


def _watch(args):
    rollout = _rollout(args)
    while True:
        state = rollout.step()
        if state["state"] != "running":
            return _show(args, state)
        time.sleep(args.every_s)


def _history(args):
    rollout = _rollout(args)
    releases = History(args.folder, rollout.model, args.cohort).releases()
    state = rollout.state()
    if args.json:
        print(json.dumps({"releases": releases, "rollout": state}, indent=1))
        return
    table(
        [
            [str(r["version"]), _date(r["at"]), f"{r['bytes']:,}", f"{r['percent']} %"]
            for r in releases
        ],
        ["version", "published", "bytes", "first share"],
    )
    for event in state["history"] if state else ():
        print(f"{_date(event['at'])}  {event['what']}")


_VERB_CALLS = {
    "start": _start,
    "status": _status,
    "watch": _watch,
    "back": _back,
    "history": _history,
}


def _show(args, state):
    """Print a state; return the exit status."""
    if args.json:
        print(json.dumps(state, indent=1))
    else:
        share = state["stages"][state["stage"]]
        print(
            f"model {state['model']}, cohort {state['cohort']}: version {state['version']}, "
            f"{state['state']} at {share} %"
        )
        print(f"{_date(state['since'])}  {state['history'][-1]['what']}")
        if "sums" in state:
            sums = state["sums"]
            print(
                f"{sums['took']} of {sums['offered']} offered took it, {sums['confirmed']} "
                "confirmed; " + ", ".join(f"{sums[k]} {k.replace('_', ' ')}" for k in HARMS)
            )
    return 3 if state["state"] == "halted" else 0


def _date(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _to_stages(text):
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers with commas, got {text!r}") from None
