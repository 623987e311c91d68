# SPDX-License-Identifier: MIT
"""Write what an import makes as constants in C."""

from static_freeze.objects import (
    Builtin,
    BuiltinModule,
    Class,
    Closure,
    Dict,
    Function,
    Method,
    Module,
    NotConstant,
    Property,
    Symbol,
    is_state,
    modules_reached,
)

HEAD = """
////////////////////////////////////////////////////////////////////////////////
// objects of frozen modules that an import would make in the heap
#include "py/objfun.h"
#include "py/objtype.h"
#include "py/stream.h"

#if MICROPY_VERSION_MAJOR != 1 || MICROPY_VERSION_MINOR != 25
#error "static freezing is written for MicroPython 1.25: build without ACCLIMATE_STATIC"
#endif
#if MICROPY_OBJ_REPR == MICROPY_OBJ_REPR_D || MICROPY_PY_SYS_SETTRACE
#error "static freezing knows neither 64-bit objects nor sys.settrace"
#endif
"""
# What a changed copy of MicroPython's own files shows.
VISIBLE = """
#include "py/objtype.h"
#include "py/runtime.h"
#include "py/stream.h"
mp_obj_t mp_obj_instance_make_new(const mp_obj_type_t *, size_t, size_t, const mp_obj_t *);
void instance_print(const mp_print_t *, mp_obj_t, mp_print_kind_t);
mp_obj_t instance_unary_op(mp_unary_op_t, mp_obj_t);
mp_obj_t instance_binary_op(mp_binary_op_t, mp_obj_t, mp_obj_t);
void mp_obj_instance_attr(mp_obj_t, qstr, mp_obj_t *);
mp_obj_t instance_subscr(mp_obj_t, mp_obj_t, mp_obj_t);
mp_int_t instance_get_buffer(mp_obj_t, mp_buffer_info_t *, mp_uint_t);
extern const mp_obj_type_t mp_type_closure, mp_type_iobase;
extern const mp_stream_p_t iobase_p;
"""
LAYOUT = """
// As the interpreter's own, but of constant objects.
typedef struct { mp_obj_base_t base; const mp_module_context_t *context;
    struct _mp_raw_code_t *const *child_table; const byte *bytecode; mp_rom_obj_t extra_args[];
} static_fun_t;
typedef struct { mp_obj_base_t base; mp_rom_obj_t fun; size_t n_closed; mp_rom_obj_t closed[];
} static_closure_t;
typedef struct { mp_obj_base_t base; mp_rom_obj_t obj; } static_cell_t;
typedef struct { mp_obj_base_t base; mp_rom_obj_t fun; } static_method_t;
typedef struct { mp_obj_base_t base; mp_rom_obj_t proxy[3]; } static_property_t;

#define SAME(mine, theirs, field) \\
    _Static_assert(offsetof(mine, field) == offsetof(theirs, field), #theirs " differs")
SAME(static_fun_t, mp_obj_fun_bc_t, context);
SAME(static_fun_t, mp_obj_fun_bc_t, child_table);
SAME(static_fun_t, mp_obj_fun_bc_t, bytecode);
SAME(static_fun_t, mp_obj_fun_bc_t, extra_args);
SAME(static_cell_t, mp_obj_cell_t, obj);
SAME(static_method_t, mp_obj_static_class_method_t, fun);
_Static_assert(sizeof(static_fun_t) == sizeof(mp_obj_fun_bc_t), "a function has another size");
_Static_assert(sizeof(static_cell_t) == sizeof(mp_obj_cell_t), "a cell has another size");
_Static_assert(sizeof(mp_rom_obj_t) == sizeof(mp_obj_t), "objects in flash have another size");
_Static_assert(sizeof(mp_rom_map_elem_t) == sizeof(mp_map_elem_t), "tables in flash differ");
_Static_assert(sizeof(mp_map_t) == sizeof(size_t) * 2 + sizeof(void *), "a map has other fields");
_Static_assert(sizeof(mp_obj_dict_t) == sizeof(void *) + sizeof(mp_map_t), "a dict differs");
_Static_assert(sizeof(mp_obj_module_t) == 2 * sizeof(void *), "a module has other fields");
_Static_assert(sizeof(mp_module_context_t) == 4 * sizeof(void *), "a module has other constants");
"""
CHECK_STATES = """
_Static_assert(%d <= ACCLIMATE_STATIC_GLOBALS && ACCLIMATE_STATIC_GLOBALS <= 32,
    "ACCLIMATE_STATIC_GLOBALS: at most 32, the same for tool and compiler");
"""
SLOTS = (
    ("make_new", "mp_obj_instance_make_new"),
    ("print", "instance_print"),
    ("call", "mp_obj_instance_call"),
    ("unary_op", "instance_unary_op"),
    ("binary_op", "instance_binary_op"),
    ("attr", "mp_obj_instance_attr"),
    ("subscr", "instance_subscr"),
    ("iter", "mp_obj_instance_getiter"),
    ("buffer", "instance_get_buffer"),
)
# Set beforehand: the interpreter would set "is subclassed" in the flash.
FLAGS = "MP_TYPE_FLAG_" + " | MP_TYPE_FLAG_".join(
    "IS_SUBCLASSED EQ_NOT_REFLEXIVE EQ_CHECKS_OTHER_TYPE EQ_HAS_NEQ_TEST ITER_IS_GETITER "
    "INSTANCE_TYPE".split()
)
SMALL = 1 << 30  # below it an int is one word on every 32-bit board


def slots_of(names, room, hash_of):
    """Lay names out as the interpreter's hash table does; return a list with None in the gaps."""
    table = [None] * room
    for name in names:
        at = hash_of(name) % room
        while table[at] is not None:
            at = (at + 1) % room
        table[at] = name
    return table


def probes(table, hash_of):
    """Return how many steps it takes to find each name once, and to miss once at each place."""
    room, steps = len(table), 0
    for at, name in enumerate(table):
        if name is not None:
            steps += 2 * ((at - hash_of(name)) % room)
        while table[at % room] is not None:
            steps, at = steps + 1, at + 1
    return steps / room


class Writer:
    """Writes objects, each once and after those that it needs; all have a forward declaration.

    :param tool: mpy-tool as a module. :param modules: {name: Module} that are static.
    """

    def __init__(self, tool, modules):
        self.tool, self.modules = tool, modules
        self.lines, self.declared, self.known, self.kept = [], [], {}, []
        self.names, self.consts = 0, {}

    def name(self, kind):
        self.names += 1
        return "static_%s_%d" % (kind, self.names)

    def constants_of(self, compiled, references):
        """Remember how the constants of a module are called: {place in its table: C}."""
        for value, reference in zip(compiled.obj_table, references, strict=True):
            self.known[id(value)] = reference

    def qstr(self, text):
        """Return the name in C of an interned text."""
        found = self.tool.global_qstrs.find_by_str(text)
        return found.qstr_id if found else "MP_QSTR_" + self.tool.qstrutil.qstr_escape(text)

    def hash_of(self, text):
        return self.tool.qstrutil.compute_hash(
            text.encode(), self.tool.config.MICROPY_QSTR_BYTES_IN_HASH
        )

    def reference(self, value):
        """Return the constant object in C for a value; write what it needs."""
        if value is None or isinstance(value, bool) or value is Ellipsis:
            return self.tool_constant(value)
        if type(value) is int and -SMALL <= value < SMALL:
            return "MP_ROM_INT(%d)" % value
        if isinstance(value, str) and self.tool.global_qstrs.find_by_str(value):
            return "MP_ROM_QSTR(%s)" % self.qstr(value)
        if isinstance(value, BuiltinModule):
            self.declare("mp_obj_module_t", value.c)
        if isinstance(value, (Symbol, Builtin, BuiltinModule)):
            return "MP_ROM_PTR(&%s)" % value.c
        if id(value) not in self.known:
            self.kept.append(value)  # or its id could be that of another one
            self.known[id(value)] = self.write(value)
        return self.known[id(value)]

    def tool_constant(self, value):
        """Let mpy-tool write a plain constant."""
        printed, reference = self.tool.captured(value, self.name("constant"))
        self.lines.append(printed)
        return reference

    def write(self, value):
        for kind in (Module, Class, Function, Closure, Method, Property, Dict, tuple):
            if isinstance(value, kind):
                name = self.name(kind.__name__.lower())
                self.known[id(value)] = "MP_ROM_PTR(&%s)" % name
                getattr(self, "write_" + kind.__name__.lower())(name, value)
                return "MP_ROM_PTR(&%s)" % name
        return self.tool_constant(value)

    def declare(self, kind, name):
        line = "extern const %s %s;" % (kind, name)
        if line not in self.declared:
            self.declared.append(line)

    def define(self, kind, name, body):
        self.declare(kind, name)
        self.lines.append("const %s %s = {%s};" % (kind, name, body))

    def module_name(self, module):
        """Return the C name of a module object."""
        if self.modules.get(module.name) is not module:
            raise NotConstant("%s, which others use, is not static" % module.name)
        return self.reference(module)[len("MP_ROM_PTR(") : -1]

    def write_module(self, name, module):
        """Write the module, and its globals if they lie in flash."""
        compiled = module.compiled
        tables = [
            ".%s_table = (%s *)&const_%s_table_data_%s" % (kind, c, kind, compiled.escaped_name)
            for kind, c in (("qstr", "qstr_short_t"), ("obj", "mp_obj_t"))
            if getattr(compiled, kind + "_table")
        ]
        if module.state is None:
            names = "(mp_obj_dict_t *)&%s_globals" % name
        else:
            names = "&MP_STATE_VM(acclimate_static_globals)[%d]" % module.state
        self.define(
            "mp_module_context_t",
            name,
            "{{&mp_type_module}, %s}, {%s}" % (names, ", ".join(tables)),
        )
        spare = 6 if module.state is not None else 0  # for __path__ and submodules
        self.write_names(name + "_globals", module.globals, spare)

    def write_names(self, name, names, spare=0):
        """Write a dict of names, laid out by their hashes."""
        count = len(names)
        rooms = range(count + spare + 1, count + spare + 2 + count // 5)
        table = min(
            (slots_of(names, room, self.hash_of) for room in rooms),
            key=lambda table: probes(table, self.hash_of) + len(table) / 4,
        )
        rows = []
        for at, key in enumerate(table):
            if key is not None:
                value = names[key]
                made = "MP_ROM_PTR(NULL)" if is_state(value) else self.reference(value)
                rows.append("[%d] = {MP_ROM_QSTR(%s), %s}" % (at, self.qstr(key), made))
        self.write_table(name, rows, len(table), count, 0, 1)

    def write_table(self, name, rows, room, used, is_ordered, all_qstrs):
        self.define("mp_rom_map_elem_t", "%s_table[%d]" % (name, room), ",\n    ".join(rows))
        flags = ".all_keys_are_qstrs = %d, .is_fixed = 1, .is_ordered = %d" % (
            all_qstrs,
            is_ordered,
        )
        self.define(
            "mp_obj_dict_t",
            name,
            "{&mp_type_dict}, {%s, .used = %d, .alloc = %d, .table = (mp_map_elem_t *)&%s_table}"
            % (flags, used, room, name),
        )

    def write_dict(self, name, value):
        rows = ["{%s, %s}" % tuple(map(self.reference, item)) for item in value.items]
        plain = all(row.startswith("{MP_ROM_QSTR(") for row in rows)
        self.write_table(name, rows, len(rows), len(rows), 1, int(plain))

    def write_class(self, name, made):
        flags = FLAGS + " | MP_TYPE_FLAG_HAS_SPECIAL_ACCESSORS" * made.has_accessors()
        slots = list(SLOTS)
        if made.base is not None:
            slots.append(("parent", self.reference(made.base)[len("MP_ROM_PTR(") : -1]))
        if made.is_stream():
            slots.append(("protocol", "&iobase_p"))
        slots.append(("locals_dict", "&%s_names" % name))
        self.write_names(name + "_names", made.names)
        self.declare("mp_obj_type_t", name)
        listed = "".join(",\n    %s, %s" % slot for slot in slots)
        self.lines.append(
            "MP_DEFINE_CONST_OBJ_TYPE(%s, %s, %s%s);" % (name, self.qstr(made.name), flags, listed)
        )

    def write_function(self, name, function):
        code = function.code
        extra = [self.reference(value) for value in function.defaults]
        if function.keyword_defaults is not None:
            extra.append(self.reference(function.keyword_defaults))
        kind = "mp_type_gen_wrap" if code.scope_flags & 1 else "mp_type_fun_bc"
        children = "(void *)&children_%s" % code.escaped_name if code.children else "NULL"
        self.define(
            "static_fun_t",
            name,
            "{&%s}, %s, %s, fun_data_%s, {%s}"
            % (
                kind,
                self.module_name(function.module),
                children,
                code.escaped_name,
                ", ".join(extra),
            ),
        )

    def write_closure(self, name, closure):
        cells = [self.cell(cell) for cell in closure.cells]
        self.define(
            "static_closure_t",
            name,
            "{&mp_type_closure}, %s, %d, {%s}"
            % (self.reference(closure.function), len(cells), ", ".join(cells)),
        )

    def cell(self, cell):
        """Return a cell, whose type nobody looks at."""
        if id(cell) not in self.known:
            self.kept.append(cell)
            name = self.name("cell")
            self.known[id(cell)] = "MP_ROM_PTR(&%s)" % name
            self.define(
                "static_cell_t", name, "{&mp_type_object}, %s" % self.reference(cell.value)
            )
        return self.known[id(cell)]

    def write_method(self, name, method):
        body = "{&mp_type_%s}, %s" % (method.kind, self.reference(method.function))
        self.define("static_method_t", name, body)

    def write_property(self, name, value):
        parts = ", ".join(map(self.reference, value.parts))
        self.define("static_property_t", name, "{&mp_type_property}, {%s}" % parts)

    def write_tuple(self, name, value):
        items = ", ".join(map(self.reference, value))
        self.lines.append(
            "const mp_rom_obj_tuple_t %s = {{&mp_type_tuple}, %d, {%s}};"
            % (name, len(value), items)
        )
        self.declare("mp_rom_obj_tuple_t", name)

    def text(self):
        """Return the C of all objects and the table of modules for the import."""
        rows = []
        for module in self.modules.values():
            name = self.module_name(module)
            initial = "&%s_globals" % name[1:]
            states = {m.state for m in modules_reached(module)} - {None}
            needs = sum(1 << state for state in states)
            rows.append("{%s, %#x, %s, %s}" % (self.qstr(module.name), needs, name, initial))
        count = len(rows)
        table = "const acclimate_static_module_t acclimate_static_modules[] = {\n    %s\n};"
        states = [m.state for m in self.modules.values() if m.state is not None]
        return "\n".join(
            (
                HEAD + VISIBLE + LAYOUT,
                '#include "%s"' % "static/static.h",
                CHECK_STATES % len(states),
                *self.declared,
                *self.lines,
                table % ",\n    ".join(rows),
                "const size_t acclimate_static_count = %d;" % count,
            )
        )
