# SPDX-License-Identifier: MIT
"""Call every function of a native module again and again while the heap is collected."""

import gc
import sys

# So many calls of each function, times SHARE / 100: all of them in a bench, fewer in a test.
CALLS = 100000
SHARE = 100 if hasattr(gc, "mem_free") and gc.mem_free() > 500000 else 1


def collected(functions):
    """Keep only methods of a module and collect the heap in a loop while it is filled anew."""
    for name in list(sys.modules):
        if name.startswith("_") and not name.startswith("__"):
            sys.modules.pop(name)
    for i in range(20):
        filler = [bytearray(16 + i) for _ in range(20)]
        del filler
        gc.collect()
    return functions


def call(module, cases):
    """Run the cases; cases: {function: (arguments, a function that must stay true or None)}."""
    exported = {name for name in dir(module) if callable(getattr(module, name))}
    exported = {name for name in exported if not name.startswith("__")}
    assert exported == set(cases), exported ^ set(cases)
    times = CALLS * SHARE // 100
    functions = collected({name: getattr(module, name) for name in cases})
    del module
    for name in sorted(cases):
        arguments, check = cases[name]
        function = functions[name]
        first = function(*arguments)
        for k in range(times):
            last = function(*arguments)
            if not k % 5000:
                gc.collect()
        if check:
            assert check(first) and check(last), (name, first, last)
