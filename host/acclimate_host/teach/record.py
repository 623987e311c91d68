# SPDX-License-Identifier: MIT
"""Keep labelled windows: as CSV for people, as npy for programs.

windows.csv: label, window, sample, then a column for each channel; one line a sample.
windows.npy: int16 (windows, samples, channels); labels.npy: the names.
"""

import io
import os
from pathlib import Path

import numpy as np

from acclimate_host.errors import AcclimateError
from acclimate_host.paths import write_whole


class Record:
    """A folder of windows, made for the first of them; one that is there is gone on with.

    :raises AcclimateError: it has windows of another shape, or cannot be written
    """

    def __init__(self, folder, labels, samples):
        self.folder = Path(folder)
        self.labels = labels
        self.samples = samples
        self.windows, self.names = [], []
        try:
            self._check()
            if (self.folder / "windows.npy").exists():
                self._read()
        except (OSError, ValueError, EOFError, MemoryError) as error:
            raise AcclimateError(f"{folder}: {error}") from None

    def _check(self):
        """Look whether the folder is there or can be made, before anybody moves for it."""
        there = next(at for at in (self.folder, *self.folder.absolute().parents) if at.exists())
        if not there.is_dir():
            raise NotADirectoryError(f"{there} is no folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(f"nothing can be written to {there}")

    def _read(self):
        windows = np.load(self.folder / "windows.npy", allow_pickle=False)
        names = np.load(self.folder / "labels.npy", allow_pickle=False)
        if windows.ndim != 3 or windows.shape[1] != self.samples or len(windows) != len(names):
            raise ValueError(
                f"holds windows of shape {windows.shape[1:]}, not of {self.samples} samples"
            )
        self.windows, self.names = list(windows), [str(name) for name in names]

    def add(self, gesture, window):
        """Keep one more window (bytes of int16); files are whole after each."""
        values = np.frombuffer(window, "<i2").reshape(self.samples, -1)
        if self.windows and self.windows[0].shape != values.shape:
            have, new = self.windows[0].shape, values.shape
            raise AcclimateError(f"{self.folder} holds windows of {have}, this one is {new}")
        self.windows.append(values)
        self.names.append(self.labels[gesture])
        self._write_npy("windows.npy", np.stack(self.windows))
        self._write_npy("labels.npy", np.array(self.names))
        write_whole(self.folder / "windows.csv", self._csv().encode())

    def _write_npy(self, name, values):
        content = io.BytesIO()
        np.save(content, values, allow_pickle=False)
        write_whole(self.folder / name, content.getvalue())

    def _csv(self):
        lines = [
            "label,window,sample," + ",".join(f"c{k}" for k in range(self.windows[0].shape[1]))
        ]
        for number, (name, window) in enumerate(zip(self.names, self.windows, strict=True)):
            for k, values in enumerate(window):
                lines.append(f"{name},{number},{k}," + ",".join(map(str, values)))
        return "\n".join(lines) + "\n"
