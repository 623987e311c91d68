# SPDX-License-Identifier: MIT
"""``acclimate flash-capsule FILE``: write a capsule region directly, or prepare a larger one."""

from pathlib import Path

from acclimate_host.capsules import flasher, partitions, region
from acclimate_host.capsules.build import read
from acclimate_host.capsules.image import fit, region_bytes_for, region_image
from acclimate_host.capsules.server import read_key
from acclimate_host.commands import (
    add_board_arguments,
    add_region_arguments,
    open_chosen,
    progress,
    read_bytes,
    read_capsule,
    to_number,
    write_bytes,
    write_together,
)
from acclimate_host.errors import AcclimateError, Refused


def add_arguments(parser):
    parser.add_argument("capsule", help="a file that capsule build made")
    add_board_arguments(parser, needed=False)
    add_region_arguments(parser)
    parser.add_argument(
        "--key", metavar="FILE", help="check the capsule with it, and give it to the board"
    )
    parser.add_argument("--esp32", metavar="PORT", help="a chip in its loader, through esptool")
    parser.add_argument(
        "--table",
        metavar="FILE",
        help="prepare files: a partition table of an ESP32, as read by "
        "esptool read-flash 0x8000 0xC00 FILE",
    )
    parser.add_argument(
        "--flash-bytes", type=to_number, default=0x400000, help="of the chip (%(default)#x)"
    )
    parser.add_argument("--shrink", metavar="NAME", help="partition that may become smaller")
    parser.add_argument(
        "--firmware", metavar="FILE", help="make a whole flash image of it as well"
    )
    parser.add_argument(
        "--firmware-at", type=to_number, default=0x1000, help="where it starts (%(default)#x)"
    )
    parser.add_argument("--uf2", choices=sorted(flasher.UF2_FAMILIES), help="prepare a UF2 file")
    parser.add_argument("-o", "--output", metavar="FOLDER", default=".", help="for prepared files")


def run(args):
    capsule, _ = read_capsule(args.capsule)
    key = read_key(args.key) if args.key else None
    if args.table:
        return _prepare(args, capsule, key)
    if args.uf2:
        return _uf2(args, capsule, key)
    if args.esp32:
        place = flasher.write_esp32(
            args.esp32, lambda size: region_image(capsule, size, partitions.PAGE_BYTES, key)
        )
        print(f"{args.esp32}: partition {place.name} at {place.offset:#x} written and verified")
        return None
    if not (args.port or args.board):
        raise AcclimateError("name a board: --board, --port, --esp32; or --table, --uf2 for files")
    with open_chosen(args, **region.open_options(args.board)) as board:
        return _write(args, board, capsule, key)


def _write(args, board, capsule, key):
    """Through the board's prompt: sizes first, then page by page, then the Store's own word."""
    total = read(capsule).total
    place = region.region_of(board, args.region, args.start, args.bytes)
    region.require(board, place)
    region.prepare(board)
    if place.path:
        board.put_bytes(region_image(capsule, place.bytes, key=key), place.path)
    else:
        size, page = flasher.shape(board, place)
        whole = size
        if args.bytes and not args.region and board.emulated:
            whole = flasher.shape(board, region.region_of(board))[0]
            flasher.shape(board, place)
        judged = fit(total, size, whole, page)
        print(f"{board.name}: {judged.text()}")
        if judged.way != "fits":
            hint = ""
            if judged.way == "new layout":
                hint = f"; run again with --bytes {judged.needed}"
            raise Refused(f"{board.name}: nothing was written{hint}")
        image = region_image(capsule, size, page, key)
        flasher.write_region(board, image, page, lambda i, n: progress(f"page {i} of {n}", i, n))
        progress("")
    if key is not None:
        region.give_key(board, key)
    state, version, note = region.open_store(board, place, model=read(capsule).model)
    if version != read(capsule).version or state != "confirmed":
        raise AcclimateError(f"{board.name}: written, but its store says: {state}, {note}")
    args.result = {"board": board.name, "version": version, "state": state}
    print(f"{board.name}: version {version}, {state}")


def _prepare(args, capsule, key):
    """Files for an ESP32: a table with a capsule partition, the region, the whole image."""
    table = partitions.read(read_bytes(args.table))
    firmware = read_bytes(args.firmware) if args.firmware else None
    partitions.check(table, args.flash_bytes)
    old = partitions.find(table)
    total = read(capsule).total
    needed = args.bytes or region_bytes_for(total, partitions.PAGE_BYTES)
    size = max(needed, old.size if old else 0)
    made = table
    if old is None or old.size < size:
        made = partitions.with_capsule(table, size, args.flash_bytes, args.shrink)
    place = partitions.find(made)
    image = region_image(capsule, place.size, partitions.PAGE_BYTES, key)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    write_together(
        {
            folder / "partition-table.bin": partitions.write(made),
            folder / "capsule-region.bin": image,
        }
    )
    for p in made:
        mark = "  new" if p not in table else ""
        print(f"{p.offset:#9x} {p.size:#9x}  {p.name}{mark}")
    if firmware is not None:
        flasher.full_image(
            firmware,
            args.firmware_at,
            partitions.write(made),
            place,
            image,
            folder / "firmware-with-capsule.bin",
        )
        print(f"whole image: esptool write-flash 0x0 {folder / 'firmware-with-capsule.bin'}")
    else:
        print(
            f"esptool write-flash {partitions.TABLE_AT:#x} {folder / 'partition-table.bin'} "
            f"{place.offset:#x} {folder / 'capsule-region.bin'}"
        )
    return None


def _uf2(args, capsule, key):
    if not (args.start and args.bytes):
        raise AcclimateError("--uf2: give the region's --start and --bytes")
    page = flasher.uf2_page(args.uf2, args.start, args.bytes)
    image = region_image(capsule, args.bytes, page, key)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "capsule-region.uf2"
    write_bytes(path, flasher.uf2(image, args.start, flasher.UF2_FAMILIES[args.uf2]))
    print(f"{path}: copy it to the board's drive")
