# SPDX-License-Identifier: MIT
"""Run the import of frozen modules at build time, as far as it makes constants.

A small interpreter of MicroPython's bytecode: what it does not know is not constant.
"""

from static_freeze.objects import (
    Builtin,
    BuiltinModule,
    Cell,
    Class,
    Closure,
    Dict,
    Function,
    ImportFails,
    Method,
    Module,
    NotConstant,
    Null,
    Property,
    Symbol,
    is_state,
    reached,
    sets_what_it_closes_over,
)

EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError BaseException EOFError Exception ImportError "
    "IndentationError IndexError KeyError LookupError MemoryError NameError NotImplementedError "
    "OSError OverflowError RuntimeError StopAsyncIteration StopIteration SyntaxError TypeError "
    "UnicodeError ValueError ZeroDivisionError"
).split()
TYPES = "bool bytearray bytes dict int list memoryview object range slice str tuple".split()
KNOWN = {
    "staticmethod": Builtin("staticmethod", "mp_type_staticmethod"),
    "classmethod": Builtin("classmethod", "mp_type_classmethod"),
    "property": Builtin("property", "mp_type_property"),
    "__import__": Builtin("import", "mp_builtin___import___obj"),
    "getattr": Builtin("getattr", "mp_builtin_getattr_obj"),
}
# Modules that no board has: only checkers of types read what they give.
ON_NO_BOARD = ("typing", "circuitpython_typing")
# What modules in C have that modules import by name. A name that no part of the firmware interned
# is in none of them.
OPERATORS = [
    *((int, "__%s__" % name) for name in ("add", "sub", "mul", "lshift", "or")),
    *((kind, "__mul__") for kind in (bytes, str, tuple)),
]
OF_MODULES = {
    ("array", "array"): Symbol("mp_type_array"),
    ("io", "IOBase"): Symbol("mp_type_iobase"),
    ("micropython", "const"): Builtin("const", "mp_identity_obj"),
}


class Program:
    """All frozen modules of a firmware.

    :param compiled: {module: CompiledModule of mpy-tool}.
    :param files: {module: its file}; a package ends in /__init__.py.
    :param chosen: function that tells whether a module may be static.
    :param modules_in_c: {module: its name in C}. :param interned: texts that the firmware knows.
    :param most_states: how many modules may have their globals in RAM.
    """

    def __init__(self, compiled, files, chosen, modules_in_c, interned, most_states):
        self.compiled, self.files, self.chosen = compiled, files, chosen
        self.modules_in_c, self.interned = modules_in_c, interned
        self.most_states, self.states = most_states, 0
        self.modules, self.reasons = {}, {}

    def run(self, name):
        """Import a module; return it.

        :raises NotConstant: it is not constant, or one is not that it needs.
        """
        if name in self.reasons:
            raise NotConstant("%s is not static" % name)
        if name not in self.modules:
            if name not in self.compiled:
                raise NotConstant("no frozen module %s" % name)
            is_package = self.files[name].endswith("/__init__.py")
            module = Module(name, self.files[name], self.compiled[name], is_package)
            self.modules[name] = module
            try:
                self._run(module)
            except (NotConstant, ImportFails) as reason:
                del self.modules[name]
                self.reasons[name] = str(reason)
                raise NotConstant("%s is not static" % name) from None
        return self.modules[name]

    def _run(self, module):
        if not self.chosen(module.name):
            raise NotConstant("not chosen")
        Frame(self, module, module.compiled.raw_code, module.globals).run()
        if module.needs_ram():
            if self.states == self.most_states:
                raise NotConstant("one more than %d with globals in RAM" % self.most_states)
            module.state = self.states
            self.states += 1
        states = [id(value) for value in module.globals.values() if is_state(value)]
        if len(set(states)) < len(states):
            raise NotConstant("two names of a dict")
        for name, value in module.globals.items():
            if not is_state(value):
                check(value, name)

    def import_name(self, name, level, names, importer):
        """Return what `import name` puts on the stack."""
        if level:
            parts = importer.name.split(".")
            parts = parts[: len(parts) - level + importer.is_package]
            name = ".".join((*parts, name) if name else parts)
        if "." not in name:
            for found in (name, name[1:] if name[0] == "u" else name):
                if found in self.modules_in_c:
                    return BuiltinModule(found, self.modules_in_c[found])
        if name in ON_NO_BOARD and name not in self.compiled:
            raise ImportFails("no %s on a board" % name)
        parts = name.split(".")
        modules = [self.run(".".join(parts[: i + 1])) for i in range(len(parts))]
        return modules[-1 if names else 0]

    def import_from(self, module, name):
        """Return what `from module import name` gives."""
        if isinstance(module, BuiltinModule):
            if name not in self.interned:
                raise ImportFails("no %s in %s" % (name, module.name))
            if (module.name, name) in OF_MODULES:
                return OF_MODULES[module.name, name]
            raise NotConstant("%s of %s" % (name, module.name))
        if name in module.globals:
            return module.get(name)
        if module.is_package and module.name + "." + name in self.compiled:
            return self.run(module.name + "." + name)
        if "__getattr__" in module.globals:
            frame = Frame(self, module, module.compiled.raw_code, module.globals)
            return frame.call(module.globals["__getattr__"], [name])
        raise NotConstant("%s of %s" % (name, module.name))


def check(value, name):
    """Refuse what cannot lie in flash: a table that may be filled."""
    if any(is_state(part) for part in reached(value)):
        raise NotConstant("%s has an empty dict in it" % name)


class Frame:
    """A function call, a class body or the top of a module."""

    def __init__(self, program, module, code, names, arguments=()):
        if not hasattr(code, "offset_opcodes") or code.scope_flags & 1:
            raise NotConstant("native code or a generator runs at import")
        self.program, self.module, self.code, self.names = program, module, code, names
        self.stack, self.blocks = [], []
        cells = code.fun_data[code.offset_closure_info : code.offset_opcodes]
        self.fast = dict(enumerate(arguments))
        for at in cells:
            self.fast[at] = Cell(self.fast.get(at, Null))

    def run(self):
        """Run to the end; return the result."""
        tool, data = self.code.tool, self.code.fun_data
        self.at = self.code.offset_opcodes
        while True:
            _, size, argument, extra = tool.mp_opcode_decode(data, self.at)
            name, _, number = tool.Opcode.mapping[data[self.at]].partition(" ")
            here = self.at
            self.at += size
            if name == "RETURN_VALUE":
                return self.stack.pop()
            step = getattr(self, "_" + name.lower(), None)
            if step is None:
                raise NotConstant("%s at import" % name)
            try:
                step(int(number.split()[0]) if number else argument, extra)
            except ImportFails as failure:
                self._catch(failure, here)

    def _catch(self, failure, here):
        while self.blocks and self.blocks[-1][0] <= here:
            self.blocks.pop()
        if not self.blocks:
            raise failure
        self.at, depth = self.blocks[-1]
        del self.stack[depth:]
        self.stack.append(failure)

    def _text(self, index):
        return self.code.qstr_table[index].str

    def _load_const_false(self, _, __):
        self.stack.append(False)

    def _load_const_none(self, _, __):
        self.stack.append(None)

    def _load_const_true(self, _, __):
        self.stack.append(True)

    def _load_const_small_int(self, value, _):
        self.stack.append(value)

    def _load_const_string(self, index, _):
        self.stack.append(self._text(index))

    def _load_const_obj(self, index, _):
        self.stack.append(self.code.obj_table[index])

    def _load_null(self, _, __):
        self.stack.append(Null)

    def _load_fast(self, at, _):
        self.stack.append(self.fast[at])

    _load_fast_n = _load_fast

    def _store_fast(self, at, _):
        self.fast[at] = self.stack.pop()

    _store_fast_n = _store_fast

    def _load_deref(self, at, _):
        self.stack.append(self.fast[at].value)

    def _store_deref(self, at, _):
        self.fast[at].value = self.stack.pop()

    def _load_name(self, index, _):
        name = self._text(index)
        if name in self.names:
            self.stack.append(self.names[name])
        else:
            self._load_global(index, _)

    def _load_global(self, index, _):
        name = self._text(index)
        if name in self.module.globals:
            is_top = self.code is self.module.compiled.raw_code
            value = self.module.globals[name] if is_top else self.module.get(name)
        elif name in EXCEPTIONS or name in TYPES:
            value = Symbol("mp_type_" + name)
        elif name in KNOWN:
            value = KNOWN[name]
        else:
            raise NotConstant("%s at import" % name)
        self.stack.append(value)

    def _store_name(self, index, _):
        self.names[self._text(index)] = self.stack.pop()

    def _store_global(self, index, _):
        if self.code is not self.module.compiled.raw_code:
            raise NotConstant("a global is set by a function at import")
        self._store_name(index, _)

    def _delete_name(self, index, _):
        if self.names.pop(self._text(index), Null) is Null:
            raise NotConstant("del %s" % self._text(index))

    def _load_attr(self, index, _):
        self.stack.append(self._do_getattr(self.stack.pop(), self._text(index)))

    def _do_getattr(self, value, name, *other):
        if isinstance(value, Module) and name in value.globals:
            return value.get(name)
        names = {}
        if isinstance(value, Class):
            names = {
                n: v for n, v in value.names.items() if isinstance(v, (int, str, bytes, tuple))
            }
        if name not in names or other:
            raise NotConstant("attribute %s at import" % name)
        return names[name]

    def _load_subscr(self, _, __):
        table, key = self._pop(2)
        if not isinstance(table, Dict) or key not in dict(table.items):
            raise NotConstant("an item at import")
        self.stack.append(dict(table.items)[key])

    def _load_build_class(self, _, __):
        self.stack.append(Builtin("build_class", "mp_builtin___build_class___obj"))

    def _pop(self, count):
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def _build_tuple(self, count, _):
        self.stack.append(tuple(self._pop(count)))

    def _unpack_sequence(self, count, _):
        value = self.stack.pop()
        if not isinstance(value, tuple) or len(value) != count:
            raise NotConstant("unpacking at import")
        self.stack += reversed(value)

    def _build_map(self, _, __):
        self.stack.append(Dict())

    def _store_map(self, _, __):
        value, key = self._pop(2)
        self.stack[-1].items.append((key, value))

    def _dup_top(self, _, __):
        self.stack.append(self.stack[-1])

    def _pop_top(self, _, __):
        self.stack.pop()

    def _rot_two(self, _, __):
        self.stack[-2:] = self.stack[-1], self.stack[-2]

    def _rot_three(self, _, __):
        self.stack[-3:] = self.stack[-1], self.stack[-3], self.stack[-2]

    def _jump(self, by, _):
        self.at += by

    def _pop_jump_if_true(self, by, _):
        if self._truth(self.stack.pop()):
            self.at += by

    def _pop_jump_if_false(self, by, _):
        if not self._truth(self.stack.pop()):
            self.at += by

    def _truth(self, value):
        if not isinstance(value, (bool, int, str, bytes, tuple, type(None))):
            raise NotConstant("a condition at import")
        return bool(value)

    def _setup_except(self, by, _):
        self.blocks.append((self.at + by, len(self.stack)))

    def _pop_except_jump(self, by, _):
        self.blocks.pop()
        self.at += by

    def _binary_op(self, number, _):
        right, left = self.stack.pop(), self.stack.pop()
        name = self.code.tool.mp_binary_op_method_name[number]
        if name == "<exception match>":
            caught = right if isinstance(right, tuple) else (right,)
            parents = ("mp_type_ImportError", "mp_type_Exception", "mp_type_BaseException")
            known = isinstance(left, ImportFails)
            self.stack.append(known and any(getattr(c, "c", None) in parents for c in caught))
        elif name == "<in>" and isinstance(right, Dict) and right.items:
            self.stack.append(left in dict(right.items))
        elif type(right) is int and (type(left), name) in OPERATORS:
            self.stack.append(getattr(left, name)(right))
        else:
            raise NotConstant("%s at import" % name)

    def _unary_op(self, number, _):
        value = self.stack.pop()
        if type(value) not in (int, float) or number != 1:
            raise NotConstant("an operator at import")
        self.stack.append(-value)

    def _make_function(self, index, _):
        self.stack.append(self._function(index, Null, Null))

    def _make_function_defargs(self, index, _):
        self.stack.append(self._function(index, *self._pop(2)))

    def _function(self, index, defaults, keyword_defaults):
        code = self.code.children[index]
        if (
            not hasattr(code, "offset_opcodes")
            or code.code_kind != self.code.tool.MP_CODE_BYTECODE
        ):
            raise NotConstant("native code")
        defaults = () if defaults is Null else defaults
        keyword_defaults = None if keyword_defaults is Null else keyword_defaults
        return Function(code, self.module, defaults, keyword_defaults)

    def _make_closure(self, index, count, given=()):
        cells = self._pop(count)
        function = self._function(index, *(given or (Null, Null)))
        if sets_what_it_closes_over(function.code, count):
            raise NotConstant("a closure that sets its variable")
        self.stack.append(Closure(function, cells))

    def _make_closure_defargs(self, index, count):
        cells = self._pop(count)
        given = self._pop(2)
        self.stack += cells
        self._make_closure(index, count, given)

    def _call_function(self, counts, _):
        if counts >> 8:
            raise NotConstant("a call with keywords at import")
        function, *arguments = self._pop(counts + 1)
        self.stack.append(self.call(function, arguments))

    def call(self, function, arguments):
        """Call a function with positional arguments; return its result."""
        if isinstance(function, Builtin):
            return getattr(self, "_do_" + function.name)(*arguments)
        if isinstance(function, Closure):
            arguments = [*function.cells, *arguments]
            function = function.function
        if not isinstance(function, Function):
            raise NotConstant("a call at import")
        wanted = function.code.prelude_signature[3]
        missing = wanted - len(arguments)
        if missing < 0 or missing > len(function.defaults) or function.code.prelude_signature[4]:
            raise NotConstant("a call at import")
        arguments += function.defaults[len(function.defaults) - missing :]
        module = function.module
        return Frame(self.program, module, function.code, module.globals, arguments).run()

    def _do_build_class(self, body, name, *bases):
        if len(bases) > 1 or any(not is_base(base) for base in bases):
            raise NotConstant("the bases of %s" % name)
        names = {}
        arguments = body.cells if isinstance(body, Closure) else ()
        code = body.function.code if isinstance(body, Closure) else body.code
        cell = Frame(self.program, self.module, code, names, arguments).run()
        made = Class(name, bases[0] if bases else None, names)
        if any(isinstance(v, (Class, Symbol)) for v in names.values()) or "__new__" in names:
            raise NotConstant("a class in class %s, or __new__" % name)
        if cell is not None:
            cell.value = made
        return made

    def _do_staticmethod(self, function):
        return Method("staticmethod", function)

    def _do_classmethod(self, function):
        return Method("classmethod", function)

    def _do_const(self, value):
        return value

    def _do_property(self, *parts):
        return Property(*parts)

    def _do_import(self, name, _=None, __=None, names=(), level=0):
        return self.program.import_name(name, level, names, self.module)

    def _import_name(self, index, _):
        level, names = self._pop(2)
        found = self.program.import_name(self._text(index), level, names, self.module)
        self.stack.append(found)

    def _import_from(self, index, _):
        self.stack.append(self.program.import_from(self.stack[-1], self._text(index)))


def is_base(value):
    """Tell whether a class in flash may derive from it: what it inherits in C is known."""
    known = ["mp_type_" + name for name in (*EXCEPTIONS, "object", "iobase")]
    return isinstance(value, Class) or (isinstance(value, Symbol) and value.c in known)
