# SPDX-License-Identifier: MIT
"""`acclimate install` without names: all of the package, or as much as a board has room for."""

import shlex

import pytest

from acclimate.svm import SVM
from acclimate_host import cli
from acclimate_host.connect import merge, open_board, package, why_not
from acclimate_host.connect.check import check_package
from acclimate_host.connect.install import install
from acclimate_host.errors import AcclimateError, Refused
from acclimate_host.paths import repository
from harness.errors import naming

USES = {
    "nrf52840": "from acclimate.svm import SVM\nprint(SVM().fit([[0], [4]], [0, 1]).predict([3]))",
    "esp32": "from acclimate.svm import SVM\nprint(SVM().fit([[0], [4]], [0, 1]).predict([3]))",
    "samd21": "from acclimate.svm import SVM\n"
    "m = SVM(small=True, arena=bytearray(400))\n"
    "m.fit(bytearray(b'\\x00\\x04'), bytearray(b'\\x00\\x01'))\n"
    "print(m.predict(bytearray(b'\\x03')))",
}


@pytest.mark.parametrize(
    "name",
    [name if name == "nrf52840" else pytest.param(name, marks=pytest.mark.slow) for name in USES],
)
def test_plain_install_fits_each_emulated_board_and_works(name):
    if why_not(name):
        pytest.skip(why_not(name))
    with open_board(name) as board:
        report = install(board)
        if name != "samd21":  # 256 KB hold the default set, and a little of the user's own
            assert not any("no room" in note for note in report.notes)
            assert board.free_bytes() >= 8 * 1024
        board.soft_reset()
        assert board.exec(USES[name]) == "1\n"
        again = install(board)
    assert len(again.kept) == len(report.copied) and not again.copied


@pytest.mark.slow
def test_advice_for_a_board_without_room_works_when_pasted(capsys):
    if why_not("samd21"):
        pytest.skip(why_not("samd21"))
    assert cli.main(["install", "--board", "samd21", "--only", "svm"]) == 6
    advice = capsys.readouterr().err.partition("what fits: acclimate ")[2]
    assert cli.main(shlex.split(advice)) == 0
    example = str(repository() / "examples" / "hvac.py")
    assert cli.main(["run", example, "--board", "samd21"]) == 6
    said = capsys.readouterr().err
    assert said.endswith(f"a larger board takes it: acclimate run {example} --board nrf52840\n")


@pytest.fixture
def desktop(monkeypatch):
    if why_not("desktop"):
        pytest.skip(why_not("desktop"))
    with open_board("desktop") as board:
        monkeypatch.setattr(board, "block_bytes", lambda path: 4096)
        yield board


def test_what_was_left_out_for_room_is_named(desktop, monkeypatch):
    monkeypatch.setattr(desktop, "free_bytes", lambda path: 50 * 4096)
    report = install(desktop)
    [note] = [note for note in report.notes if "no room for all" in note]
    assert "with svm, features, loop" in note and "; without " in note and "pull" in note
    assert "svm.mpy" in report.copied and "pull.mpy" not in report.copied
    monkeypatch.setattr(desktop, "free_bytes", lambda path: 300 * 4096)
    report = install(desktop)
    assert "pull.mpy" in report.copied and not any("no room" in note for note in report.notes)


def test_extras_come_when_they_are_asked_for(desktop):
    assert "pager.mpy" not in install(desktop).copied
    assert install(desktop, extras=["pager"]).copied == ["pager.mpy"]
    with pytest.raises(AcclimateError, check=naming("teapot", ", ".join(merge.EXTRAS))):
        install(desktop, extras=["teapot"])


def test_a_trained_svm_is_used_with_three_files(desktop, tmp_path):
    X = [[20, 0], [22, 1], [25, 0], [60, 9], [64, 8], [70, 9]]
    SVM(kernel="linear", C=1).fit(X, [0, 0, 0, 1, 1, 1]).save(str(tmp_path / "worn.svm"))
    model = (tmp_path / "worn.svm").read_bytes()
    desktop.put_bytes(model, desktop.root.rstrip("/") + "/worn.svm")
    code = "from acclimate.svm import SVM\nprint(SVM.load('worn.svm').predict([66, 9]))"
    for pure in (False, True):
        assert len(install(desktop, package.PREDICT, pure=pure).copied) == 3
        assert len(desktop.ls(desktop.lib + "/acclimate")) == 3
        assert desktop.exec(code) == "1\n"
        assert all(fine for fine, _ in check_package(desktop, desktop.info()))


def test_names_that_were_asked_for_are_never_left_out(desktop, monkeypatch):
    monkeypatch.setattr(desktop, "free_bytes", lambda path: 16 * 4096)
    for only in (None, ["svm"]):
        with pytest.raises(Refused, check=naming(65536, "--board desktop --only predict")):
            install(desktop, only)
    assert not desktop.ls(desktop.lib)
