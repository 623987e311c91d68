# SPDX-License-Identifier: MIT
"""The command ``acclimate``: a table of verbs, each a module in acclimate_host/commands/.

Such a module has ``add_arguments(parser)`` and ``run(args)``, which returns the exit code or
None for 0. The exit codes of errors are listed in ``acclimate_host.errors``.
"""

import argparse
import importlib
import sys
import traceback

from acclimate_host import __version__
from acclimate_host.errors import AcclimateError, BoardError

# Verb -> what it does; the module has the verb's name, with _ for -.
COMMANDS = {
    "boards": "list the boards, and what each supports",
    "install": "copy the device package to a board: the right files, checked by hash",
    "romfs": "put the device package into a ROMFS image, in a file or on a board",
    "cp": "copy files to and from a board; a path on it begins with a colon",
    "run": "run a file on a board and show what it prints",
    "emulate": "start an emulated board at a pty, for mpremote, Thonny and --port",
    "repl": "talk to a board's prompt; Ctrl-] ends it",
    "capsule": "build capsules, look at them, verify them, make differences and keys",
    "publish": "offer a signed capsule in a repository, to all devices or a share of them",
    "serve": "serve a repository of capsules over HTTP",
    "fleet": "show what the devices of a repository report, and steer a rollout",
    "send": "send a capsule or update in numbered blocks over MQTT",
    "flash-capsule": "write a capsule region directly, or prepare a larger one",
    "pull": "let a board without network pull its next model over the serial line",
    "compile": "make a network's program for a board from an ONNX or TFLite file",
    "contribute": "measure what training each part of a network is worth, and choose for an arena",
    "show": "show a network's training step, its memory and its arena",
    "plan": "plan training for least energy within RAM and time",
    "teach": "teach a board in front of you, in the terminal or as a page",
    "record": "keep labelled windows of a board's sensor, as CSV and npy",
    "playground": "play with the device package in the browser, without a board",
    "profile": "measure a board, for plans: operators and page store",
    "doctor": "check this computer, and a board, and say what to do about it",
}
EXIT_INTERRUPTED = 130


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Return the argument parser; only the chosen verb's module is imported."""
    top = argparse.ArgumentParser(
        prog="acclimate", description="Models that keep learning on a microcontroller."
    )
    top.add_argument("--version", action="version", version=f"acclimate {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in COMMANDS.items():
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument(
            "-v", "--verbose", action="store_true", help="show the whole traceback of an error"
        )
        if name == verb:
            path = "acclimate_host.commands." + name.replace("-", "_")
            module = importlib.import_module(path)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code. Errors are one line on standard error."""
    argv = sys.argv[1:] if argv is None else list(argv)
    verb = next((word for word in argv if not word.startswith("-")), None)
    args = None
    try:
        args = parser(verb).parse_args(argv)
        return args.run(args) or 0
    except AcclimateError as error:
        if args and args.verbose:
            traceback.print_exc()
            if isinstance(error, BoardError):
                print(error.traceback, file=sys.stderr)
        print(f"acclimate {verb}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"acclimate {verb}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has seen enough
        return 0
    except (ValueError, RuntimeError) as error:
        if not type(error).__module__.startswith("acclimate."):
            raise
        if args and args.verbose:
            traceback.print_exc()
        print(f"acclimate {verb}: {error}", file=sys.stderr)  # of the device package, run here
        return AcclimateError.exit_code
    except OSError as error:
        if args and args.verbose:
            traceback.print_exc()
        name = f"{error.filename}: " if error.filename else ""
        print(f"acclimate {verb}: {name}{error.strerror or error}", file=sys.stderr)
        return AcclimateError.exit_code


if __name__ == "__main__":
    sys.exit(main())
