# SPDX-License-Identifier: MIT
"""``acclimate serve``: a repository of capsules over HTTP, for a laptop and for trying out.

Devices in the field are served as well by any static web server on the same folder.
"""

from pathlib import Path

from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.server import read_key
from acclimate_host.errors import AcclimateError, Missing


def add_arguments(parser):
    parser.add_argument("folder", help="the repository")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port (%(default)s; 0: any)")
    parser.add_argument(
        "--key", metavar="FILE", help="take only reports of devices that have this key"
    )
    parser.add_argument(
        "--no-reports", action="store_true", help="take no reports of devices at all"
    )


def run(args):
    try:
        from acclimate_host.capsules.web import serve
    except ImportError as error:
        hint = "pip install 'acclimate[serve]'"
        raise Missing(f"acclimate serve needs {error.name}: {hint}") from None
    if not Path(args.folder, "models").is_dir():
        raise AcclimateError(f"{args.folder}: no repository; acclimate publish makes one")
    if not 0 <= args.port <= 65535:
        raise AcclimateError(f"--port {args.port}: expected 0 to 65535")
    reports = None
    if not args.no_reports:
        key = read_key(args.key) if args.key else None
        reports = Reports(Path(args.folder, "reports"), key)
    serve(args.folder, args.host, args.port, reports)
