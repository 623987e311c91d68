# SPDX-License-Identifier: MIT
"""What the import of a module makes, as seen at build time.

Numbers, texts, bytes, tuples, None and the like stand for themselves.
"""


class NotConstant(Exception):
    """Something that only the board can know or make; the module is frozen as usual."""


class ImportFails(Exception):
    """An import that fails on the board, too: the module may catch it."""


class Null:
    """The interpreter's MP_OBJ_NULL: no defaults given."""


class Symbol:
    """An object of the firmware: `c` is its name in C."""

    def __init__(self, c):
        self.c = c


class Builtin:
    """A built-in function that is known here."""

    def __init__(self, name, c):
        self.name, self.c = name, c


class BuiltinModule:
    """A module in C."""

    def __init__(self, name, c):
        self.name, self.c = name, c


class Module:
    """A frozen module. `state` is its number among those whose globals lie in RAM, or None."""

    def __init__(self, name, file, compiled, is_package):
        self.name, self.file, self.compiled, self.is_package = name, file, compiled, is_package
        self.globals = {"__name__": name, "__file__": file}
        self.state = None

        self.changing = set(names_set_below(compiled.raw_code))

    def needs_ram(self):
        """Tell whether its names change: by submodules, `global`, or a table that is filled."""
        empty = any(is_state(value) for value in self.globals.values())
        return self.is_package or empty or bool(self.changing)

    def get(self, name):
        """Return what another module finds under a name.

        :raises NotConstant: it depends on when it looks.
        """
        if name in self.changing or is_state(self.globals[name]):
            raise NotConstant("%s of %s changes" % (name, self.name))
        return self.globals[name]


class Function:
    """A function in bytecode."""

    def __init__(self, code, module, defaults, keyword_defaults):
        self.code, self.module = code, module
        self.defaults, self.keyword_defaults = defaults, keyword_defaults


class Closure:
    """A function with the cells that it closes over."""

    def __init__(self, function, cells):
        self.function, self.cells = function, cells


class Cell:
    """A variable that functions share."""

    def __init__(self, value=Null):
        self.value = value


class Class:
    """A class with at most one base."""

    def __init__(self, name, base, names):
        self.name, self.base, self.names = name, base, names

    def is_stream(self):
        """Tell whether it inherits the protocol of a stream."""
        if isinstance(self.base, Class):
            return self.base.is_stream()
        return getattr(self.base, "c", None) == "mp_type_iobase"

    def has_accessors(self):
        """Tell whether the interpreter must look for properties and the like."""
        special = ("__setattr__", "__delattr__")
        own = any(isinstance(v, Property) or n in special for n, v in self.names.items())
        return own or (isinstance(self.base, Class) and self.base.has_accessors())


class Method:
    """A function behind `staticmethod` or `classmethod`."""

    def __init__(self, kind, function):
        self.kind, self.function = kind, function


class Property:
    """A property: what reads, sets and deletes."""

    def __init__(self, *parts):
        self.parts = (*parts, None, None, None)[:3]


class Dict:
    """A dict display: read-only in flash, unless it is empty."""

    def __init__(self):
        self.items = []


def opcodes(code):
    """Yield (name, argument) of the bytecode of a function."""
    tool = code.tool
    at = code.offset_opcodes
    while at < len(code.fun_data):
        _, size, argument, _ = tool.mp_opcode_decode(code.fun_data, at)
        name, _, number = tool.Opcode.mapping[code.fun_data[at]].partition(" ")
        yield name, int(number.split()[0]) if number else argument
        at += size


def all_code(code):
    """Yield a function's code and that of all functions in it."""
    yield code
    for child in code.children:
        yield from all_code(child)


def everything_in(code):
    """Yield the same, those in bytecode."""
    return (part for part in all_code(code) if part.code_kind == part.tool.MP_CODE_BYTECODE)


def is_state(value):
    """Tell whether a value is a table that is filled later."""
    return isinstance(value, Dict) and not value.items


def names_set_below(code):
    """Yield the globals that functions of a module set or delete."""
    for child in code.children:
        for part in everything_in(child):
            for name, index in opcodes(part):
                if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                    yield part.qstr_table[index].str


def sets_what_it_closes_over(code, cells):
    """Tell whether a function, or one in it, may set a variable of the function around it."""
    own = (name == "STORE_DEREF" and at < cells for name, at in opcodes(code))
    inner = (
        n == "STORE_DEREF" for c in code.children for p in everything_in(c) for n, _ in opcodes(p)
    )
    return any(own) or any(inner)


def parts_of(value):
    """Return the values that a value is made of."""
    if isinstance(value, Dict):
        return [part for item in value.items for part in item]
    if isinstance(value, Class):
        return [value.base, *value.names.values()]
    if isinstance(value, Function):
        return [*value.defaults, value.keyword_defaults]
    if isinstance(value, Closure):
        return [value.function, *(cell.value for cell in value.cells)]
    if isinstance(value, Method):
        return [value.function]
    if isinstance(value, Property):
        return list(value.parts)
    return list(value) if isinstance(value, tuple) else []


def reached(value, deeper=parts_of):
    """Yield a value and all that it is made of, each once."""
    seen, left = set(), [value]
    while left:
        value = left.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            left += deeper(value)


def modules_reached(module):
    """Yield the modules that functions of a module may look into."""

    def deeper(value):
        if isinstance(value, Module):
            return value.globals.values()
        return [*parts_of(value), *([value.module] if isinstance(value, Function) else [])]

    return (value for value in reached(module, deeper) if isinstance(value, Module))
