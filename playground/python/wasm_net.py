# SPDX-License-Identifier: MIT
"""The native network kernels of boards in the page, as `wasm_svm` has the solver's."""

from js import acclimateCore as core
from uctypes import addressof

from acclimate import _native

_run = core.net_run


class _Module:
    """What `acclimate._native.load` gives."""

    @staticmethod
    def run(program, arena, x, par):
        return _run(
            addressof(program),
            len(program),
            addressof(arena),
            len(arena),
            addressof(x),
            len(x),
            addressof(par),
        )


_native.register("net", _Module, "WebAssembly")
