# SPDX-License-Identifier: MIT
"""``acclimate teach``: show a board some gestures; it trains itself, in front of you."""

import webbrowser

from acclimate_host.commands import to_port
from acclimate_host.errors import Missing
from acclimate_host.page.files import folder
from acclimate_host.teach import terminal
from acclimate_host.teach.start import add_session_arguments, session


def add_arguments(parser):
    add_session_arguments(parser)
    parser.add_argument("--record", metavar="FOLDER", help="keep the labelled windows there, too")
    parser.add_argument("--web", action="store_true", help="as a page in this computer's browser")
    parser.add_argument(
        "--http", type=to_port, default=0, metavar="PORT", help="of the page (%(default)s: any)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(args):
    bridge_of = _bridge() if args.web else None
    with session(args, args.record) as board:
        if bridge_of is None:
            return terminal.teach(board)
        bridge = bridge_of(board, args.http)
        bridge.start()
        print(f"the page is at {bridge.address} until Ctrl-C", flush=True)
        if args.open:
            webbrowser.open(bridge.address)
        try:
            bridge.run()
        finally:
            bridge.stop()


def _bridge():
    """Return the class of the bridge, before a board is touched."""
    try:
        from acclimate_host.teach.bridge import Bridge
    except ImportError as error:
        hint = "pip install 'acclimate[teach]'"
        raise Missing(f"--web needs {error.name}: {hint}") from None
    folder()
    return Bridge
