# SPDX-License-Identifier: MIT
"""Capsules in bytes, heap and instructions: `make bench NAME=capsule`.

Differences are those of real fine-tuning: an int8 network for handwritten digits
(scikit-learn's own data) that learned from 900 images and goes on with 600 others.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from acclimate.store import Store
from acclimate_host.capsules.build import build, head_bytes
from acclimate_host.capsules.delta import update
from acclimate_host.errors import BoardError
from acclimate_host.paths import built
from acclimate_host.testing.nor import NorFlash
from bench import capsule_apps, capsule_board, capsule_pull
from bench.common import cortex_boards, table, write

ROWS = [
    ("overhead_bytes", "<=", 224),
    ("flash.written_ratio", "<=", 1.05),
    ("delta.ratio_detools", "<=", 0.999),
    ("delta.ratio_bsdiff4", "<=", 0.999),
    ("delta.ratio_whole", "<=", 0.999),
    ("sha256.m4f", "<=", 45),
    ("sha256.m0", "<=", 100),
    ("update.m4f_peak_ram_bytes", "<=", 5120),
    ("update.m0_peak_ram_bytes", "<=", 1536),
    ("pull.m4f_peak_ram_bytes", "<=", 5120),
    ("pull.m0_peak_ram_bytes", "<=", 2560),
    ("m4f.pull.import_bytes", None, None),
    ("m0.pull.import_bytes", None, None),
    ("m4f.instructions_verify", None, None),
    ("m0.instructions_verify", None, None),
    ("m4f.instructions_whole", None, None),
    ("m4f.instructions_update", None, None),
    ("m0.instructions_whole", None, None),
    ("m0.instructions_update", None, None),
    ("apps.powerblade.bytes.full", None, None),
    ("apps.powerblade.bytes.weights_only", None, None),
    ("apps.powerblade.bytes.operators_only", None, None),
    ("apps.powerblade.bytes.patch_of_256_bytes", None, None),
    ("apps.farmbeats.lte_m_s.full", None, None),
    ("m4f.apps.powerblade.verify_instructions", None, None),
    ("m4f.apps.powerblade.activate_instructions", None, None),
    ("size.armv6m", None, None),
    ("size.armv7emsp", None, None),
]


def tuned_weights(epochs=(1, 3, 10), layers=(128, 64)):
    """Return (int8 weights before, {epochs: int8 weights after}) of one network as bytes."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    first, later = order[:900], order[900:1500]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = MLPClassifier(layers, max_iter=40, random_state=1).fit(x[first] / 16, y[first])
    scales = [np.abs(w).max(0) / 115 for w in net.coefs_]  # room for the weights to grow

    def quantized():
        parts = [np.rint(w / s).clip(-127, 127) for w, s in zip(net.coefs_, scales, strict=True)]
        return b"".join(part.T.astype(np.int8).tobytes() for part in parts)

    before, after = quantized(), {}
    net.set_params(learning_rate_init=2e-4)
    for epoch in range(1, max(epochs) + 1):
        net.partial_fit(x[later] / 16, y[later])
        if epoch in epochs:
            after[epoch] = quantized()
    return before, after


def capsule(weights, version):
    return build(
        {"PROGRAM": bytes(64), "WEIGHTS": weights}, "SVM", 7, version, key=capsule_board.KEY
    )


def others(base, target):
    """Return {name: bytes} of the same difference by detools (each compression) and bsdiff4."""
    try:
        import bsdiff4
        import detools
    except ImportError as error:
        sys.exit(f"{error.name} is needed for comparison; run: pip install -e '.[bench]'")

    sizes = {"bsdiff4": len(bsdiff4.diff(base, target))}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("base", "target", "patch")]
        paths[0].write_bytes(base)
        paths[1].write_bytes(target)
        for compression in ("lzma", "bz2", "crle", "heatshrink", "zstd"):
            detools.create_patch_filenames(
                *map(str, paths), compression=compression, patch_type="sequential"
            )
            sizes["detools " + compression] = paths[2].stat().st_size
        for compression in ("lzma", "bz2", "zstd"):
            detools.create_patch_filenames(
                *map(str, paths),
                compression=compression,
                patch_type="hdiffpatch",
                algorithm="hdiffpatch",
            )
            sizes["detools hdiffpatch " + compression] = paths[2].stat().st_size
    return sizes


def deltas():
    before, after = tuned_weights()
    base = capsule(before, 1)
    rows = {}
    for epochs, weights in after.items():
        target = capsule(weights, 2)
        size = len(update(base, target))
        found = others(base, target)
        best = min(value for key, value in found.items() if key.startswith("detools"))
        rows[f"{epochs} epochs"] = {
            "ours": size,
            "whole": len(target),
            **found,
            "ratio_detools": size / best,
            "ratio_bsdiff4": size / found["bsdiff4"],
            "ratio_whole": size / len(target),
        }
    worst = {
        key: round(max(row[key] for row in rows.values()), 4)
        for key in ("ratio_detools", "ratio_bsdiff4", "ratio_whole")
    }
    return {**worst, "rows": rows}


def flash_use():
    """Return (overhead of one capsule, bytes programmed / capsule) of a whole update."""
    data = build(
        {"PROGRAM": bytes(500), "WEIGHTS": bytes(20_000), "OPERATORS": bytes(2000)}, "SVM", 7, 1
    )
    flash = NorFlash(64 * 1024, 4096)
    store = Store(flash)
    before = flash.programmed_bytes
    store.stage(data, 128)
    store.write(data, len(data))
    store.finish()
    store.trial()
    store.confirm()
    programmed = flash.programmed_bytes - before
    journal = programmed - -(-len(data) // 4) * 4
    return head_bytes(data) + journal, programmed / len(data)


def boards():
    # Fitting the 64 KiB of raw flash of the smaller board: two capsules and one update.
    before, after = tuned_weights((3,), (80, 48))
    base, target = capsule(before[:9000], 1), capsule(after[3][:9000], 2)
    result = {}
    for name, key in cortex_boards():
        result[key] = capsule_board.measure(name, base, target, update(base, target))
        try:
            result[key]["pull"] = capsule_pull.measure(name, base, target)
        except BoardError as error:  # the 32 KB board has some hundred bytes to spare, or none
            print(f"left out: a pull on {name}: {error}")
            result[key]["pull"] = {}
        result[key]["apps"] = capsule_apps.on_board(name)
    return result


def main():
    overhead, ratio = flash_use()
    result = {"overhead_bytes": overhead, "flash": {"written_ratio": round(ratio, 5)}}
    result["apps"] = capsule_apps.bytes_and_times()
    result["delta"] = deltas()
    result |= boards()
    for key in ("m4f", "m0"):
        if key in result:
            result.setdefault("sha256", {})[key] = result[key]["sha256"]
            peak = result[key]["peak_ram_bytes"]
            result.setdefault("update", {})[key + "_peak_ram_bytes"] = peak
            peak = result[key]["pull"].get("peak_ram_bytes")
            result.setdefault("pull", {})[key + "_peak_ram_bytes"] = peak
    sizes = {arch: built("native", arch, "_codec.mpy") for arch in ("armv6m", "armv7emsp")}
    result["size"] = {a: path.stat().st_size for a, path in sizes.items() if path.exists()}
    write("capsule", result)
    for epochs, row in result["delta"]["rows"].items():
        print(epochs, {k: round(v, 3) for k, v in row.items()})
    return 1 if table("capsules", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
