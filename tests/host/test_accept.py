# SPDX-License-Identifier: MIT
"""The board decides on the model that waits, and the verdict outlives a reset."""

from array import array

import capsule_cases as cases
import numpy as np
import pytest

from acclimate import acceptance
from acclimate.acceptance import ACCEPT, REJECT, UNDECIDED
from acclimate.pull import Client
from acclimate.reservoir import Reservoir
from acclimate.store import CapsuleError, StoreError
from acclimate.store.capsule import PROGRAM, WEIGHTS
from acclimate_host.capsules.build import head_bytes
from acclimate_host.capsules.repository import Repository
from harness import web


def capsule(version, sure, label=None):
    """Weights: a constant label (None: that of the row) and a confidence."""
    return cases.capsule(version, bytes((255 if label is None else label, sure)))


def predict(model, row):
    weights = model.view(WEIGHTS)
    return (row[0] if weights[0] == 255 else weights[0]) << 8 | weights[1]


@pytest.fixture
def kept():
    store = cases.store(cases.flash())
    store.swap_capsule(capsule(1, 150))
    return store


@pytest.fixture
def sample(kept):
    found = Reservoir(20, 2)
    for number in range(20):
        row = array("b", (number % 4, 0))
        answer = predict(kept, row)
        found.offer(row, answer >> 8, answer & 255)
    return found


def bring(store, data):
    store.stage(data, head_bytes(data))
    store.write(data, len(data))
    store.finish()


def test_a_surer_model_is_accepted_and_the_verdict_is_kept(kept, sample):
    bring(kept, capsule(2, 240))
    assert acceptance.accept(kept, sample, predict) == ACCEPT and kept.state == "verified"
    again = cases.store(kept.flash)
    assert again.verdict() == (ACCEPT, 32764) and again.state == "verified"
    again.trial()
    again.confirm()
    assert again.head.version == 2


def test_answers_and_temperatures_may_be_whole_numbers_of_numpy(kept, sample):
    bring(kept, capsule(2, 240))
    numbers = lambda model, row: np.int64(predict(model, row))  # noqa: E731
    warm = np.array([256, 256])
    assert acceptance.accept(kept, sample, numbers, temperatures=warm) == ACCEPT
    assert acceptance.confidence([0, 256], 2, warm[0]) == acceptance.confidence([0, 256], 2, 256)


def test_a_model_that_went_blind_is_refused_and_not_pulled_again(kept, sample, tmp_path):
    repository = Repository(tmp_path, cases.KEY)
    repository.publish(capsule(2, 120, label=1))
    with web.Server(web.files(repository.folder)) as server:
        assert Client(kept, server.url).pull()
        assert acceptance.accept(kept, sample, predict) == REJECT
        for _ in range(3):
            kept = cases.store(kept.flash)
            one = Client(kept, server.url)
            assert not one.pull() and one.reason == "current"
    verdict, score = kept.verdict()
    assert verdict == REJECT and -32768 < score < 0
    assert kept.head.version == 1
    with pytest.raises(CapsuleError):
        bring(kept, capsule(2, 120, label=1))


def test_the_model_that_waits_is_read_section_by_section(kept):
    bring(kept, capsule(2, 240))
    waiting = kept.waiting()
    for type, content in ((PROGRAM, b"program of the model"), (WEIGHTS, bytes((255, 240)))):
        assert bytes(waiting.view(type)) == content
        part = bytearray(1)
        waiting.readinto(type, len(content) - 1, part)
        assert part[0] == content[-1]
        for offset in (-1, len(content)):
            with pytest.raises(ValueError, match=f"bytes {offset} to"):
                waiting.readinto(type, offset, part)
    with pytest.raises(ValueError, match="no section 77"):
        waiting.view(77)


def test_without_a_sample_the_model_waits_on(kept):
    bring(kept, capsule(2, 240))
    assert acceptance.accept(kept, Reservoir(4, 2), predict) == UNDECIDED
    assert cases.store(kept.flash).state == "verified" and kept.verdict()[0] == UNDECIDED


def test_a_verdict_survives_compactions_and_ends_with_the_next_capsule(kept, sample):
    bring(kept, capsule(2, 240))
    for _ in range(60):
        acceptance.accept(kept, sample, predict)
        kept = cases.store(kept.flash)
        assert kept.verdict()[0] == ACCEPT
    kept.cancel()
    bring(kept, capsule(3, 240))
    assert kept.verdict() is None


def test_the_model_that_waits_reads_as_a_store(kept):
    with pytest.raises(StoreError, match="no model waits"):
        kept.waiting()
    bring(kept, capsule(2, 77))
    waiting = cases.store(kept.flash).waiting()
    buffer = bytearray(1)
    waiting.readinto(WEIGHTS, 1, buffer)
    assert buffer[0] == 77 and waiting.head.version == 2
    for wrong in ((WEIGHTS, -1), (WEIGHTS, 2)):
        with pytest.raises(ValueError):
            waiting.readinto(*wrong, bytearray(1))
    with pytest.raises(ValueError, match="no section 9"):
        waiting.view(9)
    with pytest.raises(ValueError, match="32769"):
        waiting.keep_verdict(ACCEPT, 32769)


def test_a_damaged_model_that_waits_is_named(kept):
    bring(kept, capsule(2, 77))
    start = kept.slots.start(kept.journal.slot)
    kept.flash.data[start + kept.incoming.total - 1] ^= 1
    with pytest.raises(StoreError, match="integrity"):
        cases.store(kept.flash).waiting()


@pytest.mark.parametrize("told, expected", ((3, ACCEPT), (0, REJECT)))
def test_labels_of_rows_where_the_models_differ_count_for_who_gave_them(
    kept, sample, told, expected
):
    """Both are equally sure; the new one says 3 for all: only the labels can tell."""
    bring(kept, capsule(2, 150, label=3))
    differ = bytearray(20)
    other = bytes([3] * 20)
    n = acceptance.disagreements(sample.predictions, other, 20, differ)
    labels = {i: 3 if told else sample.predictions[i] for i in differ[:n]}
    weights = (16, 0, 0, 256, 0)
    found = acceptance.accept(kept, sample, predict, weights=weights, labels=labels)
    assert found == expected and n == 15


def test_a_label_that_both_or_none_gave_tells_nothing(kept, sample):
    bring(kept, capsule(2, 150, label=3))
    labels = {0: 1, 3: 3}  # answers of row 0: 0 and 3; of row 3: 3 and 3
    found = acceptance.accept(
        kept, sample, predict, weights=(16, 0, 0, 256, 0), labels=labels, margin=1
    )
    assert found == UNDECIDED


def test_a_floor_refuses_whatever_the_labels_say(kept, sample):
    bring(kept, capsule(2, 250, label=3))
    labels = {i: 3 for i in range(20)}
    assert acceptance.accept(kept, sample, predict, floor=0, labels=labels) == REJECT
