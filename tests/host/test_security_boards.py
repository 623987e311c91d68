# SPDX-License-Identifier: MIT
"""From a key to a board that updates itself, by the commands of the docs, on real runtimes."""

import json
import os

import capsule_cases as cases
import pytest

from acclimate_host.capsules import region
from acclimate_host.capsules.tunnel import pull
from acclimate_host.cli import main
from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import Refused
from harness import web

REGION = 10 * 4096


@pytest.fixture(params=["desktop", pytest.param("nrf52840", marks=pytest.mark.slow)])
def board(request):
    reason = why_not(request.param)
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with open_board(request.param) as opened:
        yield opened


def run(*words):
    assert main([str(word) for word in words]) == 0


@pytest.fixture
def keys(tmp_path):
    for name in ("root", "release", "rollout", "thief"):
        run("capsule", "key", tmp_path / name, "--ed25519")
    run("keys", tmp_path / "repo", "--root", tmp_path / "root", *listed(tmp_path, "release"))
    return tmp_path


def listed(folder, release):
    return "--release", folder / f"{release}.pub", "--rollout", folder / "rollout.pub"


def publish(folder, version, key="release", epoch=0):
    weights = folder / "weights"
    weights.write_bytes(cases.weights(900, version))
    made = folder / "made.acap"
    words = ("--model", 7, "--version", version, "--kind", "svm", "--weights", weights)
    run("capsule", "build", "-o", made, *words, "--key", folder / key, "--epoch", epoch)
    run("publish", folder / "repo", made, "--key", folder / "rollout")


def boot(board):
    board.soft_reset()
    return region.open_store(board, region.region_of(board, size=REGION), model=7)


_SAVE = """
_w = bytearray(store.section(2)[1])
store.readinto(2, 0, _w)
_w[0] ^= 1
print(store.save(_w))
"""


def test_a_board_follows_its_root_and_forgets_a_stolen_key(board, keys):
    from acclimate_host.capsules import key_list
    from acclimate_host.capsules.signing import read_public

    root = read_public(keys / "root.pub")
    region.give_trust(board, key_list.trust(root, b"s" * 32, b"r" * 32, True))
    region.prepare(board)
    publish(keys, 1)
    assert boot(board)[0] == "empty"
    with web.Server(web.files(keys / "repo")) as server:
        assert pull(board, server.url) == ""
        board.exec("store.confirm()")
        path = region.key_path(board)
        whole = board.get_bytes(path + ".0")
        for place in (0, 1):  # one damaged list of two is mended at boot
            board.put_bytes(whole[:-1], f"{path}.{place}")
            assert boot(board)[:2] == ("confirmed", 1)
            assert board.get_bytes(f"{path}.{place}") == whole
        assert board.exec("print(bytes(store.wanted.key.root).hex())").strip() == root.hex()
        board.exec(_SAVE, 60)
        assert boot(board)[:2] == ("confirmed", 1)
        assert board.exec("print(store.head.is_local)").strip() == "True"
        with pytest.raises(AssertionError):  # of a key that is not listed: not even published
            publish(keys, 2, "thief")
        words = listed(keys, "thief")
        run("keys", keys / "repo", "--root", keys / "root", *words, "--raise-epoch")
        publish(keys, 2, "thief", 1)
        assert pull(board, server.url) == ""
        board.exec("store.confirm()")
        assert boot(board)[:2] == ("confirmed", 2)
        assert board.exec("print(store.journal.keys)").strip() == str(1 << 16 | 2)


def test_a_board_without_a_key_takes_nothing_over_the_line(board, keys):
    region.prepare(board)
    board.exec(f"import os\ntry:\n os.remove({region.key_path(board)!r})\nexcept OSError: pass")
    publish(keys, 1)
    boot(board)
    with web.Server(web.files(keys / "repo")) as server:
        with pytest.raises(Refused, match="no key here"):
            pull(board, server.url)


def test_the_commands_refuse_what_makes_no_sense(keys, capsys):
    assert main(["keys", str(keys / "repo"), "--raise-epoch"]) != 0
    assert main(["keys", str(keys / "repo"), "--root", str(keys / "root")]) != 0
    thief = [
        "keys",
        str(keys / "repo"),
        "--root",
        str(keys / "thief"),
        *map(str, listed(keys, "thief")),
    ]
    assert main(thief) != 0
    assert main(["capsule", "key", str(keys / "root"), "--board", "desktop"]) != 0
    error = capsys.readouterr().err
    assert "a private key goes to no board" in error and "expected the key that signed" in error
    assert main(["keys", str(keys / "repo")]) == 0
    assert "list 1, epoch 0" in capsys.readouterr().out
    assert main(["keys", str(keys / "repo"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["list"], found["epoch"]) == (1, 0) and len(found["root"]) == 64
    assert len(found["release"]) >= 1 and len(found["rollout"]) >= 1
