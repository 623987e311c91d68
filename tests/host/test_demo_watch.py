# SPDX-License-Identifier: MIT
"""The recordings: read without running foreign code, kept as integers, cut in order of time."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from acclimate_host.demo import watch


def pickled(path, value):
    array = np.empty((), dtype=object)
    array[()] = value
    np.save(path, array, allow_pickle=True)


def test_a_pickle_that_names_a_function_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return print, ("ran",)

    pickled(tmp_path / "evil.npy", {"X": Evil()})
    with pytest.raises(pickle.UnpicklingError, match="arrays only"):
        watch.convert(tmp_path / "evil.npy", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


def test_windows_are_whole_in_order_and_do_not_overlap():
    samples = np.arange(10 * 6, dtype=np.int16).reshape(10, 6)
    windows = watch.Recording(1, 0, 0, samples).windows(4)
    assert windows.shape == (2, 4, 6)
    assert (windows.reshape(8, 6) == samples[:8]).all()


@pytest.mark.skipif(watch.source_path() is None, reason="seglearn is not installed")
def test_recordings_become_int16_once_and_seglearn_is_not_imported(tmp_path):
    cache = tmp_path / "watch.npz"
    code = (
        "import sys; from acclimate_host.demo import watch\n"
        f"r = watch.load({str(cache)!r}); print(len(r), 'seglearn' in sys.modules)"
    )
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert shown.split() == ["140", "False"]
    recordings = watch.load(cache)
    assert {r.subject for r in recordings} == set(range(1, 11))
    assert all(r.samples.dtype == np.int16 for r in recordings)
    assert all(np.abs(r.samples[:, :3].astype(int)).max() > 2000 for r in recordings)
