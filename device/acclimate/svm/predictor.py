# SPDX-License-Identifier: MIT
"""A trained machine that only answers: what ``SVM`` is after ``acclimate install --only predict``.

The bytes of its file are all that it keeps, and native code is the machine. What loads it, and
what native code does not answer, lie in other modules: heap is for what is used.
"""

_RELEASE = ""  # put in by the installer


def other(*call):
    """What native code leaves to Python: rows that it does not take, attributes but `predict`."""
    from acclimate.svm.answers import other as answer

    return answer(*call)


class SVM:
    """A machine from a file; `load` makes it. It answers as the one that was saved.

    `predict(row)` gives the label of a list or buffer of numbers. To train a machine, install
    all of it: ``acclimate install``.
    """

    def __init__(self, *_, **__):
        other()

    @staticmethod
    def load(path):
        """Read a model from a file or a stream; its bytes stay in memory.

        :raises ValueError: a file that is damaged, truncated or newer
        :raises ImportError: a machine that only the whole package can use
        """
        from acclimate.svm.loader import load

        return load(path, other)
