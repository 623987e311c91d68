# SPDX-License-Identifier: MIT
"""The demo's second part: the board's own verdicts, a real cut, a real way back."""

import pytest

from acclimate_host.connect import why_not
from acclimate_host.demo import deploy, protocol, update_small, watch
from acclimate_host.demo.second import _rows
from acclimate_host.demo.update import LABELS, UpdateDemo, machines
from acclimate_host.paths import built

pytestmark = pytest.mark.skipif(
    watch.source_path() is None and not built("data", "watch.npz").exists(),
    reason="seglearn is not installed",
)
USER = 7
VERDICT = built("firmware", "samd21-verdict", "firmware.elf")


@pytest.fixture(scope="module")
def found():
    return protocol.windows(watch.load(built("data", "watch.npz")), protocol.FULL)


def test_no_model_has_seen_the_user(found, monkeypatch):
    seen = []
    rows = protocol.rows
    monkeypatch.setattr(protocol, "rows", lambda w, s: (seen.extend(w), rows(w, s))[1])
    machines(found, protocol.FULL, USER)
    assert seen and all(window.subject != USER for window in seen)


def test_machines_are_as_sure_as_they_are_right_of_people_that_none_has_met(found):
    """The machine of seven people is surer than that of one window of each exercise."""
    made = machines(found, protocol.FULL, USER)
    mine = [window for window in found if window.subject == USER][::9]
    rows = protocol.rows(mine, protocol.FULL)
    sure = {
        name: sum(max(made[name].predict_proba(row)) for row in rows) / len(rows)
        for name in ("better", "worse")
    }
    assert sure["better"] > sure["worse"] + 0.1


@pytest.mark.slow
@pytest.mark.skipif(why_not("desktop") is not None, reason="no desktop binary")
def test_the_board_accepts_refuses_survives_and_goes_back(found, tmp_path):
    pytest.importorskip("uvicorn")
    pytest.importorskip("matplotlib")
    from acclimate_host.plots.updates import updates

    lines = []
    with deploy.open_for_demo("desktop", None).board as board:
        story = UpdateDemo(board, found, protocol.FULL, USER, lines.append).run()
    assert [version for _, version, _ in story.shares] == [1, 1, 1, 3, 4, 3]
    assert [what for _, what, _ in story.events] == [
        "reject",
        "power cut",
        "accept",
        "rolled back",
    ]
    before, after = story.shares[0][2], story.shares[-1][2]
    assert after > before + 10 and f"{LABELS} labels" in story.events[0][2]
    sent = {version: count for version, (_, count) in story.capsules.items()}
    assert sent[3] > sent[1] > sent[2] > 500
    assert len(lines) == len(story.shares) + len(story.events)
    updates(tmp_path / "a.png", story, ("Title", "where"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG") and len(_rows(story)) == 11


@pytest.mark.slow
@pytest.mark.skipif(why_not("samd21") is not None, reason="no emulated SAMD21")
@pytest.mark.skipif(not VERDICT.exists(), reason="no firmware samd21-verdict")
def test_a_board_of_32_kb_accepts_and_refuses_by_itself():
    pytest.importorskip("uvicorn")
    found = protocol.windows(watch.load(built("data", "watch.npz")), update_small.SETTINGS)
    demo = update_small.SmallDemo(found, USER, lambda line: None)
    story = demo.run()
    assert [version for _, version, _ in story.shares] == [1, 1, 3, 3]
    assert [what for _, what, _ in story.events] == ["reject", "accept"]
    assert story.shares[-1][2] > story.shares[0][2] + 10
    assert min(demo.free) > 9216
