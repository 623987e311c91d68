# SPDX-License-Identifier: MIT
"""Every exported function of every native module, 100 000 calls each, on every runtime.

The heap is collected all the while and nothing but the functions is held. `make test` runs the
same with all calls on the desktop binary and one in a hundred on the emulated boards.
"""

import sys
import time

from acclimate_host.connect import open_board, package, why_not
from acclimate_host.errors import AcclimateError
from acclimate_host.paths import repository
from bench import common

_FILES = {
    "desktop": ("update", "svm"),
    "desktop-f32": ("update", "svm"),
    "nrf52840": ("update", "svm"),
    "samd21": ("update",),
    "esp32": ("update", "svm"),
}
_TESTS = {
    "update": ("test_every_function_of_update",),
    "svm": ("test_every_function_of_svm", "test_a_small_machine_and_a_network"),
}
_LIMIT_S = 3000
CALLS = 100_000


def run(board_name, part):
    """Return the seconds of one part on one board; raises when a check or the board fails."""
    folder = repository() / "tests" / "device"
    file = folder / f"test_soak_{part}.py"
    beside = [
        path
        for path in (folder / "soak.py", folder / "net_vectors_mlp.py")
        if path.stem in file.read_text()
    ]
    with open_board(board_name) as board:
        arch = board.info().arch
        board.mkdir(board.lib + "/acclimate")
        for name, data in package.build(arch, sources=(file, *beside)).items():
            board.put_bytes(data, f"{board.lib}/acclimate/{name}")
        for path in (file, *beside):
            data = package.compile_file(path, path.name, arch)
            board.put_bytes(data, f"{board.root.rstrip('/')}/{path.stem}.mpy")
        board.soft_reset()
        board.exec(f"import soak\nsoak.SHARE = 100\nsoak.CALLS = {CALLS}\nimport {file.stem}", 120)
        started = time.monotonic()
        for test in _TESTS[part]:
            board.exec(f"{file.stem}.{test}()", _LIMIT_S)
        return time.monotonic() - started


def main():
    result, failures = {"calls": CALLS, "seconds": {}}, 0
    for name, parts in _FILES.items():
        if why_not(name):
            print("left out:", why_not(name))
            continue
        for part in parts:
            try:
                result["seconds"].setdefault(name, {})[part] = round(run(name, part), 1)
            except AcclimateError as error:
                failures += 1
                print(f"{name} {part}: {error}")
    result["failures"] = failures
    rows = [("calls", "=", CALLS), ("failures", "=", 0)]
    rows += [
        (f"seconds.{name}.{part}", None, None)
        for name, parts in result["seconds"].items()
        for part in parts
    ]
    missed = common.table("soak of native functions (seconds of this computer)", result, rows)
    print(f"  wrote {common.write('soak', result)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
