# SPDX-License-Identifier: MIT
"""``acclimate romfs``: the device package as a ROMFS image, in a file or on a board."""

from acclimate_host import boards
from acclimate_host.commands import (
    add_board_arguments,
    open_chosen,
    progress,
    to_names,
    write_bytes,
)
from acclimate_host.connect import romfs
from acclimate_host.errors import AcclimateError


def add_arguments(parser):
    add_board_arguments(parser, needed=False)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the image to a file")
    parser.add_argument(
        "--arch", choices=boards.ARCHS, help="native modules for it; a board is asked for its own"
    )
    parser.add_argument("--only", metavar="NAMES", help="these modules and what they import")
    parser.add_argument("--pure", action="store_true", help="leave native modules out")
    parser.add_argument(
        "--region", type=int, default=0, metavar="N", help="of the board's regions (%(default)s)"
    )


def run(args):
    only = to_names(args.only) if args.only else None
    if args.output:
        image = romfs.build(args.arch, only, args.pure or args.arch is None)
        write_bytes(args.output, image)
        args.result = {"file": str(args.output), "image_bytes": len(image)}
        print(f"{args.output}: {len(image):,} bytes, bytecode as lib/acclimate")
        if args.pure or not args.arch:
            print("no native modules in it" + ("" if args.pure else ": --arch ARCH puts them in"))
        else:
            print(f"native modules of {args.arch}: {romfs.NATIVE_NOTE}")
        return
    if not (args.port or args.board):
        raise AcclimateError("name the board: --port DEV or --board NAME; or a file: -o FILE")
    with open_chosen(args) as board:
        size = romfs.region(board, args.region)[0]
        info = board.info()
        pure = args.pure or not board.loads_native()
        image = romfs.build(info.arch, only, pure)
        print(f"{board.name}: image of {len(image):,} bytes, region of {size:,}")
        romfs.deploy(
            board, image, args.region, lambda done, total: progress("writing", done, total)
        )
        progress("")
    args.result = {"board": board.name, "image_bytes": len(image), "region_bytes": size}
    print(f"{board.name}: written and read back; reset the board to use it")
    if not pure:
        print(romfs.NATIVE_NOTE)
