# SPDX-License-Identifier: MIT
"""``acclimate playground``: the device package in the browser of this computer."""

import webbrowser

from acclimate_host.commands import to_port
from acclimate_host.page.serve import HOST, server


def add_arguments(parser):
    parser.add_argument(
        "--http",
        type=to_port,
        default=8765,
        metavar="PORT",
        help="port of 127.0.0.1 to listen at (%(default)s; 0: any)",
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def run(args):
    with server(args.http) as http:
        address = f"http://{HOST}:{http.server_address[1]}/"
        print(f"the page is at {address} until Ctrl-C", flush=True)
        if args.open:
            webbrowser.open(address)
        http.serve_forever()
