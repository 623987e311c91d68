# SPDX-License-Identifier: MIT
"""An SVM is chosen by users that it has not seen, within what a board has."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")
import acclimate_host.twin.svm  # noqa: F401, E402  trains with the C core where it is built
from acclimate.svm import SVM  # noqa: E402
from acclimate_host.cli import main  # noqa: E402
from acclimate_host.errors import Refused  # noqa: E402
from acclimate_host.model import choose_svm as chooser  # noqa: E402
from harness.errors import naming  # noqa: E402

FEW = {"costs": (1.0, 10.0), "gammas": (1.0,), "vectors": (None, 8)}


def people(count=3, rows=24, seed=1):
    """Rows of people whose circles lie a little apart: linear machines do not tell them."""
    random = np.random.default_rng(seed)
    X, y, users = [], [], []
    for user in range(count):
        angle, label = random.uniform(0, 6.28, rows), np.arange(rows) % 2
        radius = (1 + label) * (1 + 0.1 * random.normal(size=rows))
        X.append(np.stack([np.cos(angle), np.sin(angle)], 1) * radius[:, None] + 0.1 * user)
        y.append(label)
        users.append([user] * rows)
    return np.concatenate(X), np.concatenate(y), np.concatenate(users)


def test_the_best_that_fits_is_trained_on_all_rows():
    X, y, users = people()
    choice = chooser.choose_svm(X, y, users, **FEW)
    assert choice.best.kernel == "rbf" and choice.best.accuracy > 0.9
    assert choice.machine.evaluate(X.tolist(), y.tolist()) > 0.9
    assert choice.best.vectors == 8 and len(choice.machine._model.x) <= 16  # as right as all
    assert chooser.ram_bytes(choice.machine) <= choice.best.ram_bytes
    all_of_them = chooser.choose_svm(X, y, users, **{**FEW, "vectors": (None,)})
    assert all_of_them.best.ram_bytes > choice.best.ram_bytes
    small = chooser.choose_svm(X, y, users, most_ram_bytes=100, **FEW)
    assert small.best.kernel == "linear" and small.best.ram_bytes <= 100
    fast = chooser.choose_svm(X, y, users, most_instructions=600, **FEW)
    assert fast.best.kernel == "linear" and fast.best.instructions <= 600
    assert chooser.choose_svm(X, y, users, most_ram_bytes=1, **FEW).best is None


def test_a_user_is_never_tried_on_rows_of_its_own(monkeypatch):
    X, y, users = people()
    seen = []
    monkeypatch.setattr(chooser, "trained", _noting(chooser.trained, X, users, seen))
    chooser.choose_svm(X, y, users, kernels=("linear",), costs=(1.0,))
    assert seen == [{1, 2}, {0, 2}, {0, 1}, {0, 1, 2}]


def _noting(trained, X, users, seen):
    def call(rows, *more):
        own = {tuple(row) for row in rows.tolist()}
        seen.append(
            {u for row, u in zip(X.tolist(), users.tolist(), strict=True) if tuple(row) in own}
        )
        return trained(rows, *more)

    return call


def test_nothing_on_the_front_is_beaten():
    def made(accuracy, ram, count):
        return chooser.Candidate("rbf", 1.0, 1.0, None, accuracy, accuracy, ram, count)

    a, b, c, d = made(0.9, 100, 10), made(0.9, 90, 10), made(0.8, 10, 50), made(0.7, 20, 5)
    assert chooser.front([a, b, c, d]) == [c, d, b]
    assert chooser.front([a, a]) == [a, a]


def test_what_cannot_be_tried_is_refused():
    X, y, users = people()
    for args, words in (
        ((X, y[:-1]), "y"),
        ((X, y * 0), "2 labels"),
        ((X, y, users * 0), "users"),
        ((X, y, users[:-1]), "users"),
    ):
        with pytest.raises(Refused, check=naming(words)):
            chooser.choose_svm(*args)


def test_the_verb_reads_writes_and_draws(tmp_path, capsys):
    X, y, users = people()
    lines = [
        f"{a:.4f},{b:.4f},{'out' if label else 'in'},u{user}"
        for (a, b), label, user in zip(X, y, users, strict=True)
    ]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["a,b,label,user", *lines]))
    out, picture = tmp_path / "m.svm", tmp_path / "front.svg"
    command = ["choose", str(table), "--users", "--vectors", "all,8", "--ram", "2k"]
    assert main([*command, "-o", str(out), "--picture", str(picture)]) == 0
    assert "chosen" in capsys.readouterr().out and picture.stat().st_size > 1000
    machine = SVM.load(str(out))
    assert machine.predict([0.0, 1.0]) == "in" and machine.predict([2.2, 0.0]) == "out"
    np.savez(tmp_path / "people.npz", x=X, labels=y, users=users)
    capsys.readouterr()
    assert main(["choose", str(tmp_path / "people.npz"), "--kernels", "linear", "--json"]) == 0
    machines = json.loads(capsys.readouterr().out)["machines"]
    assert [m["kernel"] for m in machines if m["chosen"]] == ["linear"]
    assert all(m["ram_bytes"] > 0 and 0 <= m["worst_user"] <= m["accuracy"] for m in machines)
    table.write_text("\n".join(f"{k},{k % 2},{'²' if k % 2 else '--5'}" for k in range(20)))
    assert main(["choose", str(table), "--kernels", "linear"]) == 0  # labels that are no numbers
    for more, words in (
        (["--ram", "1"], "fits"),
        (["--kernels", "sigmoid"], "linear"),
        (["--vectors", "1"], "--vectors"),
    ):
        arguments = ["choose", str(tmp_path / "people.npz"), "--kernels", "linear", *more]
        assert main(arguments) == 2
        assert words in capsys.readouterr().err
    assert main(["choose", str(tmp_path / "none.npz")]) == 2


def _damaged(name, y, folder):
    """A file of the verb with something wrong in it, made from a whole one."""
    X = np.arange(24.0).reshape(8, 3)
    path = folder / name
    if name == "latin.csv":
        path.write_bytes(b"1,2,\xe4\n3,4,b\n")
    elif name == "one.npy":
        np.save(path, X)
    elif name in ("empty.npz", "cut.npz", "flipped.npz"):
        np.savez(path, x=X, labels=y)
        data = bytearray(path.read_bytes())
        data[60] ^= 255
        path.write_bytes({"e": b"", "c": data[: len(data) // 2], "f": data}[name[0]])
    else:
        wrong = {
            "nan.npz": (X * np.nan, y),
            "huge.npz": (X * 1e300, y),
            "complex.npz": (X * 1j, y),
            "texts.npz": (X.astype(str), y),
            "narrow.npz": (X[:, :0], y),
            "scalar.npz": (np.array(1.0), np.array(1)),
            "halves.npz": (X, y + 0.5),
            "bytes.npz": (X, y.astype("S3")),
            "folded.npz": (X, y.reshape(4, 2)),
        }[name]
        np.savez(path, x=wrong[0], labels=wrong[1])
    return str(path)


@pytest.mark.parametrize(
    "name",
    "empty.npz cut.npz flipped.npz one.npy latin.csv nan.npz huge.npz complex.npz texts.npz "
    "narrow.npz scalar.npz halves.npz bytes.npz folded.npz".split(),
)
def test_a_file_that_is_no_table_is_one_line(tmp_path, capsys, name):
    assert main(["choose", _damaged(name, np.arange(8) % 2, tmp_path)]) in (2, 6)
    said = capsys.readouterr().err
    assert said.startswith("acclimate choose: ") and said.count("\n") == 1


def test_a_folder_is_no_place_for_a_machine_and_nothing_is_left(tmp_path, capsys):
    np.savez(tmp_path / "t.npz", x=np.arange(24.0).reshape(8, 3), labels=np.arange(8) // 4)
    (tmp_path / "out").mkdir()
    before = sorted(tmp_path.iterdir())
    assert main(["choose", str(tmp_path / "t.npz"), "-o", str(tmp_path / "out")]) == 2
    assert sorted(tmp_path.iterdir()) == before and "Is a directory" in capsys.readouterr().err
