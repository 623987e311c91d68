# SPDX-License-Identifier: MIT
"""The package's folder as a file system of its own, where a module costs one look-up.

MicroPython looks for a module as a folder, as .py and as .mpy before it opens it, and littlefs
reads and checks the folders from the root on each time; then it reads 24 bytes at a time. Here a
module is found by opening it and is read in large pieces. Only firmware that lets a program mount
something has it, and only boards whose heap is not small; there ``import`` is as elsewhere.
"""

import sys

import acclimate

try:
    from io import IOBase
except ImportError:  # where nothing can be mounted, either
    IOBase = object

_PLACE = "/_acclimate"
_FOUND = (0x8000, 0, 0, 0, 0, 0, 0, 0, 0, 0)  # what `stat` says of a file
_CLOSE, _BUFFER_SIZE = 4, 11  # requests to a stream


class _Reader(IOBase):
    """A file that asks to be read in the largest pieces there are."""

    def __init__(self, file):
        self.file = file

    def readinto(self, buffer):
        return self.file.readinto(buffer)

    def ioctl(self, request, _):
        if request == _CLOSE:
            self.file.close()
        return 255 if request == _BUFFER_SIZE else 0


class Folder:
    """A file system of which ``import`` asks `stat` and `open`.

    :param str path: of the folder, without a slash at its end
    """

    def __init__(self, path):
        self.path = path
        self.name = self.file = None  # of the module that was found last

    def mount(self, readonly, mkfs):
        pass

    def umount(self):
        pass

    def ilistdir(self, path):
        return iter(())  # nothing for those who list or copy all files

    def find(self, name):
        """Return the .mpy of a module, which the next `open` of it takes.

        :param str name: of the module, with a slash before it
        :raises OSError: there is none
        """
        self.name = None
        self.file = open("%s%s.mpy" % (self.path, name), "rb")
        self.name = name
        return self.file

    def get(self, path):
        """Find a .mpy by its whole path; None where it lies elsewhere."""
        return self.find(path[len(_PLACE) : -4]) if path.startswith(_PLACE) else None

    def _found(self, path):
        name = self.name
        return name and path.startswith(name) and len(path) - len(name) < 5

    def stat(self, path):
        """``import`` asks for a folder, which no module is, for its .py and its .mpy."""
        if not path.endswith("py"):
            if path != self.name:
                self.find(path)
        elif not self._found(path):
            open(self.path + path).close()
            return _FOUND
        elif path.endswith(".mpy"):
            return _FOUND
        raise OSError(2)

    def open(self, path, mode):
        file = self.file if self._found(path) else open(self.path + path, mode)
        self.name = self.file = None
        return _Reader(file)


def _mount():
    """Have the modules of the package found there; return the `Folder`, or None."""
    machine = getattr(sys.implementation, "_mpy", 0) >> 10 & 15
    # x64, Cortex-M4 and its like, ESP32, RISC-V: the heap of the others is small. What lies in a
    # ROMFS runs in place, and what is frozen has no folder.
    if machine not in (2, 6, 7, 8, 10, 11) or __file__[:1] != "/" or __file__[:5] == "/rom/":
        return None
    try:
        from vfs import mount, umount

        try:
            umount(_PLACE)  # of an earlier import of the package
        except OSError:
            pass
        files = Folder(__file__.rpartition("/")[0])
        mount(files, _PLACE)
    except (ImportError, OSError):
        return None
    acclimate.__path__ = _PLACE
    return files


acclimate._files = _mount()
if acclimate._files is None:
    del Folder, _Reader, _mount  # a small board has no room for them
