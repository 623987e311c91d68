# SPDX-License-Identifier: MIT
"""Put small faults into the core, one at a time, and ask the nearest tests to notice.

    make mutants                   the core (or: python tools/mutants.py)
    make mutants NAME=all          all files of tools/mutants.toml, for hours
    make mutants NAME=journal      one file of tools/mutants.toml, or any path: NAME=a/file.py,
                                   which TESTS="tests/..." then is tried with
    make mutants SEED=2            other faults

Works on copies of the tree, on CPython and the twins. A process that has imported what the tests
need from elsewhere is forked for each fault. Ends with 1 where a file misses its goal.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "host"))

from acclimate_host.figures import tomllib  # noqa: E402
from acclimate_host.paths import built, write_whole  # noqa: E402
from tools import mutate  # noqa: E402

EQUIVALENT_MOST = 0.05
CORES = 2
_PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
_RUNTIMES = ["--runtime", "cpython", "--runtime", "cpython-twin"]
_PREFIXES = ("acclimate", "tests", "tools", "bench", "harness", "conftest", "device_", "_pytest")


# ---- one file -------------------------------------------------------------------------------


class Trial:
    """The nearest tests of one file in a copy of the tree, which this process is inside of."""

    def __init__(self, copy, path, tests):
        self.copy, self.file, self.tests = copy, copy / path, tests
        self.text = self.file.read_text(encoding="utf-8")
        self.cpu_s, self.wall_s = 600, 600

    def prepare(self):
        """Run the tests as they are, import what they imported, and set the limits."""
        began = time.monotonic()
        names = self.copy / "imported"
        status, cpu_s = self._forked(names)
        if status:
            said = (self.copy / "said").read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"{self.file.name}: its tests fail before any change\n{said}")
        for name in names.read_text().split():
            try:
                __import__(name)
            except Exception:  # what only the tests could import, they import again
                continue
        self.cpu_s = int(4 * cpu_s) + 5
        self.wall_s = 60 + 20 * (time.monotonic() - began)
        if self.file.suffix == ".py" and not self.kills("raise SystemError('never')\n"):
            raise RuntimeError(f"{self.file.name}: its tests never load it")

    def kills(self, text):
        """Tell whether the tests fail, or take too long, with this text of the file."""
        self._write(text)
        try:
            return self._forked()[0] != 0
        finally:
            self._write(self.text)

    def _write(self, text):
        self.file.write_text(text, encoding="utf-8")
        for stale in self.file.parent.glob(f"__pycache__/{self.file.stem}.*"):
            stale.unlink()
        if self.file.suffix in (".c", ".h"):
            name = f"libacclimate_{self.file.parent.name}.so"
            target = self.copy / "out" / "twin" / name
            target.unlink(missing_ok=True)
            subprocess.run(
                ["make", "-s", f"out/twin/{name}"], cwd=self.copy, capture_output=True, check=False
            )

    def _forked(self, names=None):
        """Return (what waitpid said, seconds of processor) of the tests in a child."""
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            self._child(names)
        until = time.monotonic() + self.wall_s
        while True:
            done, status, used = os.wait4(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
            time.sleep(0.01)
        try:
            os.killpg(child, signal.SIGKILL)  # what it has started
        except ProcessLookupError:
            pass
        return status, used.ru_utime + used.ru_stime

    def _child(self, names):
        """Run the tests and leave with their answer."""
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_s, self.cpu_s + 5))
            said = os.open(self.copy / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            import pytest

            code = pytest.main([*_PYTEST, *_RUNTIMES, *self.tests])
            if names is not None:
                names.write_text("\n".join(n for n in sys.modules if not n.startswith(_PREFIXES)))
        finally:
            os._exit(code)


def try_file(copy, name, entry, options, until):
    """Return what is reported of one file."""
    began = time.monotonic()
    path = Path(entry["path"])
    found = mutate.of_file(copy / path)
    chosen = random.Random(f"{options.seed} {name}").sample(found, min(options.count, len(found)))
    trial = Trial(copy, path, entry["tests"])
    trial.prepare()
    same = {(e["text"], e["was"], e["now"]): e["reason"] for e in entry.get("equivalent", [])}
    survivors, equivalent, tried = [], [], 0
    for mutation in sorted(chosen, key=lambda mutation: mutation.line):
        if time.monotonic() > until:
            break
        tried += 1
        if trial.kills(mutation.source()):
            continue
        row = {key: getattr(mutation, key) for key in ("line", "text", "was", "now")}
        if mutation.key in same:
            equivalent.append({**row, "reason": same[mutation.key]})
        else:
            survivors.append(row)
    counted = tried - len(equivalent)
    return {
        "path": entry["path"],
        "goal": entry.get("goal", 0.0),
        "places": len(found),
        "chosen": len(chosen),
        "tried": tried,
        "killed": counted - len(survivors),
        "score": round((counted - len(survivors)) / counted, 4) if counted else 0.0,
        "survivors": survivors,
        "equivalent": equivalent,
        "seconds": round(time.monotonic() - began, 1),
    }


def faults(name, found):
    """Return what is wrong with the report of a file, each in a line."""
    if "error" in found:
        return [f"{name}: {found['error']}"]
    wrong = []
    if found["tried"] < found["chosen"]:
        wrong.append(f"{name}: {found['tried']} of {found['chosen']} faults tried in time")
    if found["score"] < found["goal"]:
        wrong.append(f"{name}: {found['score']:.2f} killed, the goal is {found['goal']:.2f}")
    if len(found["equivalent"]) > EQUIVALENT_MOST * found["tried"]:
        wrong.append(f"{name}: {len(found['equivalent'])} called equivalent, at most 5 %")
    return wrong


# ---- all files ------------------------------------------------------------------------------


def copy_of_tree(target):
    """Copy what git has or would take, and link what is built."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "out").mkdir()
    for path in built().iterdir():
        if path.name == "twin":
            shutil.copytree(path, target / "out" / "twin")
        elif path.name != "bench":
            (target / "out" / path.name).symlink_to(path)
    return target


def work(todo, answers, options, until):
    """Take one file after the other in a copy of the tree of its own."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copy_of_tree(Path(folder).resolve())
        os.chdir(copy)
        os.environ["PYTHONPATH"] = os.pathsep.join(str(copy / n) for n in ("device", "host"))
        while (job := todo.get()) is not None:
            # A process of its own, so that what one file needs does not weigh on the next.
            one = multiprocessing.Process(target=_one, args=(copy, job, options, until, answers))
            one.start()
            one.join()


def _one(copy, job, options, until, answers):
    mine = [str(ROOT / part) for part in ("", "device", "host", "tests")] + [str(ROOT / "tools")]
    sys.path[:] = [path for path in sys.path if path.rstrip("/") not in mine]
    for name in [n for n in sys.modules if n.partition(".")[0] in ("acclimate_host", "acclimate")]:
        del sys.modules[name]
    try:
        answers.put((job[0], try_file(copy, *job, options, until)))
    except Exception as error:
        answers.put((job[0], {"path": job[1]["path"], "error": str(error)}))


def chosen_files(options):
    """Return {name: entry} of what is to be tried."""
    files = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))["files"]
    if not options.name:
        return {name: entry for name, entry in files.items() if entry.get("core")}
    if options.name == "all":
        return files
    if options.name in files:
        return {options.name: files[options.name]}
    for name, entry in files.items():
        if entry["path"] == options.name:
            return {name: entry}
    if not options.tests or not (ROOT / options.name).is_file():
        raise SystemExit(f"NAME={options.name}: one of {', '.join(files)}, or a file with TESTS=")
    return {Path(options.name).stem: {"path": options.name, "tests": options.tests}}


def show(name, one):
    """Print what survived of a file."""
    for row in one.get("survivors", []):
        print(f"  {one['path']}:{row['line']}: {row['was']!r} -> {row['now']!r}   {row['text']}")
    if "score" in one:
        print(
            f"{name:16} {one['score']:.2f} of {one['tried']} killed, goal {one['goal']:.2f}, "
            f"{len(one['equivalent'])} equivalent, {one['seconds']:.0f} s",
            flush=True,
        )


def report(found, seed):
    """Write out/bench/mutants.json; print and return what is wrong."""
    target, old = built("bench", "mutants.json"), {}
    if target.exists():
        old = json.loads(target.read_text(encoding="utf-8"))
    files = {**(old.get("files", {}) if old.get("seed") == seed else {}), **found}
    data = json.dumps({"seed": seed, "files": files}, indent=1) + "\n"
    write_whole(target, data.encode())
    wrong = [line for name, one in found.items() for line in faults(name, one)]
    print("\n".join(wrong) or "all goals are reached")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--tests", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60, help="faults of each file")
    parser.add_argument("--minutes", type=float, help="25; of all files 180")
    options = parser.parse_args()
    minutes = options.minutes or (180 if options.name == "all" else 25)
    until = time.monotonic() + 60 * minutes
    jobs = chosen_files(options)
    todo, answers = multiprocessing.Queue(), multiprocessing.Queue()
    workers = min(CORES, len(jobs))
    for job in [*jobs.items(), *[None] * workers]:
        todo.put(job)
    running = [
        multiprocessing.Process(target=work, args=(todo, answers, options, until))
        for _ in range(workers)
    ]
    for process in running:
        process.start()
    found = {}
    for _ in jobs:
        name, one = answers.get()
        found[name] = one
        show(name, one)
    for process in running:
        process.join()
    return 1 if report({name: found[name] for name in jobs}, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
