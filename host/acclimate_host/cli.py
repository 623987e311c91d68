# SPDX-License-Identifier: MIT
"""The command ``acclimate``: a table of verbs, each a module in acclimate_host/commands/.

Such a module has ``add_arguments(parser)`` and ``run(args)``, which returns the exit code or
None for 0. The exit codes of errors are listed in ``acclimate_host.errors``.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator
from typing import NoReturn

from acclimate_host import __version__
from acclimate_host.commands.showing import waiting
from acclimate_host.errors import AcclimateError, BoardError, did_you_mean
from acclimate_host.output import flush_libraries

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
    "keys": "sign which keys count: the list that boards with Ed25519 follow",
    "serve": "serve a repository of capsules over HTTP",
    "rollout": "bring a release to more and more devices; halts by itself on harm",
    "mirror": "keep a second copy of a repository in an object store (S3)",
    "fleet": "show what the devices of a repository report, and steer a rollout",
    "send": "send a capsule or update in numbered blocks over MQTT",
    "status": "show which models a board's store holds, and change nothing",
    "confirm": "use a board's model on trial from now on",
    "rollback": "let a board go back to the model before",
    "flash-capsule": "write a capsule region directly, or prepare a larger one",
    "pull": "let a board without network pull its next model over the serial line",
    "compile": "make a network's program for a board from an ONNX or TFLite file",
    "choose": "choose kernel, C, gamma and vectors of an SVM for a board, by users not seen",
    "contribute": "measure what training each part of a network is worth, and choose for an arena",
    "show": "show a network's training step, its memory and its arena",
    "plan": "plan training for least energy within RAM and time",
    "teach": "teach a board in front of you, in the terminal or as a page",
    "record": "keep labelled windows of a board's sensor, as CSV and npy",
    "playground": "play with the device package in the browser, without a board",
    "profile": "measure a board, for plans: operators and page store",
    "doctor": "check this computer, and a board, and say what to do about it",
    "demo": "show the main job on real recordings: a new user, training on the board, pictures",
    "bench": "measure training and prediction on a board, native and in pure Python",
    "completion": "print what completes verbs and options in a shell",
}
# Verbs that talk or run until they are ended, or whose output is another program's.
_WITHOUT_RESULT = (
    *("run", "repl", "emulate", "serve", "completion", "demo", "bench"),
    *("teach", "record", "playground"),
)
_BEFORE_A_VERB = ("-h", "--help", "--version")
_VERBOSE = ("-v", "--verbose")
EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Ends each message about the command line with the next step."""

    def error(self, message: str) -> NoReturn:
        super().error(f"{message}; {self.prog} -h says more")

    def parse_known_args(self, *args, **options):  # type: ignore[no-untyped-def]
        """Refuse unknown arguments here, where the verb's options are known."""
        found, unknown = super().parse_known_args(*args, **options)
        if unknown:
            options_here = re.findall(r"--[a-z][a-z0-9-]*", self.format_usage())
            near = did_you_mean(unknown[0].partition("=")[0], options_here)
            self.error(f"no such argument: {' '.join(unknown)}{near}")
        self._check_names(found)
        return found, unknown

    def _check_names(self, found: argparse.Namespace) -> None:
        """Refuse a name that is empty, such as a variable that is not set: --key '' would sign
        nothing, and --object-key '' encrypt nothing."""
        for action in self._actions:
            if action.metavar != "FILE" and action.dest != "folder":
                continue
            value = getattr(found, action.dest, None)
            if value == "" or isinstance(value, list) and "" in value:
                name = action.option_strings[-1] if action.option_strings else action.dest
                raise AcclimateError(f"{name} '': expected a path")


def parser(verb: str | None = None, every: bool = False) -> argparse.ArgumentParser:
    """Return the argument parser; only the chosen verb's module is imported.

    :param every: import all of them, for what describes the whole command.
    """
    top = _Parser(
        prog="acclimate",
        description="Models that keep learning on a microcontroller.",
        epilog="Begin with: acclimate doctor; then acclimate install --port DEV, or without a "
        "board acclimate run FILE --board desktop.",
    )
    top.add_argument(*_VERBOSE, action="store_true", help="that of the verb; also taken here")
    top.add_argument("--version", action="version", version=f"acclimate {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in COMMANDS.items():
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument(
            *_VERBOSE, action="store_true", help="show the whole traceback of an error"
        )
        if name == verb or every:
            path = "acclimate_host.commands." + name.replace("-", "_")
            module = importlib.import_module(path)
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
            if name not in _WITHOUT_RESULT and "--json" not in sub.format_usage():
                sub.add_argument(
                    "--json", dest="as_json", action="store_true", help="print the result as JSON"
                )
    return top


def _run(args: argparse.Namespace, verb: str | None) -> int:
    """Run a verb; with ``--json`` its words go to standard error, its result is printed."""
    if verb in _WITHOUT_RESULT:
        return args.run(args) or 0
    if not getattr(args, "as_json", False):  # or the verb prints JSON by itself
        with waiting(f"{verb} is at work"):
            return args.run(args) or 0
    words = io.StringIO()
    with waiting(f"{verb} is at work"), contextlib.redirect_stdout(words):
        code = args.run(args) or 0
    result = getattr(args, "result", None)
    if result is None:
        result = {"lines": words.getvalue().splitlines()}
    print(json.dumps(result, indent=1, default=str))
    return code


@contextlib.contextmanager
def _own_output() -> Iterator[None]:
    """Keep standard output for what is printed here: what libraries write past Python goes to
    standard error."""
    try:
        ours = sys.stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours:
        yield
        return
    sys.stdout.flush()
    flush_libraries()
    before = sys.stdout
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with open(kept, "w", encoding=before.encoding, errors=before.errors, closefd=False) as own:
            if own.isatty():
                own.reconfigure(line_buffering=True)
            sys.stdout = own
            yield
    finally:
        sys.stdout = before
        flush_libraries()
        os.dup2(kept, 1)
        os.close(kept)


def _verb_first(argv: list[str]) -> list[str]:
    """Return the words with a -v that stands before the verb behind it, as all verbs have it."""
    at = next((i for i, word in enumerate(argv) if word not in _VERBOSE), 0)
    return [*argv[at : at + 1], *argv[:at], *argv[at + 1 :]]


def _is_known(verb: str | None, argv: list[str]) -> bool:
    """Tell whether there is a verb to run, or an option in its place; else say what is missing."""
    first = argv[0] if argv else ""
    if first in _VERBOSE:
        text = f"{first} belongs to a verb: name one"
    elif first.startswith("-") and not any(own.startswith(first) for own in _BEFORE_A_VERB):
        text = f"no option {first} before a verb{did_you_mean(first, _BEFORE_A_VERB)}"
    elif verb in COMMANDS or verb is None and argv:
        return True
    elif verb is None:
        parser().print_help(sys.stderr)
        text = "name a verb"
    else:
        text = f"no verb {verb}{did_you_mean(verb, COMMANDS)}"
    print(f"acclimate: {text}; acclimate -h lists them", file=sys.stderr)
    return False


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code. Errors are one line on standard error."""
    argv = _verb_first(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in argv if not word.startswith("-")), None)
    if not _is_known(verb, argv):
        return AcclimateError.exit_code
    args = None
    try:
        args = parser(verb).parse_args(argv)
        with _own_output():
            return _run(args, verb)
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
