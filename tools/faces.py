# SPDX-License-Identifier: MIT
"""Write what editors and checkers read of each room's face: __init__.pyi beside __init__.py.

usage: python tools/faces.py [--check]

A face loads its names when they are first used, which no checker follows. With --check nothing is
written; the exit status tells whether the files are those that `_NAMES` of each face gives.
"""

import sys

from acclimate_host.connect import merge
from acclimate_host.paths import device_package

HEAD = "# SPDX-License-Identifier: MIT\n# Written by tools/faces.py.\n"


def faces():
    """Yield (path, text) of each face's file."""
    for path in sorted(device_package().glob("*/__init__.py")):
        names = sorted(merge.names_of(path.parent.name).items(), key=_order)
        lines = [f"from {module} import {name} as {name}\n" for name, module in names]
        yield path.with_suffix(".pyi"), HEAD + "".join(lines)


def _order(item):
    """Imports lie as the formatter has them: constants, classes, functions of each module."""
    name, module = item
    return module, not name.isupper(), not name[0].isupper(), name


def main(arguments):
    other = [
        (path, text)
        for path, text in faces()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in other:
        print(path)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    return 1 if other and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
