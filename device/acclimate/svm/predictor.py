# SPDX-License-Identifier: MIT
"""A trained machine that only answers: what ``SVM`` is after ``acclimate install --only predict``.

The bytes of its file are all that it keeps. Native code checks them, answers rows and turns rows
of other types into those of the model; the rest is in `acclimate.svm.answers`, loaded if needed.
"""

import gc
import sys
from array import array

_RELEASE = ""  # both are put in by the installer
_CHECKED = (0, b"")  # length and SHA-256 of the native module
_read = None


def _native():
    """Function `read` of the native module, once its bytes are those that were installed.

    What this needs is not kept.
    """
    global _native, _CHECKED
    try:
        from hashlib import sha256
    except ImportError:
        from acclimate._sha256 import sha256
    found, size = sha256(), 0
    piece = bytearray(256)
    with open(__file__.rpartition("/")[0] + "/_svm_predict.mpy", "rb") as file:
        while True:
            count = file.readinto(piece)
            if not count:
                break
            found.update(piece if count == 256 else piece[:count])
            size += count
    if (size, found.digest()) != _CHECKED:
        raise ImportError("_svm_predict.mpy differs: acclimate install --only predict")
    del found, sha256, _native, _CHECKED
    package = sys.modules["acclimate"]
    if sys.modules.pop("acclimate._sha256", None) and hasattr(package, "_sha256"):
        del package._sha256
    gc.collect()  # native code needs one block
    return __import__("acclimate._svm_predict", None, None, ("read",)).read


class SVM:
    """A machine from a file; `load` makes it. It answers as the one that was saved.

    `predict(row)` gives the label of a list or buffer of numbers. To train a machine, install
    all of it: ``acclimate install``.
    """

    def __init__(self, *file, **options):
        if not file or isinstance(file[0], str):
            self.__getattr__("fit")
        self._file = file = file[0]
        at = 44 + (file[16] + 3 & ~3)
        self._row = None
        if file[7] or file[18] & 2:  # rows are scaled first
            from acclimate.svm.answers import scaled

            self._row, at = scaled(file, at)
        self.predict = self._answer = _read(file, at, self._other)
        if self._row:
            self.predict = self._other

    @staticmethod
    def load(path):
        """Read a model from a file or a stream; its bytes stay in memory.

        :raises ValueError: a file that is damaged, truncated or newer
        :raises ImportError: a machine that only the whole package can use
        """
        global _read
        _read = _read or _native()
        try:
            stream = path if hasattr(path, "seek") else open(path, "rb")
        except OSError as error:
            from acclimate.svm.answers import open_new

            stream = open_new(path, error)
        file = bytearray(stream.seek(0, 2))
        stream.seek(0)
        stream.readinto(file)
        if stream is not path:
            stream.close()
        found = _read(file)
        if not found:
            m = SVM(file)
            found = m.predict
            if not isinstance(found, int):
                return m
        from acclimate.svm.answers import refuse

        refuse(path, found, file)

    def _other(self, row):
        from acclimate.svm.answers import answer

        return answer(self, row)

    def decision(self, row, out=None):
        """Decision value of one row: a number, or one for each pair of labels, as in scikit-learn.

        :param out: ``array("f")`` that takes the values; without it a new one is made
        """
        count = self._file[16] * (self._file[16] - 1) // 2
        to = array("f", bytes(4 * count)) if out is None else out
        if self._row or len(to) < count or self._answer(row, to) is None:
            from acclimate.svm.answers import answer

            answer(self, row, to)
        return to[0] if count == 1 and out is None else to

    def predict_many(self, rows, out):
        """Labels of ``len(out)`` rows, a list of rows or a flat buffer, into `out`; return it."""
        if self._row or self._answer(rows, out, None) < 0:
            from acclimate.svm.answers import answer_many

            answer_many(self, rows, out)
        return out

    def __getattr__(self, name):
        from acclimate.svm.answers import missing

        missing(name)
