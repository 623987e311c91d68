# SPDX-License-Identifier: MIT
"""Capsules and stores that several tests use."""

import random

from acclimate.store import Store, Wanted
from acclimate_host.capsules.build import build
from acclimate_host.testing.nor import NorFlash

KEY = b"a key of the test, 32 bytes long"
MODEL = 7


def weights(n, seed):
    return random.Random(seed).randbytes(n)


def tuned(content, seed, spread=2):
    """Weights after fine-tuning: small differences everywhere."""
    draw = random.Random(seed)
    return bytes((byte + round(draw.gauss(0, spread))) & 255 for byte in content)


def capsule(version, content=None, key=KEY, **options):
    """A small capsule: a program, and the weights `content`."""
    content = weights(301, version) if content is None else content
    sections = {"PROGRAM": b"program of the model", "WEIGHTS": content}
    return build(sections, "SVM", MODEL, version, key=key, **options)


def flash(slot_pages=4, page=256):
    return NorFlash((2 + 2 * slot_pages) * page, page)


def store(medium, key=KEY, **options):
    wanted = Wanted(model=MODEL, kind=1, board=3, device=9, arch=2, abi=6, key=key)
    # Tests write more in a moment than a device does in a month.
    return Store(medium, wanted, chunk_bytes=64, **{"day_pages": 0, **options})


def active(kept):
    """The bytes of the model in use, read from the flash itself; None without one."""
    if kept.active is None:
        return None
    start = kept.slots.start(kept.active)
    return bytes(kept.flash.data[start : start + kept.head.total])
