# SPDX-License-Identifier: MIT
"""The four lines from a model to devices: versions, options, sections, and who gets what."""

import capsule_cases as cases
import pytest
from test_push_rules import Board

from acclimate.svm import SVM
from acclimate_host import connect
from acclimate_host.capsules import server as module
from acclimate_host.capsules.build import read
from acclimate_host.capsules.manifest import WHOLE
from acclimate_host.capsules.server import CapsuleServer, sections_of

X, Y = [[20, 0], [22, 1], [60, 9], [64, 8]], [0, 0, 1, 1]
WEIGHTS = {"PROGRAM": b"program of the model", "WEIGHTS": cases.weights(301, 1)}
OPTIONS = {"model_id": 7, "kind": "SVM"}


@pytest.fixture
def one(tmp_path):
    return CapsuleServer(dict(WEIGHTS), tmp_path / "shop", key=cases.KEY, **OPTIONS)


def test_sections_of_each_kind_of_model():
    assert sections_of(WEIGHTS) == ("NETWORK", WEIGHTS)
    assert sections_of({"WEIGHTS": b"w"}) == ("DATA", {"WEIGHTS": b"w"})
    machine = SVM().fit(X, Y)
    kind, sections = sections_of(machine)
    assert kind == "SVM" and list(sections) == ["WEIGHTS"] and len(sections["WEIGHTS"]) > 40
    svm = pytest.importorskip("sklearn.svm")
    kind, sections = sections_of(svm.SVC(kernel="linear").fit(X, Y))
    assert kind == "SVM" and list(sections) == ["WEIGHTS"]


def test_versions_go_on_from_the_newest_of_all_cohorts_of_the_model(one, tmp_path):
    assert read(one.save()).version == 1
    one.export()
    assert read(one.save()).version == 2
    assert read(one.save(9)).version == 9
    assert one.export("beta").version == 9
    assert read(one.save()).version == 10
    other = CapsuleServer(dict(WEIGHTS), tmp_path / "shop", 8, cases.KEY)
    assert read(other.save()).version == 1  # of another model
    assert read(other.capsule).model == 8 and read(other.capsule).kind != read(one.capsule).kind


def test_options_reach_the_capsule_and_the_key_signs_it(tmp_path):
    path = tmp_path / "fleet.key"
    path.write_bytes(cases.KEY)
    for key in (path, str(path), cases.KEY):
        made = CapsuleServer(dict(WEIGHTS), tmp_path / "shop", 7, key, board=3, device=9)
        said = read(made.save())
        assert said.authentic(cases.KEY, made.capsule) and said.kind == read(made.capsule).kind
        assert (said.board, said.device) == (3, 9)
    plain = CapsuleServer(dict(WEIGHTS), tmp_path / "plain")
    said = read(plain.save())
    assert said.model == 1 and not said.authentic(cases.KEY, plain.capsule)
    assert plain.export().version == 1
    assert "model_id=1" in repr(plain) and "signs nothing" in repr(plain)


def test_what_was_saved_is_exported_and_else_it_is_built(one):
    made = one.export("beta", 30)
    assert (made.version, made.percent) == (1, 30)
    first = one.capsule
    with pytest.raises(Exception, match="version 1: expected above 1"):
        one.export("beta")  # the same once more
    one.model = {**WEIGHTS, "WEIGHTS": cases.tuned(WEIGHTS["WEIGHTS"], 2)}
    second = one.save()
    assert second != first
    third = cases.capsule(1, cases.tuned(WEIGHTS["WEIGHTS"], 3))
    bases = [entry.base for entry in one.export(bases=[first, third]).entries]
    assert bases == [WHOLE, first[20:36], third[20:36]]


def test_code_travels_with_the_model(one, tmp_path):
    code = tmp_path / "filter.py"
    code.write_text("def run(x):\n    return x\n")
    one.operators = str(code)
    said = read(one.save())
    assert "OPERATORS" in str(said.sections) or len(said.sections) == 3
    one.operators = None
    assert len(read(one.save()).sections) == 2


def test_boards_get_it_over_their_cables_as_an_update_where_that_is_known(one, monkeypatch):
    one.export()
    old = one.capsule
    one.model = {**WEIGHTS, "WEIGHTS": cases.tuned(WEIGHTS["WEIGHTS"], 2)}
    new = one.save()
    opened = []

    class Port(Board):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            opened.append("closed")

    fresh, kept = Board(), Port(old)

    def open_board(name):
        opened.append(name)
        return kept

    monkeypatch.setattr(connect, "open_board", open_board)
    told = []
    sent = one.deploy([fresh, "/dev/tty7"], progress=lambda *done: told.append(done))
    assert sent["here"] == len(new) > sent["/dev/tty7"] > 0 and told
    assert opened == ["/dev/tty7", "closed"]
    assert cases.active(fresh.store) == cases.active(kept.store) == new
    assert one.deploy([fresh], setup="pass") == {"here": 0} and fresh.asked[-2][0] == "pass"
    waits = Board()
    one.deploy([waits], confirm=False)
    assert waits.store.state == "verified"
    one.capsule = None  # built when nobody did
    assert one.deploy([Board()])["here"] == len(new) and read(one.capsule).version == 2
    assert module.push
