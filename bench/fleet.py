# SPDX-License-Identifier: MIT
"""A fleet of a million simulated devices, second by second: `make bench NAME=fleet`.

What is real: whether a device takes part (`in_rollout`), when a rollout halts
(`rollout.Limits`), a device's pauses (`Client`'s rule), the bytes of manifest, capsule and update,
and the time that `acclimate serve` takes for a request, measured here at the start. What is
assumed: one server with WORKERS processes of that speed, devices that ask once a day, a verdict
TRIAL_S after the download, and a share of devices that the release harms.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

import numpy as np

from acclimate_host.capsules.build import build
from acclimate_host.capsules.layout import REPORT
from acclimate_host.capsules.repository import Repository
from acclimate_host.capsules.rollout import STAGES, Limits
from bench.common import table, write
from bench.delta_kinds import int8, joined, networks
from bench.release_bytes import release_bytes

DEVICES = 1_000_000
DAY_S = 86_400
SPREAD_S = 3_600  # Client(spread_s=...)
TRIAL_S = 600
STEP_S = 60  # how often `rollout watch` looks
STAGE_S = DAY_S
HARMED_SHARE = 0.3
WORKERS = 8
RETRY_AFTER_S = 60
_REQUEST_BYTES = 160  # what a device sends for one file
_REPLY_BYTES = 220  # headers of a reply

ROWS = [
    ("devices", ">=", DEVICES),
    ("harmed_before_halt", "<=", 0.002),
    ("harmed_before_halt_same_second", None, None),
    ("took_before_halt", None, None),
    ("halt_s", None, None),
    ("daily.peak_per_s", None, None),
    ("daily.hours_to_99", None, None),
    ("same_second.peak_per_s", None, None),
    ("same_second.hours_to_99", None, None),
    ("same_second.refused", None, None),
    ("spread.peak_per_s", None, None),
    ("spread.hours_to_99", None, None),
    ("spread.refused", None, None),
    ("bytes.update_gb", None, None),
    ("bytes.whole_gb", None, None),
    ("server.requests_per_s", None, None),
    ("bytes_per_release.1", None, None),
    ("bytes_per_release.1000", None, None),
    ("bytes_per_release.1000000", None, None),
    ("tag_bytes_per_device", "<=", 32),
]


def sizes_and_speed(folder):
    """Return (bytes of manifest, update and capsule, seconds for a request of this server)."""
    before, after = networks((3,))
    repository = Repository(folder)
    for version, weights in ((1, before), (2, after[3])):
        section = joined(int8(weights, before))
        made = repository.publish(build({"WEIGHTS": section}, "NETWORK", 7, version))
    sizes = sorted(entry.size for entry in made.entries)
    manifest = repository.manifest_path(7).stat().st_size
    command = [sys.executable, "-m", "acclimate_host.cli", "serve", "--port", "0", "--no-reports"]
    with subprocess.Popen([*command, folder], stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            request_s = _request_s(f"{url}/models/7/all.man")
        finally:
            server.terminate()
    return manifest, sizes[0], sizes[-1], request_s


def _request_s(url):
    """Return the median time of a request, its connection and our own client included."""
    times = []
    for _ in range(300):
        start = time.perf_counter()
        urllib.request.urlopen(url).read()
        times.append(time.perf_counter() - start)
    return sorted(times)[150]


def asks(devices, rng, how):
    """Return the second at which each device asks first."""
    if how == "daily":
        return rng.integers(0, DAY_S, devices)
    if how == "same_second":  # power comes back, and no device spreads its pulls
        return np.zeros(devices, np.int64)
    share = (np.arange(devices, dtype=np.int64) * 40503 >> 3) & 1023
    return share * SPREAD_S >> 10


def pause_s(device, count):
    """Return how long a device waits after its count-th refusal: `Client._pause_s`."""
    pause = 1 << np.minimum(6, count - 1)
    jitter = (device * 40503 + count * 9973 >> 3) & 255
    return np.maximum(pause, RETRY_AFTER_S) + pause * jitter // 256


def release(devices, capacity, rng, how):
    """Let everybody fetch one release: load by second, and when 99 % have it."""
    due = {}
    for second, who in _grouped(asks(devices, rng, how)):
        due[second] = [who]
    refusals = np.zeros(devices, np.int64)
    peak = done = refused = second = 0
    at_99 = None
    while done < devices:
        parts = due.pop(second, None)
        if parts:
            who = np.concatenate(parts)
            peak = max(peak, len(who))
            served, rest = who[:capacity], who[capacity:]
            done += len(served)
            refused += len(rest)
            if at_99 is None and done >= 0.99 * devices:
                at_99 = second
            if len(rest):
                refusals[rest] += 1
                for wait, again in _grouped(pause_s(rest, refusals[rest]), rest):
                    due.setdefault(second + max(1, wait), []).append(again)
        second += 1
    return {"peak_per_s": peak, "hours_to_99": round(at_99 / 3600, 3), "refused": refused}


def _grouped(keys, values=None):
    """Yield (key, values that have it)."""
    order = np.argsort(keys, kind="stable")
    values = order if values is None else values[order]
    found, starts = np.unique(keys[order], return_index=True)
    for key, part in zip(found, np.split(values, starts[1:]), strict=True):
        yield int(key), part


def bad_release(devices, rng, how):
    """Roll out what harms a share of those that take it; return what happened until the halt."""
    version = 2
    share = np.array(
        [
            zlib.crc32(d.to_bytes(4, "little") + version.to_bytes(4, "little"))
            for d in range(devices)
        ]
    )
    share = (share & 0xFFFF) % 100
    first = asks(devices, rng, how)
    harmed = rng.random(devices) < HARMED_SHARE
    limits, has = Limits(), np.full(devices, -1, np.int64)  # when it took the release
    for now in range(0, 3 * DAY_S, STEP_S):
        stage = STAGES[min(now // STAGE_S, len(STAGES) - 1)]
        # Those that ask in this minute, each once a day.
        asking = (first - now) % DAY_S < STEP_S
        has[asking & (share < stage) & (has < 0)] = now
        reported = (has >= 0) & (has + TRIAL_S <= now)
        if limits.exceeded(int((reported & harmed).sum()), int(reported.sum())):
            took = has >= 0
            return int((took & harmed).sum()), int(took.sum()), now
    raise RuntimeError("the rollout did not halt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=DEVICES)
    devices = parser.parse_args().devices
    with tempfile.TemporaryDirectory() as folder:
        manifest, update, whole, request_s = sizes_and_speed(folder)
    capacity = max(1, int(WORKERS / request_s / 3))  # manifest, file and report for each device
    result = {"devices": devices, "server": {"requests_per_s": round(WORKERS / request_s)}}
    for how in ("daily", "same_second", "spread"):
        result[how] = release(devices, capacity, np.random.default_rng(1), how)
    harmed, took, halt_s = bad_release(devices, np.random.default_rng(2), "spread")
    result |= {
        "harmed_before_halt": harmed / devices,
        "took_before_halt": took / devices,
        "halt_s": halt_s,
    }
    harmed, _, _ = bad_release(devices, np.random.default_rng(2), "same_second")
    result["harmed_before_halt_same_second"] = harmed / devices
    overhead = 3 * (_REQUEST_BYTES + _REPLY_BYTES) + manifest + REPORT.bytes
    result["bytes"] = {
        "update_gb": round(devices * (overhead + update) / 1e9, 2),
        "whole_gb": round(devices * (overhead + whole) / 1e9, 2),
    }
    result |= release_bytes()
    write("fleet", result)
    return 1 if table("fleet", result, ROWS) else 0


if __name__ == "__main__":
    sys.exit(main())
