# SPDX-License-Identifier: MIT
"""``acclimate mirror FOLDER s3://BUCKET/PREFIX``: a second home of a repository."""

from acclimate_host.capsules.object_store import mirror


def add_arguments(parser):
    parser.add_argument("folder", help="the repository")
    parser.add_argument("url", help="s3://BUCKET or s3://BUCKET/PREFIX")
    parser.add_argument(
        "--endpoint", metavar="URL", help="of another store than AWS's: MinIO, Ceph, R2"
    )
    parser.add_argument(
        "--prune", action="store_true", help="remove what the repository no longer has"
    )


def run(args):
    counts = mirror(args.folder, args.url, args.endpoint, args.prune)
    args.result = counts
    print(
        f"{counts['sent']} files sent, {counts['bytes']:,} bytes; {counts['kept']} were there, "
        f"{counts['removed']} removed"
    )
