# SPDX-License-Identifier: MIT
"""``acclimate status``: what a board's store holds, read over the cable.

The board's flash is only read: no boot of a model on trial is counted.
"""

import json
import time
from pathlib import Path

from acclimate.pull import make_report
from acclimate_host.capsules import cable, region
from acclimate_host.capsules.reports import Reports
from acclimate_host.capsules.server import read_key
from acclimate_host.commands import add_board_arguments, add_region_arguments, open_chosen
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    add_board_arguments(parser)
    add_region_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--report", metavar="FOLDER", help="also keep it in a repository as the device's report"
    )
    parser.add_argument("--device", type=int, metavar="N", help="its number, for --report")
    parser.add_argument("--key", metavar="FILE", help="signs the report")


def run(args):
    if args.report and args.device is None:
        raise AcclimateError("--report: name the device with --device N")
    if args.report and not Path(args.report, "models").is_dir():
        raise AcclimateError(f"{args.report}: no repository; acclimate publish makes one")
    key = read_key(args.key) if args.key else None
    with open_chosen(args, **region.open_options(args.board)) as board:
        place = region.region_of(board, args.region, args.start, args.bytes)
        store = cable.open_store(board, place, key=key)
        name = board.name
    said = cable.describe(store)
    if args.report:
        reports = Reports(Path(args.report, "reports"), key)
        reports.take(make_report(store, args.device, int(time.time())))
    if args.json:
        print(json.dumps(said, indent=1))
        return
    print(f"{name}: version {said['version']}, {said['state']}")
    if said["boots"]:
        print(f"  booted {said['boots']} times on trial")
    if said["verdict"]:
        print(f"  verdict on the latest verified model: {said['verdict']}, {said['score']}")
    print(f"  highest version tried: {said['floor']}; {said['erases']} slot pages erased")
    if said["note"]:
        print(f"  {said['note']}")
