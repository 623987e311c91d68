# SPDX-License-Identifier: MIT
"""Acclimate on the device: models that keep learning on a microcontroller.

Nothing heavy is imported here; each room is a sub-package or module of its own
(``acclimate.svm``, ``acclimate.loop``, ...), whose names load when they are first used.
"""

__version__ = "0.1.0"


def _release(version, name):
    """Refuse a file of another release: every installed file calls this first.

    :raises ImportError: names the file and both releases.
    """
    if version != __version__:
        raise ImportError(
            "%s is of release %s, acclimate of %s: run acclimate install again"
            % (name, version, __version__)
        )


def _face(path, items):
    """Return the ``__getattr__`` of a room, which loads a public name at its first use.

    :param path: name of the package. :param dict items: public name -> module that defines it
    """

    def load(name):
        try:
            if name in items:
                return getattr(__import__(items[name], None, None, (name,)), name)
            if not name.startswith("_"):  # a file of the room itself
                return __import__(path + "." + name, None, None, (name,))
        except ImportError:
            if name in items:
                raise
        raise AttributeError("module '%s' has no attribute '%s'" % (path, name))

    return load
