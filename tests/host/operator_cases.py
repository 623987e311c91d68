# SPDX-License-Identifier: MIT
"""Operators and capsules of them that several tests use."""

from acclimate_host.capsules.build import build
from acclimate_host.capsules.operators import fields_of, operators

KEY = b"a key of the test, 32 bytes long"
WEIGHTS = bytes(range(1, 101))


def source(factor, native=True, more=""):
    lines = ["import micropython", more]
    if native:
        lines.append("@micropython.native")
    return "\n".join([*lines, "def scale(x):", f"    return x * {factor}", ""])


def compiled(folder, arch, factor, **options):
    path = folder / "ops.py"
    path.write_text(source(factor, **options))
    return operators(path, arch)


def capsule(version, code):
    sections = {"WEIGHTS": WEIGHTS, "OPERATORS": code}
    return build(sections, "NETWORK", 7, version, key=KEY, **fields_of(code))
