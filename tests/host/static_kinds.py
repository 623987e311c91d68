# SPDX-License-Identifier: MIT
"""One of each kind that static freezing makes a constant of; runs on a board only.

The firmware `nrf52840-natives` has it static. As a file it is made in the heap, and the report is
the same.
"""

import gc
import sys as system
from array import array
from io import IOBase

from micropython import const

try:
    from time import no_such_name
except ImportError:
    no_such_name = None

_SHIFT = const(3)
SMALL, NEGATIVE, WORD, LARGE, REAL = 7, -70000, 0x3FFFFFFF, 1 << 40, 2.5
SHORT = "short"
LONG = "a text of more characters than are interned, so it is an object of its own"
DATA = b"\x00\xff" * 9
TABLE = {"one": 1, "two": (2, "zwei"), 3: b"three", "four": None}
NESTED = (1, (2.5, b"x", ()), None, True)
COPY = NESTED
count = 0
state = {}
other = {}
gone = 1
del gone

if SMALL:
    CHOSEN = "then"
else:
    CHOSEN = "else"


def plain(a, b=2, *rest, c=NESTED, d=None, **more):
    return a, b, rest, c, d, sorted(more)


def default_is_a_function(f=plain, kind=ValueError):
    return f(1), kind.__name__


def generator(n):
    for i in range(n):
        yield i << _SHIFT


def counter():
    total = 0

    def add(n):
        nonlocal total
        total += n
        return total

    return add


def bump(name):
    global count
    count += 1
    state[name] = count
    other[count] = name
    return count


def _bound(first, table):
    def inner(second):
        return first, second, table["two"]

    return inner


closed_at_import = _bound(SHORT, TABLE)
square = lambda x: x * x  # noqa: E731


class Fault(ValueError):
    """An exception with a field."""

    def __init__(self, reason, text="nothing"):
        super().__init__("%s: %s" % (reason, text))
        self.reason = reason


class Worse(Fault):
    pass


class Base:
    limit = 5
    names = ("a", "b")
    _tries = True

    def __init__(self, value):
        self.value = value
        self.limit = self.limit + 1

    @property
    def double(self):
        return self.value * 2

    @staticmethod
    def fixed(a, b=3):
        return a + b

    @classmethod
    def made(cls, value):
        return cls(value)

    def __len__(self):
        return 4

    def __getitem__(self, at):
        return at, self.value

    def __eq__(self, other):
        return isinstance(other, Base) and self.value == other.value

    def __add__(self, n):
        return self.made(self.value + n)

    def __iter__(self):
        return iter((self.value, self.limit))

    def __contains__(self, n):
        return n == self.value

    def __call__(self, *args):
        return args

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True

    def __str__(self):
        return "<%d>" % self.value


class Derived(Base):
    limit = 50
    plain = staticmethod(plain)

    def __init__(self, value, extra=Base):
        super().__init__(value)
        self.extra = extra

    def __getattr__(self, name):
        if name == "made_up":
            return 9
        raise AttributeError(name)


class Stream(IOBase):
    written = 0

    def write(self, data):
        self.written += len(data)
        return len(data)


class Setting:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


def caught(kind, call, *args):
    try:
        return call(*args)
    except kind as error:
        return type(error).__name__, str(error), getattr(error, "reason", None)


def _of_classes():
    d = Derived.made(3)
    yield d.double, d.limit, Base(1).limit, Derived.limit, d.names, d.fixed(1), d.made_up
    yield len(d), d[2], d == Derived(3), d != Base(4), (d + 4).value, list(d), 3 in d, d(1, 2)
    with d as same:
        raise Fault("in with")
    yield str(d), issubclass(Worse, ValueError)
    yield same is d, d.plain(1), isinstance(d, Base), d.extra is Base
    yield caught(AttributeError, lambda: d.none), caught(AttributeError, setattr, d, "double", 1)
    yield caught(Fault, _raise, Worse("why", "because")), caught(ValueError, _raise, Fault("why"))
    yield repr(Fault("why")), Base.__name__, sorted(d.__dict__), Fault("a").args, bool(d)
    s, stream = Setting(), Stream()
    s.x = 4
    print("eight, ", file=stream)
    yield s.x, stream.written, isinstance(stream, IOBase)

    class Late(Derived):
        def fixed(self):
            return super().double, Base.fixed(4)

    late = Late(8)
    yield late.fixed(), late.double, late.limit, caught(AttributeError, setattr, late, "double", 1)


def _raise(error):
    raise error


def _of_functions():
    add = counter()
    yield plain(1), plain(1, 3, 4, c=5, e=6), default_is_a_function(), list(generator(4))
    yield add(2), add(3), bump("x"), bump("y"), sorted(state.items()), sorted(other.items()), count
    yield closed_at_import("s"), square(9), plain.__name__, caught(TypeError, plain)
    yield caught(KeyError, lambda: TABLE["none"]), TABLE["two"], sorted(map(str, TABLE))
    yield SMALL, NEGATIVE, WORD, LARGE + 1, REAL, SHORT, LONG, DATA, NESTED, COPY is NESTED, CHOSEN
    yield no_such_name, array("h", (1, 2)), gc.enable(), system.byteorder, len(TABLE)
    yield "one" in TABLE, WORD + 0, -WORD, list(TABLE) == list(dict(TABLE)), _made_up()


def _made_up():
    module = __import__(__name__)
    return module.made_up, caught(AttributeError, getattr, module, "none")


def __getattr__(name):
    if name == "made_up":
        return "by the module"
    raise AttributeError(name)


def report():
    """Yield lines, the same wherever this module lies."""
    module = __import__(__name__)
    yield str(sorted(n for n in dir(module) if not n.startswith("__")))
    for part in (_of_functions, _of_classes):
        for line in part():
            yield repr(line)
    yield repr((module.__name__ == __name__, module.count, sorted(module.state)))
