# SPDX-License-Identifier: MIT
"""``acclimate publish FOLDER CAPSULE``: offer a signed capsule, and updates where smaller."""

from acclimate_host.capsules.encryption import read_object_key
from acclimate_host.capsules.history import KEPT, History
from acclimate_host.capsules.layout import ENTRIES_MAX
from acclimate_host.capsules.manifest import WHOLE, day_in
from acclimate_host.capsules.repository import Repository, nothing_left
from acclimate_host.capsules.server import fleet_key, read_key
from acclimate_host.commands import add_object_key_argument, read_capsule
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    parser.add_argument("folder", help="the repository; it is made when it is not there")
    parser.add_argument("capsule", help="a file that capsule build made")
    parser.add_argument(
        "--key", metavar="FILE", help="of the devices; signs the manifest. Without: unsigned"
    )
    parser.add_argument(
        "--new-key",
        action="store_true",
        help="the devices have this key from now on, and had another one, or none, before",
    )
    parser.add_argument("--cohort", default="all", help="which manifest (%(default)s)")
    parser.add_argument(
        "--percent", type=int, default=100, help="share of the devices (%(default)s)"
    )
    parser.add_argument(
        "--expires-days",
        type=int,
        default=0,
        metavar="N",
        help="devices with a clock refuse the manifest after so many days; 0: never",
    )
    parser.add_argument(
        "--fleet-key",
        metavar="FILE",
        help="beside a private --key: renews the tags of devices that have an HMAC key each",
    )
    add_object_key_argument(parser)
    parser.add_argument(
        "--deltas",
        type=int,
        default=KEPT,
        metavar="N",
        help="make updates from so many releases before this one, 0 to 7 (%(default)s)",
    )
    parser.add_argument(
        "--base",
        action="append",
        default=[],
        metavar="FILE",
        help="another capsule that devices have, to make an update from; may be repeated",
    )


def run(args):
    if not args.folder:
        raise AcclimateError("folder: expected the path of a repository, got ''")
    capsule, said = read_capsule(args.capsule)
    others = [read_capsule(path)[0] for path in args.base]
    key = read_key(args.key) if args.key else None
    if args.new_key and key is None:
        raise AcclimateError("--new-key: give the key of the devices with --key")
    if not 0 <= args.deltas <= ENTRIES_MAX - 1:
        raise AcclimateError(f"--deltas {args.deltas}: expected 0 to {ENTRIES_MAX - 1}")
    object_key = read_object_key(args.object_key) if args.object_key else None
    history = History(args.folder, said.model, args.cohort, object_key=object_key)
    with nothing_left(args.folder):
        repository = Repository(args.folder, key, fleet_key(args.fleet_key), object_key)
        bases = [*others, *repository.of_this_key(history.capsules(args.deltas))]
        made = repository.publish(
            capsule, args.cohort, args.percent, bases, day_in(args.expires_days), args.new_key
        )
    args.result = {
        "model": made.model,
        "version": made.version,
        "percent": made.percent,
        "expires": made.expires,
        "cohort": args.cohort,
        "encrypted": made.encrypted,
        "entries": [
            {"bytes": entry.size, "base": None if entry.base == WHOLE else entry.base.hex()}
            for entry in made.entries
        ],
    }
    how = ", encrypted" if made.encrypted else ""
    print(
        f"model {made.model}, version {made.version}, for {made.percent} % of {args.cohort}{how}"
    )
    for entry in made.entries:
        what = "whole" if entry.base == WHOLE else "update of " + entry.base.hex()[:12]
        print(f"  {entry.size:8,} bytes  {what}")
