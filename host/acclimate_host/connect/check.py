# SPDX-License-Identifier: MIT
"""Look at what is installed on a board, file by file: one bad file never hides the others."""

import hashlib

from acclimate import __version__
from acclimate_host.connect import merge, mpy, package
from acclimate_host.errors import AcclimateError, BoardError, Refused

_LOAD = (
    "from acclimate import _native\nprint(_native.load({name!r}) is not None, "
    "_native.reason({name!r}))"
)
_HEADER = "with open({path!r}, 'rb') as f: print(list(f.read(4)))"


def check_package(board, info):
    """Return (is it fine?, text) of the installed package and of each file that is not fine.

    An empty list: nothing is installed. MicroPython may hang in the import of a truncated file,
    so nothing is imported before it was compared.
    """
    folder = board.lib + "/acclimate"
    present = board.ls(folder) if board.exists(folder) else {}
    if not present:
        return []
    check = _Check(board, info, folder)
    alone = check.answers_alone(present)
    if not alone or present.keys() & {"__init__.py", "__init__.mpy"}:
        fault = check.layout_of(present)
        if fault:
            return [_other_release(board, fault)]
    what = "only predicting of acclimate" if alone else "acclimate"
    found = [(True, f"{what} {__version__} is installed")]
    found += [(False, text) for text in check.bytecode(present)]
    stems = {name.partition(".")[0] for name in present}
    natives = sorted(stems & package.natives(info.arch).keys() - {*package.ANSWER_NATIVES})
    if natives and check.can_load:
        found += [_native(board, stem) for stem in natives]
    missing = _missing(present.keys() - check.answering.keys(), check.arch)
    missing += [name for name in check.answering if name not in present]
    if missing:
        text = f"not installed, but imported by what is: {', '.join(missing)}"
        found.append((False, f"{text}: {_again(board)}"))
    return found


def _other_release(board, fault):
    """Say which release a board has whose __init__ is not ours."""
    text = f"acclimate/__init__ {fault}"
    if "differs" in fault:
        try:
            version = board.exec("import acclimate\nprint(acclimate.__version__)").strip()
        except AcclimateError as error:
            return False, f"acclimate cannot be imported: {error}: {_again(board)}"
        if version != __version__:
            text = f"the board has acclimate {version}, here is {__version__}"
    return False, text.removesuffix(": " + _again(board)) + ": " + _again(board)


def _again(board):
    return f"run: acclimate install {board.words}"


class _Check:
    """Compare the files of one board with those of this release."""

    def __init__(self, board, info, folder):
        self.board, self.info, self.folder = board, info, folder
        self.form = mpy.MpyForm(info.mpy_version, info.mpy_sub_version, info.arch)
        self.arch = info.arch  # whose layout the files have
        self.again = _again(board)
        self.can_load = True  # what loads native modules is whole
        self._hashes_there = info.has_sha256
        self.answering = {}  # file -> bytes of an SVM that only predicts

    def layout_of(self, present):
        """Find whose layout is installed; return what is wrong with ``__init__``, or None.

        Three files that predict are the same on every board.
        """
        stems = {name.partition(".")[0] for name in present}
        suffix = "py" if "__init__.py" in present else "mpy"
        kinds = [self.arch]
        if {"svm", "_svm_solver"} <= stems and "_svm_data" not in stems and not self.answering:
            kinds.insert(0, merge.PREDICTING_PURE)
        faults = []
        for self.arch in kinds:
            faults.append(self.fault("__init__", suffix))
            if not faults[-1]:
                return None
        return faults[-1]

    def answers_alone(self, present):
        """Tell whether the SVM that is there only predicts; its files are compared as such."""
        known = package.natives(self.info.arch)
        if package.ANSWERS + ".mpy" in present and package.ANSWERS in known:
            self.answering = package.build(
                self.info.arch, package.PREDICT, has_crc32=self.info.has_crc32
            )
            path = self.folder + "/svm.mpy"
            if present.keys() & {"__init__.py", "__init__.mpy"}:
                wanted = _sha256(self.answering["svm.mpy"])
                if "svm.mpy" not in present or self._digest(path) != wanted:
                    self.answering = {}
        return bool(self.answering)

    def bytecode(self, present):
        """Yield a line for each file that is not what it should be."""
        natives = package.natives(self.info.arch)
        for name in sorted(present, key=lambda name: (not name.startswith("sha256."), name)):
            stem, _, suffix = name.partition(".")
            if suffix == "py" and stem + ".mpy" in present:
                yield f"{self.folder}/{name} hides newer bytecode: remove it"
            elif name in self.answering:
                if self._digest(f"{self.folder}/{name}") != _sha256(self.answering[name]):
                    yield f"{self.folder}/{name}: differs from that of {__version__}: {self.again}"
            elif stem in package.ANSWER_NATIVES:
                yield f"{self.folder}/{name}: of no use to the whole SVM: {self.again}"
            elif self.answering and "svm" in self._heads(stem):
                yield f"{self.folder}/{name}: needs more than an SVM that predicts: {self.again}"
            elif suffix in ("py", "mpy") and stem not in natives and stem != package.MANIFEST:
                fault = self.fault(stem, suffix)
                if fault:
                    self.can_load &= stem not in ("_native", "_loader", "sha256")
                    yield f"{self.folder}/{name}: {fault}"
                elif stem == "sha256":
                    self._hashes_there = True

    def _heads(self, stem):
        files = package.files(self.arch)
        return package.imports_at_head(stem, self.arch) if stem in files else ()

    def fault(self, stem, suffix):
        """Return what is wrong with a file of the package, or None."""
        path = f"{self.folder}/{stem}.{suffix}"
        if stem not in package.files(self.arch):
            return "not of this release"
        try:
            if self._digest(path) == _sha256(_wanted(stem, suffix, self.arch)):
                return None
            if suffix == "mpy":
                head = self.board.exec(_HEADER.format(path=path)).strip("[] \r\n")
                header = bytes(map(int, filter(None, head.split(","))))
                mpy.check_fits(
                    mpy.read_header(header, "it"),
                    self.form,
                    "it",
                    self.info.runtime,
                    self.board.words,
                )
        except Refused as error:
            return str(error)
        except AcclimateError as error:
            return f"cannot be read ({error})"
        return f"differs from that of {__version__}: {_again(self.board)}"

    def _digest(self, path):
        if self._hashes_there:
            return self.board.sha256(path)
        return _sha256(self.board.get_bytes(path))


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


def _native(board, stem):
    try:
        answer = board.exec(_LOAD.format(name=stem[1:])).strip().splitlines()[-1]
    except BoardError as error:
        return False, f"native module {stem}: {error}"
    loaded, _, reason = answer.partition(" ")
    return loaded == "True", f"native module {stem}: {reason}"


def _wanted(stem, suffix, arch):
    if suffix == "py":
        return package.stamped(stem, arch=arch)
    return package.compile_shipped(stem, arch)


def _missing(present, arch):
    """Return the modules that the installed ones import at their head and that are not there."""
    stems = {name.partition(".")[0] for name in present}
    wanted = set()
    for stem in stems & set(package.files(arch)):
        wanted |= package.imports_at_head(stem, arch)
    return sorted(wanted - stems - {"_manifest"})
