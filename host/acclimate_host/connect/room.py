# SPDX-License-Identifier: MIT
"""Room for the package on a board: whole blocks, and what is chosen when not all of it fits."""

from acclimate_host.connect import package
from acclimate_host.errors import Refused

# What a plain install brings, the most wanted first: as many are chosen as fit one after the
# other. What they import comes along; `package.merge.EXTRAS` comes with `--with`.
ROLES = ("svm", "features", "loop", "net", "store", "acceptance", "reservoir", "pull")
# In a small heap the large machine cannot be imported.
SMALL_ROLES = ("svm.small", "features", "store", "pull", "reservoir", "acceptance")
SMALL_HEAP_BYTES = 32 * 1024
# The same on a CIRCUITPY drive, where nothing is native. What loads there in 22 KB of heap, each
# by itself, was tried in the real interpreter (tests/host/test_drive.py).
DRIVE_ROLES = ROLES + ("drift", "svm.small", "pager", "pull.mqtt")
_SMALL_BYTECODE = ("svm.small", "features", "loop", "net", "acceptance", "reservoir", "drift")
_SMALL_SOURCES = ("features", "reservoir", "drift")
_SPARE_BLOCKS = 4  # of what is chosen here: the user has files too


def littlefs_blocks(size, block_bytes):
    """Return the blocks of a file on littlefs, whose block k begins with ctz(k) + 1 pointers."""
    count, left = 0, size
    while left > 0:
        pointers = (count & -count).bit_length() if count else 0
        left -= block_bytes - 4 * pointers
        count += 1
    return count


class Room:
    """The blocks of a board's file system that the package may take.

    :param present: sizes of the files that are in its folder already, by name; None: no folder.
    """

    def __init__(self, board, present):
        self.block_bytes = board.block_bytes(board.root)
        self.free_bytes = board.free_bytes(board.root)
        self.present = present or {}
        # Counted on littlefs: room to write beside the old, or what two new folders take.
        self.slack_blocks = 3 if present else 6

    def whole(self, size):
        """Return the bytes that a file of so many takes: whole blocks."""
        return -(-size // self.block_bytes) * self.block_bytes

    def needed(self, sizes):
        """Return the bytes that files need, with what the folder itself grows by."""
        blocks = sum(littlefs_blocks(size, self.block_bytes) for size in sizes)
        return (blocks + self.slack_blocks) * self.block_bytes

    def fits_drive(self, files):
        """Tell whether the files fit on a drive, one of them twice: it is written beside."""
        if not files:
            return True
        sizes = {name: self.whole(len(data)) for name, data in files.items()}
        grown = sum(size - self.whole(self.present.get(name, 0)) for name, size in sizes.items())
        return max(grown, 0) + max(sizes.values()) <= self.free_bytes

    def check_drive(self, folder, files):
        """Raise Refused, with the bytes, when the files do not fit on a drive."""
        if not self.fits_drive(files):
            needed = sum(self.whole(len(data)) for data in files.values())
            largest = max(files, key=lambda name: len(files[name]))
            raise Refused(
                f"{folder} needs {needed} bytes for {len(files)} files ({largest}: "
                f"{len(files[largest])}, written beside the old one), the drive has "
                f"{self.free_bytes} free; nothing was changed"
            )

    def fits(self, roles, files, arch, without=()):
        """Tell whether what these names bring has room."""
        natives = [name for name in package.natives(arch) if name not in without]
        names = _names(roles, files, natives, arch)
        reusable = sum(self.whole(size or 0) for size in self.present.values())
        return self.needed([len(files[name]) for name in names]) <= self.free_bytes + reusable

    def check(self, folder, files, advice):
        """Raise Refused when the files that are to be copied do not fit.

        :param advice: called for the words that help.
        """
        if not files:
            return
        needed = self.needed([len(data) for data in files.values()])
        reusable = sum(self.whole(self.present.get(name) or 0) for name in files)
        if needed > self.free_bytes + reusable:
            raise Refused(
                f"{folder} needs {needed} bytes in {len(files)} files, the board has "
                f"{self.free_bytes}: {advice()}"
            )

    def choose(self, files, natives, heap_free_bytes, arch=None, extras=(), without=()):
        """Return (names that fit, names left out).

        :param files: ``{file name: bytes}`` of the whole package.
        :param natives: names of the native modules among them.
        :param extras: modules beside the default set.
        :param without: native modules that are not copied.
        """
        most = self.free_bytes - _SPARE_BLOCKS * self.block_bytes
        most += sum(self.whole(size or 0) for size in self.present.values())
        roles = SMALL_ROLES if heap_free_bytes < SMALL_HEAP_BYTES else ROLES
        roles += tuple(extras)
        natives = [name for name in natives if name not in without]
        count = len(roles)
        while count > 1:
            names = _names(roles[:count], files, natives, arch)
            fits = self.needed([len(files[name]) for name in names]) <= most
            if fits or names <= self.present.keys():  # the second time as the first
                break
            count -= 1
        return roles[:count], roles[count:]


def small_drive_roles(bytecode):
    """Return what a 32 KB CircuitPython board loads, as bytecode or from sources."""
    return _SMALL_BYTECODE if bytecode else _SMALL_SOURCES


def _names(roles, files, natives, arch):
    modules, wanted = package.closure(roles, arch=arch)
    names = {name + ".mpy" for name in modules}
    names |= {name + ".mpy" for name in natives if name in wanted}
    return (names | {package.MANIFEST + ".mpy"}) & set(files)
