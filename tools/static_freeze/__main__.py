# SPDX-License-Identifier: MIT
"""Freeze modules so that their functions, classes and names lie in flash, too.

usage: python tools/static_freeze MAKEMANIFEST ARGUMENTS      in place of makemanifest.py ARGUMENTS
       python tools/static_freeze --changed PY/FILE.C OUT     what a class in flash needs of it

Ordinary freezing leaves bytecode in flash, but each import makes a function object, a class and a
table for every name in the heap. Here the import runs at build time; what it makes is written as
constants. A module that does what only a board can do is frozen as usual, and named.
"""

import contextlib
import importlib.util
import io
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from static_freeze import emit, objects, program  # noqa: E402

CHOSEN = os.environ.get("ACCLIMATE_STATIC_PACKAGE", "acclimate").split(",")
MOST_STATES = int(os.environ.get("ACCLIMATE_STATIC_GLOBALS", "14"))
# What classes in flash name, and what the interpreter must not set there.
VISIBLE = {
    "objtype.c": (
        "\nstatic void instance_print(",
        "\nstatic mp_obj_t mp_obj_instance_make_new(",
        "\nstatic mp_obj_t instance_unary_op(",
        "\nstatic mp_obj_t instance_binary_op(",
        "\nstatic void mp_obj_instance_attr(",
        "\nstatic mp_obj_t instance_subscr(",
        "\nstatic mp_int_t instance_get_buffer(",
    ),
    "modio.c": (
        "\nstatic const mp_obj_type_t mp_type_iobase;",
        "\nstatic const mp_stream_p_t iobase_p = {",
        "\nstatic MP_DEFINE_CONST_OBJ_TYPE(\n    mp_type_iobase,",
    ),
}
MARK = "            t->flags |= MP_TYPE_FLAG_IS_SUBCLASSED;\n"
ONCE = "            if (!(t->flags & MP_TYPE_FLAG_IS_SUBCLASSED)) {\n    %s            }\n" % MARK
# What the constants in emit.py copy and no header shows.
PRIVATE = {
    "objclosure.c": """
    mp_obj_base_t base;
    mp_obj_t fun;
    size_t n_closed;
    mp_obj_t closed[];
} mp_obj_closure_t;
""",
    "objproperty.c": """
    mp_obj_base_t base;
    mp_obj_t proxy[3]; // getter, setter, deleter
} mp_obj_property_t;
""",
}


def load(path, name):
    """Return a Python file as a module."""
    sys.path.insert(0, str(Path(path).parent))
    found = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def changed(source, target):
    """Write a file of MicroPython: visible is what classes in flash name, and none is set."""
    text, name = Path(source).read_text(), Path(source).name
    for other, struct in PRIVATE.items():
        if struct not in Path(source).with_name(other).read_text():
            raise SystemExit("static freezing does not know this MicroPython: %s differs" % other)
    changes = {old: old.replace("static ", "", 1) for old in VISIBLE[name]}
    if name == "objtype.c":
        changes[MARK] = ONCE
    for old, new in changes.items():
        if text.count(old) != 1:
            raise SystemExit("static freezing does not know this MicroPython: %r" % old)
        text = text.replace(old, new)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(emit.VISIBLE + text)


def manifest(script, arguments):
    """Run makemanifest.py; where it calls mpy-tool, call this tool with it."""
    made = load(script, "makemanifest")
    system = made.system

    def instead(command):
        if command[1].endswith("mpy-tool.py"):
            command = [command[0], str(Path(__file__).parent), "--tool", *command[1:]]
        return system(command)

    made.system = instead
    sys.argv = [script, *arguments]
    made.main()


def stub(tool, compiled):
    """Return the code of a module that only takes its names from flash."""
    index = {q.str: i for i, q in enumerate(compiled.qstr_table)}
    for text in ("_acclimate_static", "enter"):
        if text not in index:
            index[text] = len(compiled.qstr_table)
            compiled.qstr_table.append(tool.global_qstrs.add(text))
    op, uint = tool.Opcode, tool.mp_encode_uint
    code = bytes((0x18, 2, 0, op.MP_BC_LOAD_CONST_SMALL_INT_MULTI + 16, op.MP_BC_LOAD_CONST_NONE))
    code += bytes((op.MP_BC_IMPORT_NAME,)) + uint(index["_acclimate_static"])
    code += bytes((op.MP_BC_LOAD_METHOD,)) + uint(index["enter"])
    code += bytes((op.MP_BC_CALL_METHOD, 0, op.MP_BC_POP_TOP))
    code += bytes((op.MP_BC_LOAD_CONST_NONE, op.MP_BC_RETURN_VALUE))
    name = compiled.escaped_name + "_enter"
    made = tool.RawCodeBytecode(name, compiled.qstr_table, compiled.obj_table, code)
    made.children = []
    return made


def outermost(code, wanted):
    """Yield the wanted functions that are in no other wanted one."""
    if id(code) in wanted:
        yield code
        return
    for child in code.children:
        yield from outermost(child, wanted)


def name_of(file):
    """Return the module that a frozen file is."""
    return re.sub(r"(/__init__)?\.py$", "", file).replace("/", ".")


def prepare(tool, compiled_modules, header):
    """Run the imports; return the static modules and {module: why it is not static}."""
    for compiled in compiled_modules:
        for code in objects.all_code(compiled.raw_code):
            code.tool = tool
    in_c = Path(header).with_name("moduledefs.h").read_text()
    in_c = dict(re.findall(r"MP_ROM_QSTR\(MP_QSTR_(\w+)\), MP_ROM_PTR\(&(\w+)\)", in_c))
    _, extra = tool.qstrutil.parse_input_headers([header])
    interned = {entry[1] for entry in extra.values()} | set(tool.qstrutil.static_qstr_list)
    named = {name_of(c.source_file.str): c for c in compiled_modules}
    files = {name: c.source_file.str for name, c in named.items()}
    run = program.Program(
        named,
        files,
        lambda name: name.partition(".")[0] in CHOSEN,
        in_c,
        interned,
        MOST_STATES,
    )
    for name in named:
        with contextlib.suppress(objects.NotConstant):
            run.run(name)
    return run.modules, {n: r for n, r in run.reasons.items() if r != "not chosen"}


def freeze(tool, original, header, idents, compiled_modules):
    """Print frozen_content.c with the static objects behind it."""
    modules, reasons = prepare(tool, compiled_modules, header)
    writer = emit.Writer(tool, modules)
    for module in modules.values():
        make_static(tool, module, writer)
    original(idents, compiled_modules)
    print(writer.text())
    for name in sorted(modules):
        where = "names in RAM" if modules[name].state is not None else "all in flash"
        print("// static: %s, %s" % (name, where))
    for name, reason in sorted(reasons.items()):
        print("// as usual: %s: %s" % (name, reason))


def make_static(tool, module, writer):
    """Let the frozen module have only the functions that its names need."""
    compiled, names = module.compiled, tuple(module.globals.values())
    made = (value for value in objects.reached(names) if isinstance(value, objects.Function))
    found = {id(function.code) for function in made}
    functions = list(outermost(compiled.raw_code, found))
    tool.global_qstrs.add(module.name)
    compiled.raw_code = stub(tool, compiled)

    def frozen(index):
        for code in functions:
            code.freeze_raw_code = lambda *_: None  # nobody makes a function of it
            code.freeze()
        type(compiled).freeze(compiled, index)

    references = []

    def constant(name, value):
        reference = type(compiled).freeze_constant_obj(compiled, name, value)
        if name == "const_obj_%s_%d" % (compiled.escaped_name, len(references)):
            references.append(reference)
        return reference

    def constants():
        type(compiled).freeze_constants(compiled)
        writer.constants_of(compiled, references)

    compiled.freeze, compiled.freeze_constants = frozen, constants
    compiled.freeze_constant_obj = constant


def mpy_tool(path, arguments):
    """Run mpy-tool with this tool behind it."""
    tool = load(path, "mpy_tool")
    original = tool.freeze_mpy
    header = arguments[arguments.index("-q") + 1]

    def captured(value, name):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            reference = tool.CompiledModule.freeze_constant_obj(None, name, value)
        return printed.getvalue(), reference

    tool.captured = captured
    tool.freeze_mpy = lambda idents, modules: freeze(tool, original, header, idents, modules)
    tool.main(arguments)


if __name__ == "__main__":
    if sys.argv[1] == "--changed":
        changed(*sys.argv[2:])
    elif sys.argv[1] == "--tool":
        mpy_tool(sys.argv[2], sys.argv[3:])
    else:
        manifest(sys.argv[1], sys.argv[2:])
