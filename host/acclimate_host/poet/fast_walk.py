# SPDX-License-Identifier: MIT
"""The walks of walk.c: compiled when the first is wanted, used where there is a C compiler."""

import ctypes
import functools
import weakref

import numpy as np

from ..twin import compiled as compiling

_KINDS = ("compute", "free", "pagein")
_AGAIN, _PAGED = 1, 2
_UNLIMITED = 2**62  # bytes, or blocks; what is compared with limits is whole
_POINTER = ctypes.c_void_p


class _FactsInC(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("count", "words", "deep", "most_steps")),
        *((name, _POINTER) for name in ("read_start", "reads", "use_start", "uses")),
        *((name, _POINTER) for name in ("reader_start", "readers", "size", "need", "blocks")),
        *((name, _POINTER) for name in ("may", "reader_bits", "below", "joules", "joules_in")),
        *((name, _POINTER) for name in ("joules_out", "log_size", "log_step")),
        *((name, ctypes.c_int64) for name in ("resident", "limit", "aux", "erases")),
    ]


class _DrawInC(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_double) for name in "abc"),
        ("pull", ctypes.c_double),
        *((name, _POINTER) for name in ("factors", "leans", "compute", "pagein", "trip")),
        *((name, _POINTER) for name in ("first_back", "most", "keep", "keep_start", "keep_index")),
    ]


class _WalkInC(ctypes.Structure):
    _fields_ = [
        ("spent", ctypes.c_double),
        ("steps", ctypes.POINTER(ctypes.c_int32)),
        ("steps_count", ctypes.c_int32),
        ("stages", ctypes.c_int32),
        ("profile", ctypes.POINTER(ctypes.c_double)),
        ("stored", ctypes.POINTER(ctypes.c_uint8)),
    ]


@functools.cache
def _library():
    """The compiled rules, or None."""
    if compiling.why_not("walk") is not None:
        return None
    library = ctypes.CDLL(str(compiling.path("walk")))
    library.walk_new.restype = ctypes.POINTER(_WalkInC)
    library.walk_new.argtypes = [ctypes.POINTER(_FactsInC)]
    library.walk_run.argtypes = [ctypes.POINTER(_WalkInC), ctypes.POINTER(_DrawInC)]
    library.walk_free.argtypes = [ctypes.POINTER(_WalkInC)]
    library.walk_free.restype = None
    return library


def _rows(lists):
    start = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return start, np.array([i for row in lists for i in row], np.int32)


def _bits(numbers, words):
    """Numbers of any size as rows of words of 64 bits."""
    return np.frombuffer(b"".join(n.to_bytes(8 * words, "little") for n in numbers), np.uint64)


def compiled(facts, deep, most_steps):
    """Return what C needs of a graph (walk.Facts), or None where walks stay in Python.

    deep: most recomputations within each other. most_steps: of a walk, for each node.
    """
    library = _library()
    return None if library is None else _Compiled(library, facts, deep, most_steps)


class _Compiled:
    def __init__(self, library, facts, deep, most_steps):
        count, budget = len(facts.size), facts.budget
        self.run, self.words = library.walk_run, -(-count // 64)
        read_start, reads = _rows(facts.reads)
        use_start, uses = _rows(facts.uses)
        reader_start, readers = _rows(facts.readers)
        may = np.where(facts.again, _AGAIN, 0) | np.where(facts.paged, _PAGED, 0)
        lists = (facts.size, facts.need, facts.blocks)
        reals = (facts.joules, facts.joules_in, facts.joules_out, facts.log_size, facts.log_step)
        self.arrays = [
            *(read_start, reads, use_start, uses, reader_start, readers),
            *(np.array(numbers, np.int64) for numbers in lists),
            may.astype(np.uint8),
            *(_bits(numbers, self.words) for numbers in (facts.reader_bits, facts.below)),
            *(np.array(numbers, float) for numbers in reals),
        ]
        limits = (budget.ram_bytes, budget.aux_bytes, budget.erase_budget)
        self.facts = _FactsInC(
            *(count, self.words, deep, min(most_steps * count, 2**30)),
            *(array.ctypes.data for array in self.arrays),
            int(facts.graph.resident_bytes),
            *(-1 if limit is None else int(min(limit, _UNLIMITED)) for limit in limits),
        )
        self.walk = library.walk_new(self.facts)
        if not self.walk:
            raise MemoryError("no memory for a walk")
        weakref.finalize(self, library.walk_free, self.walk)


class FastWalk:
    """A walk in C with the face of walk.Walk; the next one of its graph takes its place."""

    def __init__(self, facts, draw, guide=None, pull=0.0, most=None):
        self.facts, self.most, self.compiled = facts, most, facts.compiled
        leans = np.ones(len(facts.size))
        for i, lean in draw.leans.items():
            leans[i] = lean
        most = None if most is None else np.ascontiguousarray(most, float)
        guides = (None,) * 3 if guide is None else (guide.share, guide.start, guide.index)
        self.arrays = (draw.factors, leans, *facts.costs, most, *guides)
        self.draw = _DrawInC(
            *draw.exponents,
            pull,
            *(None if array is None else array.ctypes.data for array in self.arrays),
        )

    def run(self):
        """False where what was freed cannot be had again, or it became too dear or too long."""
        walk = self.compiled.walk
        arrived = self.compiled.run(walk, self.draw)
        self.spent = walk.contents.spent
        self.profile = np.ctypeslib.as_array(walk.contents.profile, (walk.contents.stages,)).copy()
        return bool(arrived)

    def plan(self):
        """Return its steps as (kind, id)."""
        walk = self.compiled.walk.contents
        steps = ((_KINDS[step % 3], step // 3) for step in walk.steps[: walk.steps_count])
        return self.facts.plan(steps, set(self.stored()))

    def stored(self):
        """The tensors that it wrote, in order."""
        count = len(self.facts.size)
        flags = np.ctypeslib.as_array(self.compiled.walk.contents.stored, (count,))
        return np.flatnonzero(flags).tolist()
