# SPDX-License-Identifier: MIT
"""Files that are written beside the old one, which they replace only once they are whole.

FAT does not rename onto an existing file: the old one is removed first. Power that is lost then
leaves the whole new one under its own name, where `load` and the next `write` find it.
"""

import os

_NEW = ".new"
_ENOENT = 2


def _text(path):
    """A path as a text.

    :raises ValueError: it is none; a number would be taken for a file that is open
    """
    if hasattr(path, "__fspath__"):
        path = path.__fspath__()
    if not isinstance(path, str):
        raise ValueError("path: expected the name of a file, got %s" % repr(path)[:40])
    return path


def load(path, parse):
    """What `parse` makes of a stream, or of the file of a path: of the new one where power was
    lost between removing the old and renaming it.

    One that was cut before there was any other counts for none.
    """
    if hasattr(path, "readinto"):
        return parse(path)
    path = _text(path)
    try:
        return _parsed(path, parse)
    except OSError as error:
        if error.args[0] != _ENOENT:
            raise
        try:
            return _parsed(path + _NEW, parse)
        except (OSError, ValueError):
            raise error from None


def _parsed(path, parse):
    with open(path, "rb") as stream:
        return parse(stream)


def write(path, parse):
    """A stream for the new file, to be closed before `done`; `parse` as for `load`."""
    path = _text(path)
    try:
        os.stat(path)
    except OSError:  # the new one may be all that there is: the next cut must not take it
        try:
            _parsed(path + _NEW, parse)
            os.rename(path + _NEW, path)
        except (OSError, ValueError):  # none, or one that was cut
            pass
    return open(path + _NEW, "wb")


def written(path):
    """What `write` has written so far, to be looked at before `done`."""
    return open(_text(path) + _NEW, "rb")


def done(path):
    """Put the new file in the place of the old one."""
    path = _text(path)
    try:
        os.rename(path + _NEW, path)
    except OSError:  # FAT
        os.remove(path)
        os.rename(path + _NEW, path)
