# SPDX-License-Identifier: MIT
"""``acclimate keys FOLDER``: sign the next list of keys of a repository, or show the newest."""

from pathlib import Path

from acclimate_host.capsules.repository import Repository, nothing_left
from acclimate_host.capsules.signing import read_private, read_public
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    parser.add_argument("folder", help="the repository; it is made when it is not there")
    parser.add_argument("--root", metavar="FILE", help="the root's private key signs a new list")
    for role, what in (("release", "capsules"), ("rollout", "manifests")):
        parser.add_argument(
            f"--{role}",
            action="append",
            default=[],
            metavar="FILE",
            help=f"key that signs {what} from now on; may be repeated; those not named end",
        )
    parser.add_argument("--new-root", metavar="FILE", help="private key of the root after this")
    parser.add_argument(
        "--raise-epoch",
        action="store_true",
        help="versions and sequences begin anew, after a key was stolen",
    )


def run(args):
    if not args.root:
        if args.release or args.rollout or args.new_root or args.raise_epoch:
            raise AcclimateError("--root: its private key signs a list; give it")
        if not Path(args.folder, "models").is_dir():
            raise AcclimateError(f"{args.folder}: no repository; acclimate publish makes one")
        args.result = _show(Repository(args.folder).keys())
        return
    if not (args.release and args.rollout):
        raise AcclimateError("--release, --rollout: name a key for each; one may have both roles")
    with nothing_left(args.folder):
        made = Repository(args.folder).publish_keys(
            read_private(args.root),
            [read_public(path) for path in args.release],
            [read_public(path) for path in args.rollout],
            args.raise_epoch,
            read_private(args.new_root) if args.new_root else None,
        )
    args.result = _show(made)


def _show(made):
    """Print a list of keys; return what ``--json`` says of it."""
    if made is None:
        print("no list of keys: boards of this repository have HMAC keys, or none")
        return {"list": None}
    print(f"list {made.sequence}, epoch {made.epoch}, root {made.root.hex()}")
    for role in ("release", "rollout"):
        for public in made.of(role):
            print(f"  {role}  {public.hex()}")
    return {
        "list": made.sequence,
        "epoch": made.epoch,
        "root": made.root.hex(),
        **{role: [key.hex() for key in made.of(role)] for role in ("release", "rollout")},
    }
