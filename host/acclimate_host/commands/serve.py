# SPDX-License-Identifier: MIT
"""``acclimate serve``: a repository of capsules over HTTP, for a laptop and for trying out.

Devices in the field are served as well by any static web server on the same folder.
"""

import sys
from pathlib import Path

from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.server import read_key
from acclimate_host.errors import AcclimateError, Missing


def add_arguments(parser):
    parser.add_argument("folder", help="the repository")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port (%(default)s; 0: any)")
    parser.add_argument(
        "--key", metavar="FILE", help="take reports of devices that have this key, or one of it"
    )
    parser.add_argument(
        "--unsigned-reports",
        action="store_true",
        help="without a key, take reports of anybody; they are marked",
    )
    parser.add_argument(
        "--no-reports", action="store_true", help="take no reports of devices at all"
    )
    parser.add_argument(
        "--dashboard", action="store_true", help="show the fleet and its rollouts at /fleet"
    )


def run(args):
    if not Path(args.folder, "models").is_dir():
        raise AcclimateError(f"{args.folder}: no repository; acclimate publish makes one")
    try:
        from acclimate_host.capsules.web import serve
    except ImportError as error:
        raise Missing(f"this needs {error.name}: pip install 'acclimate[serve]'") from None
    if not args.host:
        raise AcclimateError("--host '': expected an address; 0.0.0.0 is all of them")
    if not 0 <= args.port <= 65535:
        raise AcclimateError(f"--port {args.port}: expected 0 to 65535")
    reports = None
    key = read_key(args.key) if args.key else None
    if not args.no_reports and (key or args.unsigned_reports):
        if key is not None and not isinstance(key, bytes):
            raise AcclimateError(f"--key {args.key}: reports have HMAC keys; give the fleet's")
        folder = Path(args.folder)
        reports = Reports(folder / "reports", key, models=folder / "models")
    elif not args.no_reports:
        print("no reports are taken: --key FILE or --unsigned-reports", file=sys.stderr)
    serve(args.folder, args.host, args.port, reports, args.dashboard)
