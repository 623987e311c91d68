# SPDX-License-Identifier: MIT
"""Fuzz every parser: `make bench NAME=fuzz`; a smaller run: `python -m bench.fuzz 0.1`.

The C core runs under libFuzzer (guided by coverage) with AddressSanitizer and
UndefinedBehaviorSanitizer, beside slow references; the Python path under atheris where it is
installed (`pip install -e '.[bench]'`), else under blind mutation. bench/fuzz_oracle.py decides
what is bad.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

from acclimate_host.paths import built, repository
from bench.common import table, write
from bench.fuzz_all import TARGETS

C_RUNS = 1_000_000
PYTHON_RUNS = 40_000
ROWS = [
    ("crashes", "=", 0),
    ("accepted_bad", "=", 0),
    ("c.core.inputs", ">=", 1),
    *((f"python.{name}.inputs", ">=", 1) for name in TARGETS),
]
_CORE = ("crc32", "buffers", "rangecoder", "sha256")


def compiler():
    """Return a clang that links libFuzzer, or None."""
    for name in ("clang-22", "clang"):
        if shutil.which(name):
            done = subprocess.run(
                [name, "-fsanitize=fuzzer", "-x", "c", "-", "-o", os.devnull],
                text=True,
                input="int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }",
                capture_output=True,
            )
            if done.returncode == 0:
                return name
    return None


def build(clang):
    """Build the fuzzer of the C core and return its path."""
    source, native = repository() / "bench/native/fuzz", repository() / "native_modules"
    target = built("sanitized", "fuzz_codec")
    target.parent.mkdir(parents=True, exist_ok=True)
    files = [*source.glob("*.c"), *(native / "codec" / f"{name}.c" for name in _CORE)]
    command = [
        clang,
        "-O2",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=fuzzer,address,undefined",
        "-fno-sanitize-recover=all",
        f"-I{native / 'codec'}",
        f"-I{native / 'common'}",
        *map(str, files),
        "-lm",
        "-o",
        str(target),
    ]
    subprocess.run(command, check=True)
    return target


def fuzz_core(runs, seed=1):
    """Return the result of the C core."""
    clang = compiler()
    if clang is None:
        return {"left_out": "no clang with libFuzzer (Debian: libclang-rt-22-dev)"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                build(clang),
                f"-runs={runs}",
                f"-seed={seed}",
                "-max_len=200",
                "-verbosity=0",
                "-print_final_stats=1",
                f"-artifact_prefix={folder}/",
                folder,
            ],
            capture_output=True,
            text=True,
        )
    counts = re.findall(r"^function (\w+) (\d+)", done.stderr, re.MULTILINE)
    return {**_result("core", done), "by_function": {name: int(n) for name, n in counts}}


def fuzz_python(name, runs, seed=1):
    """Return the result of one parser of the Python path."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bench.fuzz_python", name, str(runs), str(seed), folder],
            capture_output=True,
            text=True,
            cwd=repository(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["device", "host", "."])},
        )
    return _result(name, done)


def _result(name, done):
    text = done.stdout + done.stderr
    count = re.search(r"(?:number_of_executed_units:|^inputs) (\d+)", text, re.MULTILINE)
    bad = "AcceptedBad" in text or "accepted_bad" in text
    if done.returncode:
        print(f"{name}: {text[-2500:]}")
    return {
        "inputs": int(count[1]) if count else 0,
        "crashes": int(done.returncode != 0 and not bad),
        "accepted_bad": int(bad),
        "guided": "number_of_executed_units" in text,
    }


def main(share=1.0):
    cores = max(1, min(os.cpu_count() or 1, 8))
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        core = pool.submit(fuzz_core, int(C_RUNS * share))
        python = {
            name: pool.submit(fuzz_python, name, int(PYTHON_RUNS * share)) for name in TARGETS
        }
        result = {"c": {"core": core.result()}}
        result["python"] = {name: job.result() for name, job in python.items()}
    parts = [*result["c"].values(), *result["python"].values()]
    totals = {key: sum(part.get(key, 0) for part in parts) for key in ("crashes", "accepted_bad")}
    by_parser = {name: part["inputs"] for name, part in result["python"].items()}
    by_parser |= {
        f"c_{name}": count for name, count in result["c"]["core"].get("by_function", {}).items()
    }
    result = {**totals, "by_parser": by_parser, **result}
    print(write("fuzz", result))
    return 1 if table("fuzz", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
