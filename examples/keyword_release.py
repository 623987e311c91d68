# SPDX-License-Identifier: MIT
"""The computer's side of keyword_device.py: train three versions of the model and sign them.

    pip install '.[sklearn]'
    python examples/keyword_release.py      # writes words/: key, tables and four capsules

Version 1 has heard "on" and "off", version 2 "dim" as well, version 3 the words with wrong labels.
"""

import secrets
from pathlib import Path

from keyword_device import WORDS, Ear
from sklearn.svm import SVC

from acclimate.features import Frontend
from acclimate_host.capsules.server import CapsuleServer
from acclimate_host.model.frontend import Input, log_mel

EACH = 25  # recordings of a word


def record(tables, labels, seed):
    """Return (rows, labels) of words as a board hears them."""
    ear = Ear(Frontend(tables), seed)
    labels = list(labels) * EACH
    return [list(ear.hear(label)) for label in labels], labels


def main(folder="."):
    """Write all that the board needs into folder/words."""
    folder, releases = Path(folder, "words"), Path(folder, "words.repository")
    folder.mkdir(exist_ok=True)
    key, tables = secrets.token_bytes(32), log_mel(8000, 16, channels=12, high=3800.0, to=Input())
    (folder / "capsule.key").write_bytes(key)
    (folder / "words.tables").write_bytes(tables)
    rows, labels = record(tables, range(4), seed=5)
    wrong = [(label + 1) % len(WORDS) for label in labels]
    heard = {1: record(tables, range(3), seed=6), 2: (rows, labels), 3: (rows, wrong)}
    for version, data in heard.items():
        model = SVC(kernel="linear", C=0.1).fit(*data)
        capsule = CapsuleServer(model, releases, model_id=5, key=key).save(version)
        (folder / f"{version}.acap").write_bytes(capsule)
        print(f"{version}.acap: {len(capsule)} bytes, heard {len(data[1])} words")
        if version == 2:
            damaged = capsule[:-90] + bytes([capsule[-90] ^ 1]) + capsule[-89:]
            (folder / "damaged.acap").write_bytes(damaged)


if __name__ == "__main__":
    main()
