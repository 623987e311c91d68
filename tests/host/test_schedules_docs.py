# SPDX-License-Identifier: MIT
"""docs/schedules.md shows what the commands really print, and its pictures are there."""

import re

import pytest

from acclimate_host.cli import main
from acclimate_host.paths import repository

TEXT = (repository() / "docs" / "schedules.md").read_text(encoding="utf-8")


def _shown(command):
    """The lines below a command, up to the next empty one."""
    lines = TEXT.split("    $ " + command + "\n")[1].splitlines()
    return [line[4:] for line in lines[: lines.index("")]]


@pytest.mark.parametrize(
    "command",
    [
        "acclimate plan linear --board m4 --ram 50%",
        "acclimate plan linear --sweep ram=45%,60%,100% --sweep method=poet,dtr,capuchin",
    ],
)
def test_plans_are_what_the_commands_print(command, capsys):
    assert main(command.split()[1:]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed[-len(_shown(command)) :] == _shown(command)


def test_the_refusal_is_what_the_command_prints(capsys):
    assert main("plan linear --ram 3000".split()) == 2
    assert capsys.readouterr().err.strip() == _shown("acclimate plan linear --ram 3000")[0]


def test_pictures_are_there_and_small():
    pictures = [repository() / "docs" / name for name in re.findall(r"\]\((images/\S+)\)", TEXT)]
    assert len(pictures) == 4
    assert sum(picture.stat().st_size for picture in pictures) < 300_000


@pytest.mark.parametrize(
    "ram",
    [
        "100k",
        pytest.param("256k", marks=pytest.mark.slow),
        pytest.param("320k", marks=pytest.mark.slow),
    ],
)
def test_the_tutorial_shows_the_plans_that_the_command_finds(ram, capsys):
    page = (repository() / "docs" / "tutorials" / "plan_256kb.md").read_text(encoding="utf-8")
    command = re.search(rf"^acclimate (plan resnet8_cifar .*{ram}[^|\n]*)", page, re.MULTILINE)[1]
    main(command.split())
    said = capsys.readouterr()
    lines = [line.rstrip() for line in (said.out + said.err).splitlines()]
    shown = [line for line in lines if line.startswith(("peak RAM", "acclimate plan: no plan"))]
    assert shown and all(line in page for line in shown)
