# SPDX-License-Identifier: MIT
"""Fuzz one parser of the Python path: `python -m bench.fuzz_python TARGET RUNS [SEED]`.

With `atheris` the search is guided by coverage; without it inputs are mutated blindly. Prints
"inputs N" at the end; a crash or an accepted bad input ends it with a trace and its input.
"""

import random
import sys

_WORDS = (
    b"\0",
    b"\xff",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff",
    b"\0\0\0\0",
    b"\xff" * 4,
    b"\r\n",
    b"chunked",
    b"Content-Length: ",
    b"\xff\xff\xff\x3f",
    b"ACAP",
    b"AUPD",
    b"AMAN",
    b"AJNL",
)


def mutate(data, draw, limit=1600):
    """Return data with a few bytes flipped, set, cut out, doubled or put in."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        at = draw.randrange(len(data) + 1)
        n = draw.choice((1, 1, 2, 4, 12, 32))
        kind = draw.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at : at + n] = draw.randbytes(len(data[at : at + n]))
        elif kind == 2:
            del data[at : at + n]
        elif kind == 3:
            data[at:at] = data[at : at + n]
        elif kind == 4:
            word = draw.choice(_WORDS)
            data[at : at + draw.choice((0, len(word)))] = word
        elif at < len(data):
            data[at] = (data[at] + draw.choice((-1, 1))) & 255
    return bytes(data[:limit])


def blindly(target, seeds, runs, seed):
    """Run so many mutations of the seeds, and of what came from them."""
    draw = random.Random(seed)
    pool = list(seeds)
    limit = longest(seeds)
    for data in pool:
        target(data)
    for _ in range(runs):
        data = mutate(draw.choice(pool), draw, limit)
        if draw.random() < 0.02:
            pool.append(data)
            if len(pool) > 200:
                pool.pop(draw.randrange(len(seeds), len(pool)))
        try:
            target(data)
        except Exception:
            print("input", data.hex(), flush=True)
            raise
    print("inputs", runs + len(seeds))


def longest(seeds):
    """Return the most bytes of an input: room for the seeds, and for some more."""
    return max(1600, *(len(data) + 64 for data in seeds))


def guided(name, runs, seed, folder):
    """The same with libFuzzer, which keeps what reaches new code."""
    import atheris

    with atheris.instrument_imports(
        include=["acclimate", "acclimate_host.capsules", "acclimate_host.poet.problem"]
    ):
        from bench import fuzz_all as fuzz_targets
    seeds = fuzz_targets.seeds(name)
    for number, data in enumerate(seeds):
        (folder / f"{number}").write_bytes(data)
    target = fuzz_targets.TARGETS[name]

    def one(data):
        try:
            target(data)
        except Exception:
            print("input", data.hex(), flush=True)
            raise

    def change(data, limit, number):
        if number & 1:
            return mutate(data, random.Random(number), limit)
        return atheris.Mutate(data, limit)

    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={longest(seeds)}",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder)], one, custom_mutator=change)
    atheris.Fuzz()


def main(name, runs, seed="1", folder=None):
    try:
        import atheris  # noqa: F401
    except ImportError:
        folder = None
    if folder:
        from pathlib import Path

        return guided(name, int(runs), int(seed), Path(folder))
    from bench import fuzz_all as fuzz_targets

    return blindly(fuzz_targets.TARGETS[name], fuzz_targets.seeds(name), int(runs), int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
