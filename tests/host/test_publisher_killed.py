# SPDX-License-Identifier: MIT
"""A publisher that is killed before any change of a file, and the same command run again.

Devices get the old model or the new one meanwhile, and the second run ends as a first one does.
"""

import os
import sys

import capsule_cases as cases
import pytest
from test_repository_rules import files

from acclimate.pull.exchange import Pull
from acclimate_host.capsules.repository import Repository
from acclimate_host.cli import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="it needs fork")
KILLED = 9


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with keys, capsules and a repository of two cohorts, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fleet.key").write_bytes(cases.KEY)
    content = cases.weights(301, 1)
    for version in range(1, 5):
        data = cases.capsule(version, cases.tuned(content, version))
        (tmp_path / f"{version}.acap").write_bytes(data)
    made = Repository("a shop", cases.KEY)
    made.publish((tmp_path / "1.acap").read_bytes())
    made.publish((tmp_path / "1.acap").read_bytes(), "beta")
    made.write_tags(cases.KEY, [17], 7, "all")
    return made


def killed_at(n, command):
    """Run a command in a child that dies before its n-th change of a file; tell whether it did."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    left = [n]

    def watch(event, arguments):
        if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
        ):
            left[0] -= 1
            if not left[0]:
                os._exit(KILLED)

    sys.addaudithook(watch)
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        code = main(command)
    finally:
        os._exit(0 if code == 0 else 1)


def pulled(shop):
    """Return the version that a device with version 1 has after a pull."""
    store = cases.store(cases.flash())
    store.swap_capsule((shop.folder.parent / "1.acap").read_bytes())
    pull = Pull(store, "http://host/models/7/all.man")
    while (request := pull.request()) is not None:
        path = shop.folder / request[3].split(b" ")[1].decode()[1:]
        body = path.read_bytes()
        reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        pull.feed(memoryview(reply), len(reply))
    if pull.is_ready:
        store.confirm()
    return store.head.version


SIGNED = "--key fleet.key"
COMMANDS = {
    "publish": (f"publish S 2.acap {SIGNED}", 2),
    "start": (f"rollout S start 2.acap --stages 100 {SIGNED}", 2),
    "share": (f"fleet S --model 7 --percent 40 {SIGNED}", 1),
    "pause": (f"rollout S pause --model 7 {SIGNED}", 1),  # it is offered to nobody
    "back": (f"rollout S back --model 7 {SIGNED}", 3),
    "prune": ("rollout S prune --deltas 0", 2),
}
BEFORE = {
    "pause": [COMMANDS["start"][0]],
    "back": [COMMANDS["start"][0]],
    "prune": [COMMANDS["publish"][0]],
}


def words(text):
    return ["a shop" if word == "S" else word for word in text.split()]


def put_back(shop, kept):
    for path in shop.folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for name, data in kept.items():
        (shop.folder / name).write_bytes(data)


LONG = ("publish", "pause", "start", "back")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in COMMANDS]
)
def test_a_command_that_was_killed_is_run_again(name, shop, capsys):
    command, last = words(COMMANDS[name][0]), COMMANDS[name][1]
    for text in BEFORE.get(name, ()):
        assert main(words(text)) == 0
    first = pulled(shop)
    kept = files(shop.folder)
    for n in range(1, 200):
        put_back(shop, kept)
        if not killed_at(n, command):
            break
        assert pulled(shop) in (first, last)
        capsys.readouterr()
        code, said = main(command), capsys.readouterr().err
        is_done = (
            "expected above" in said or "is running: wait" in said or "expected running" in said
        )
        assert code == 0 or is_done or (name == "back" and not said), (n, code, said)
        assert pulled(shop) >= last, n
        for _, cohort, manifest in shop.models():
            assert all((shop.folder / "objects" / e.name).exists() for e in manifest.entries), (
                cohort
            )
    assert n > 3
