# SPDX-License-Identifier: MIT
"""The front end's levels are micro_frontend's, bit for bit; tables refuse what cannot be."""

from array import array

import numpy as np
import pytest
from frontend_vectors_source import PATH, text

from acclimate import _bands_plain
from acclimate_host.errors import AcclimateError
from acclimate_host.model import frontend
from acclimate_host.twin import frontend as twin
from harness.errors import naming

WINDOW, STEP, BANDS = 480, 160, 40
STATE_BYTES = 4 * (BANDS + 256 + 257 + BANDS)
LEVEL = 10 / 256  # the reference gives levels times this


def sound(seconds, seed):
    """Noise that swells and fades, a whistle that rises, and silence and full swing at the end."""
    count = int(16000 * seconds)
    draw, at = np.random.default_rng(seed), np.arange(count)
    made = draw.normal(size=count) * 3000 * np.abs(np.sin(at / 4000)) + 8000 * np.sin(at**2 / 3e5)
    made[-4000:-2000] = 0
    made[-2000:] = np.sign(made[-2000:] + 0.5) * 32768
    return made.clip(-32768, 32767).astype(np.int16)


def reference(samples):
    features = pytest.importorskip("pymicro_features").MicroFrontend()
    rows = []
    for at in range(0, len(samples) - STEP + 1, STEP):
        row = features.process_samples(samples[at : at + STEP].tobytes()).features
        if row:
            rows.append([round(value / LEVEL) for value in row])
    return rows


def levels(run, samples):
    tables, state, rows = frontend.log_mel(), bytearray(STATE_BYTES), []
    for at in range(0, len(samples) - WINDOW + 1, STEP):
        out = array("H", bytes(2 * BANDS))
        window = array("h", samples[at : at + WINDOW].tobytes())
        assert run(tables, state, window, out) == 0
        rows.append(list(out))
    return rows


@pytest.mark.skipif(twin.load() is None, reason="the twin is not built")
@pytest.mark.parametrize("seed", range(3))
def test_levels_are_those_of_micro_frontend(seed):
    samples = sound(2, seed)
    wanted = reference(samples)
    assert levels(twin.load().run, samples) == wanted and len(wanted) == 198


def test_python_gives_the_same_levels():
    samples = sound(0.3, 5)
    assert levels(_bands_plain.run, samples) == reference(samples)


@pytest.mark.skipif(twin.load() is None, reason="the twin is not built")
@pytest.mark.parametrize("samples", [4, 8, 16, 31, 64, 100, 128, 300, 1000, 4096])
def test_the_spectrum_finds_a_tone_at_every_size(samples):
    tables = frontend.motion(rate=samples, samples=samples, axes=1, channels=2)
    bits = int.from_bytes(tables[6:8], "little")
    state = bytearray(4 * (2 + (1 << bits) + 1 + 2))
    wave = 9000 * np.sin(2 * np.pi * np.arange(samples) * 0.35)
    out = array("H", bytes(4))
    window = array("h", wave.astype(np.int16).tobytes())
    run = twin.load().run
    assert run(tables, state, window, out) == 0
    plain = array("H", bytes(4))
    assert _bands_plain.run(tables, bytearray(len(state)), window, plain) == 0
    assert plain == out
    if samples >= 16:
        assert out[1] > out[0]  # 0.35 of the rate lies in the upper half of the bands


def test_vectors_are_those_of_their_source():
    assert PATH.read_text() == text()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: frontend.log_mel(high=9000), ("high", "8000", "9000")),
        (lambda: frontend.log_mel(window_ms=0.1), ("window_ms", "1.6")),
        (lambda: frontend.log_mel(channels=0), ("channels", "1..256", "0")),
        (lambda: frontend.motion(samples=5000), ("samples", "4..4096", "5000")),
        (lambda: frontend.motion(axes=17), ("axes", "1..16", "17")),
        (lambda: frontend.log_mel(to=frontend.Input(2.0, 1.0)), ("factor / scale", "2")),
        (lambda: frontend.log_mel(to=frontend.Input(zero_point=200)), ("zero_point", "200")),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(call, words):
    with pytest.raises(AcclimateError, check=naming(*words)):
        call()
