# SPDX-License-Identifier: MIT
"""Capsules in bytes, heap and instructions: `make bench NAME=capsule`.

The pairs of releases and their data sets are those of `delta_kinds`, the tools they are measured
against those of `delta_others`.
"""

import sys

from acclimate.store import Store, Wanted
from acclimate_host.capsules.build import build, head_bytes
from acclimate_host.capsules.delta import update
from acclimate_host.capsules.layout import UPDATE
from acclimate_host.errors import BoardError
from acclimate_host.paths import built
from acclimate_host.testing.nor import NorFlash
from bench import capsule_apps, capsule_board, capsule_pull, delta_kinds
from bench.common import cortex_boards, table, write

ROWS = [
    ("overhead_bytes", "<=", 224),
    ("flash.written_ratio", "<=", 1.05),
    *((f"delta.{kind}.ratio", "<=", 1.0) for kind in delta_kinds.WEIGHTS),
    *((f"delta.{kind}.ratio", "<=", 1.05) for kind in delta_kinds.CODE),
    ("delta.svm_doubled.ratio", None, None),
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


def tuned_weights(epochs=(1, 3, 10), layers=delta_kinds.LAYERS):
    """Return (int8 weights before, {epochs: int8 weights after}) of one network as bytes."""
    before, after = delta_kinds.networks(epochs, layers)
    rows = {e: delta_kinds.joined(delta_kinds.int8(w, before)) for e, w in after.items()}
    return delta_kinds.joined(delta_kinds.int8(before, before)), rows


def capsule(weights, version):
    return build(
        {"PROGRAM": bytes(64), "WEIGHTS": weights}, "SVM", 7, version, key=capsule_board.KEY
    )


def deltas():
    """Return {kind: {"ratio", "rows"}}: updates against the best of the other tools."""
    from bench.delta_others import others

    result = {}
    for kind, pairs in delta_kinds.kinds().items():
        rows = {}
        for name, (old, new) in pairs.items():
            base, target = capsule(old, 1), capsule(new, 2)
            total = len(update(base, target))
            payload = total - UPDATE.bytes - head_bytes(target)
            found = others(base[head_bytes(base) :], target[head_bytes(target) :])
            best = min(found, key=found.get)
            rows[name] = {
                "ours": payload,
                "total": total,
                "whole": len(target),
                "best": best,
                "best_bytes": found[best],
                "ratio": round(payload / found[best], 4),
                "others": found,
            }
            print(
                f"{kind:11} {name:34} {payload:6} of {total:6}, {best} {found[best]}", flush=True
            )
        result[kind] = {"ratio": max(row["ratio"] for row in rows.values()), "rows": rows}
    return result


def flash_use():
    """Return (overhead of one capsule, bytes programmed / capsule) of a whole update."""
    data = build(
        {"PROGRAM": bytes(500), "WEIGHTS": bytes(20_000), "OPERATORS": bytes(2000)}, "SVM", 7, 1
    )
    flash = NorFlash(64 * 1024, 4096)
    store = Store(flash, Wanted(unsigned=True))
    before = flash.programmed_bytes
    store.stage(data, 144)
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
    return 1 if table("capsules", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
