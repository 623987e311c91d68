# SPDX-License-Identifier: MIT
"""The acceptance rules beside floating point, and the reservoir's uniformity over many runs."""

import math
import random

import numpy as np

from acclimate import acceptance
from acclimate.reservoir import Draws, Reservoir
from acclimate_host.paths import repository


def test_discounts_are_those_of_the_formula():
    for rank in range(1, 129):
        assert acceptance._discount(rank) == int(32768 / math.log2(rank + 1))


def test_score_is_that_of_floating_point():
    draw = random.Random(1)
    for _ in range(200):
        n = draw.randrange(1, 129)
        old, new = draw.choices(range(3), k=n), draw.choices(range(3), k=n)
        confidence = draw.choices(range(256), k=n)
        order = sorted(range(n), key=lambda i: -confidence[i])
        discounts = np.array([1 / math.log2(rank + 2) for rank in range(n)])
        score = most = 0.0
        for i in range(n):
            ties = [r for r in range(n) if confidence[order[r]] == confidence[i]]
            share = discounts[ties].mean()
            score += share if old[i] == new[i] else -share
            most += share
        assert abs(acceptance.dcg(old, new, confidence, n) / 32768 - score) < n * 2 / 32768
        assert abs(acceptance.ndcg(old, new, confidence, n) / 32768 - score / most) < 0.001


def test_confidence_is_that_of_floating_point():
    draw = random.Random(2)
    for _ in range(500):
        logits = [draw.randrange(-3000, 3000) for _ in range(draw.randrange(2, 9))]
        temperature = draw.randrange(64, 1024)
        z = np.array(logits) / temperature
        wanted = 255 / np.exp(z - z.max()).sum()
        found = acceptance.confidence(logits, len(logits), temperature)
        assert logits[found >> 8] == max(logits)
        assert abs((found & 255) - wanted) <= 1


def test_draws_are_uniform():
    draws = Draws(99)
    for n in (3, 10, 100):
        counts = np.bincount([draws.below(n) for _ in range(200 * n)], minlength=n)
        chi2 = ((counts - 200) ** 2 / 200).sum()
        assert chi2 < n - 1 + 5 * math.sqrt(2 * (n - 1))


def test_reservoir_keeps_every_input_with_the_same_probability():
    counts = np.zeros(60)
    for seed in range(2000):
        sample = Reservoir(6, 1, seed=seed * 2654435761 & 0xFFFFFFFF)
        for i in range(60):
            sample.offer(bytes([i]), 0, 0)
        counts[list(sample.rows)] += 1
    chi2 = ((counts - 200) ** 2 / 200).sum()
    assert chi2 < 59 + 5 * math.sqrt(2 * 59)


def test_evidence_is_that_of_floating_point():
    draw = random.Random(3)
    weights = (6, 64, 1, 52, 5)
    for _ in range(100):
        n = draw.randrange(2, 129)
        old, new = draw.choices(range(5), k=n), draw.choices(range(3), k=n)
        conf = [draw.choices(range(256), k=n) for _ in range(2)]
        prior, wins, losses = draw.randrange(-60, 60), draw.randrange(6), draw.randrange(6)

        def entropy(labels, n=n):
            shares = np.bincount(labels) / n
            return -(shares[shares > 0] * np.log2(shares[shares > 0])).sum()

        wanted = 6 * 16 * (sum(conf[1]) - sum(conf[0])) / n + 16 * prior
        wanted += 64 * 256 * (entropy(new) - entropy(old)) + 16 * 52 * (wins - losses)
        warmth = [draw.randrange(64, 4096) for _ in range(2)]
        wanted += 5 * 256 * math.log2(warmth[1] / warmth[0])
        told = (weights, prior, wins, losses, 0, warmth)
        found = acceptance.evidence(old, new, *conf, n, *told)
        assert abs(found - wanted) < 64 * 2 + 6 + 5 * 12


def test_shipped_weights_are_those_of_the_docs():
    text = (repository() / "docs" / "acceptance.md").read_text()
    for name, weights in (
        ("most of the labels", acceptance._MOST),
        ("few of them", acceptance._FEW),
        ("not told how many there are", acceptance.WEIGHTS),
    ):
        assert f"| {name} | " + " | ".join(map(str, weights)) + " |" in text
