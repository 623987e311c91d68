# SPDX-License-Identifier: MIT
"""``acclimate completion SHELL``: print what completes verbs and options in a shell."""

import shtab

HELP = """\
bash  acclimate completion bash > ~/.local/share/bash-completion/completions/acclimate
zsh   acclimate completion zsh > ~/.zsh/completions/_acclimate     (a folder of fpath)
fish  acclimate completion fish > ~/.config/fish/completions/acclimate.fish
"""


def add_arguments(parser):
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="the shell")
    parser.epilog = HELP
    parser.formatter_class = _AsItStands


def run(args):
    from acclimate_host import cli

    print(shtab.complete(cli.parser(every=True), args.shell))


def _AsItStands(prog):  # noqa: N802 (argparse calls it as a class)
    import argparse

    return argparse.RawDescriptionHelpFormatter(prog)
