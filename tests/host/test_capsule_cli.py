# SPDX-License-Identifier: MIT
"""`acclimate capsule` as a person uses it."""

import json
import stat

import capsule_cases as cases
import pytest

from acclimate.store import CapsuleError
from acclimate_host.capsules import region
from acclimate_host.capsules.keys import device_key
from acclimate_host.capsules.layout import HEADER, UPDATE
from acclimate_host.cli import main
from acclimate_host.connect import open_board, why_not
from acclimate_host.errors import Missing
from harness.errors import because


@pytest.fixture
def files(tmp_path):
    main(["capsule", "key", str(tmp_path / "key")])
    key = (tmp_path / "key").read_bytes()
    base = cases.weights(600, 1)
    for version, content in ((1, base), (2, cases.tuned(base, 2))):
        (tmp_path / f"v{version}").write_bytes(cases.capsule(version, content, key))
    return tmp_path


def test_key_is_private_and_never_overwritten(files, capsys):
    assert stat.S_IMODE((files / "key").stat().st_mode) == 0o600
    before = (files / "key").read_bytes()
    assert main(["capsule", "key", str(files / "key")]) == 2
    assert "never overwritten" in capsys.readouterr().err
    assert (files / "key").read_bytes() == before and len(before) == 32


def test_inspect_shows_what_an_update_is_for(files, capsys):
    made = files / "update"
    assert main(["capsule", "diff", str(files / "v1"), str(files / "v2"), "-o", str(made)]) == 0
    capsys.readouterr()
    assert main(["capsule", "inspect", str(made), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["base_sha256"] == (files / "v1").read_bytes()[20:52].hex()
    assert (shown["version"], shown["model"]) == (2, 7)
    assert shown["target_bytes"] == len((files / "v2").read_bytes())
    assert main(["capsule", "verify", str(made)]) == 6
    assert "update" in capsys.readouterr().err
    made.write_bytes(made.read_bytes()[:60])
    assert main(["capsule", "inspect", str(made)]) != 0
    assert "update of 60 bytes" in capsys.readouterr().err


def test_inspect_shows_the_header(files, capsys):
    assert main(["capsule", "inspect", str(files / "v2"), "--json"]) == 0
    out = capsys.readouterr().out
    shown = json.loads(out[out.index("{") :])
    assert shown["version"] == 2 and shown["kind"] == "SVM" and shown["intact"]
    assert shown["sections"] == {"PROGRAM": 20, "WEIGHTS": 600}


@pytest.mark.case("E16")
def test_verify_names_integrity_and_authenticity_apart(files, capsys):
    assert main(["capsule", "verify", str(files / "v1"), "--key", str(files / "key")]) == 0
    (files / "other").write_bytes(bytes(32))
    assert main(["capsule", "verify", str(files / "v1"), "--key", str(files / "other")]) == 6
    assert "authenticity: it was not signed" in capsys.readouterr().err
    data = bytearray((files / "v1").read_bytes())
    data[-1] ^= 1
    (files / "v1").write_bytes(data)
    assert main(["capsule", "verify", str(files / "v1")]) == 6
    assert "integrity" in capsys.readouterr().err


def test_diff_makes_what_a_device_applies(files, capsys):
    command = ["capsule", "diff", str(files / "v1"), str(files / "v2"), "-o", str(files / "up")]
    assert main(command) == 0
    assert "the whole capsule has" in capsys.readouterr().out
    store = cases.store(cases.flash(), key=(files / "key").read_bytes())
    store.swap_capsule((files / "v1").read_bytes())
    store.swap_capsule((files / "up").read_bytes())
    assert cases.active(store) == (files / "v2").read_bytes()


def test_what_is_no_capsule_is_one_line(files, capsys):
    assert main(["capsule", "inspect", str(files / "key")]) == 6
    assert main(["capsule", "inspect", str(files / "missing")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_device_s_key_reaches_the_board_and_no_other(files, capsys):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    master, one = str(files / "key"), str(files / "17.key")
    assert main(["capsule", "key", master, "--device", "17"]) == 2
    assert "say where to" in capsys.readouterr().err
    assert main(["capsule", "key", master, "--device", "0", "-o", one]) == 6
    assert main(["capsule", "key", master, "--device", "17", "-o", one, "--board", "desktop"]) == 0
    assert "capsule.key, and reads back as sent" in capsys.readouterr().out
    key = (files / "17.key").read_bytes()
    assert key == device_key((files / "key").read_bytes(), 17) != device_key(key, 17)
    # What is signed for one device is refused by another, and by one with the master key.
    data = cases.capsule(3, key=key, device=9)
    for other in ((files / "key").read_bytes(), device_key((files / "key").read_bytes(), 18)):
        with pytest.raises(CapsuleError, check=because("authenticity")):
            cases.store(cases.flash(), key=other).swap_capsule(data)
    cases.store(cases.flash(), key=key).swap_capsule(data)


@pytest.mark.parametrize("name", ["nrf52840", "samd21"])
def test_a_key_given_to_a_board_is_the_one_its_store_uses(files, name, capsys):
    try:
        options = region.open_options(name)
    except Missing as error:
        pytest.skip(str(error))
    if why_not(name):
        pytest.skip(why_not(name))
    with open_board(name, **options) as board:
        region.give_key(board, device_key((files / "key").read_bytes(), 17))
        assert board.get_bytes(region.key_path(board)) == device_key(
            (files / "key").read_bytes(), 17
        )


def flipped(data):
    """Yield the bytes with one bit flipped: where sections are counted, and here and there."""
    counts = [HEADER.offset("sections"), UPDATE.bytes + HEADER.offset("sections")]
    for at in sorted({*counts, *range(0, 180, 7), *range(180, len(data), 97)}):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        yield at, bytes(damaged)


def test_a_flipped_bit_is_no_traceback_and_never_verified(files, capsys):
    key, old, new = files / "key", files / "v1", files / "v2"
    main(["capsule", "diff", str(old), str(new), "-o", str(files / "update")])
    damaged = files / "damaged"
    capsys.readouterr()
    for name in ("v1", "update"):
        whole = (files / name).read_bytes()
        cut = [(at, whole[:at]) for at in range(0, len(whole) - 1, 97)]
        for at, data in [*flipped(whole), *cut]:
            damaged.write_bytes(data)
            main(["capsule", "inspect", str(damaged)])  # says what stands there
            assert capsys.readouterr().err.count("\n") <= 1, at
            assert main(["capsule", "verify", str(damaged), "--key", str(key)]) == 6, at
            assert capsys.readouterr().err.count("\n") == 1, at


def test_diff_takes_no_capsule_whose_content_is_damaged(files, capsys):
    made, signature = files / "made", range(52, 116)  # only who has the key can judge that
    for at, data in flipped((files / "v1").read_bytes()):
        (files / "damaged").write_bytes(data)
        words = ["capsule", "diff", str(files / "damaged"), str(files / "v2"), "-o", str(made)]
        assert (main(words) == 0) == (at in signature), at
        assert made.exists() == (at in signature)
        assert capsys.readouterr().err.count("\n") == (at not in signature)
        made.unlink(missing_ok=True)
