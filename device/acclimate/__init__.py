# SPDX-License-Identifier: MIT
"""Acclimate on the device: models that keep learning on a microcontroller.

Nothing heavy is imported here; each feature is a submodule of its own
(``acclimate.svm``, ``acclimate.loop``, ...).
"""

__version__ = "0.1.0"


def release(version, name):
    """Refuse a file of another release: every installed file calls this first.

    :raises ImportError: names the file and both releases.
    """
    if version != __version__:
        raise ImportError(
            "%s is of release %s, acclimate of %s: run acclimate install again"
            % (name, version, __version__)
        )
