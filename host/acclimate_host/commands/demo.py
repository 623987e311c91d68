# SPDX-License-Identifier: MIT
"""``acclimate demo``: the main job on real recordings, as `make demo` shows it in a clone."""

from acclimate_host.connect import firmware
from acclimate_host.errors import Missing


def add_arguments(parser):
    from acclimate_host.demo.__main__ import add_arguments

    add_arguments(parser)


def run(args):
    from acclimate_host.demo import __main__ as demo
    from acclimate_host.demo import watch
    from acclimate_host.paths import built

    if watch.source_path() is None and not built("data", "watch.npz").exists():
        raise Missing("the recordings come with seglearn: run: pip install 'acclimate[demo]'")
    if not args.port:
        firmware.prepare(args.board)
    return demo.run(args)
