# SPDX-License-Identifier: MIT
"""The C kernels of networks for tests: built in every form, and convolutions at random."""

import ctypes
import shutil
import subprocess
from ctypes import POINTER, Structure, c_int8, c_int16, c_int32, c_uint8, c_uint16, c_uint32
from dataclasses import dataclass

import numpy as np
import pytest

from acclimate_host.compile.rows import pack_rows
from acclimate_host.paths import repository

SOURCES = (
    "conv.c",
    "elements.c",
    "pool_window.c",
    "conv_fast.c",
    "conv_quads.c",
    "depthwise_fast.c",
    "store.c",
    "dot.c",
    "dot_dsp.c",
    "block.c",
    "gradient.c",
    "gradient_fast.c",
    "depthwise_gradient.c",
    "depthwise_gradient_plain.c",
    "scatter.c",
    "sums.c",
    "random_step.c",
    "update.c",
    "weights.c",
    "weights_fast.c",
    "net_rows.c",
)
EXPORTS = """
#include "net_work.h"
uint32_t conv_work(const net_conv_args *k) {
    uint32_t quads = net_quads_work(k), work = net_conv_work(k);
    return quads > work ? quads : work;
}
uint32_t depthwise_work(const net_conv_args *k) { return net_depthwise_work(k); }
uint32_t gradient_work(const net_conv_args *k, int d) { return net_gradient_work(k, d); }
uint32_t weight_work(const net_conv_args *k, int d) { return net_weight_work(k, d); }
void net_depthwise_update_plain_all(const net_update_rule *r, const net_weight_args *a) {
    net_depthwise_update_plain(r, a, 0);
}
"""


class AddRule(Structure):
    _fields_ = (
        [(f"multiplier_{n}", c_int32) for n in "aby"]
        + [(f"{what}_{n}", c_int8) for what in ("shift", "zero") for n in "aby"]
        + [("low", c_int8), ("high", c_int8)]
    )


class ConvArgs(Structure):
    _fields_ = [
        ("x", POINTER(c_int8)),
        ("y", POINTER(c_int8)),
        ("mask", POINTER(c_uint8)),
        ("w", POINTER(c_int8)),
        ("wt", POINTER(c_int8)),
        ("bias", POINTER(c_int32)),
        ("multiplier", POINTER(c_int32)),
        ("shift", POINTER(c_int8)),
        ("add", POINTER(AddRule)),
        ("other", POINTER(c_int8)),
        ("work", POINTER(c_int16)),
        ("work_bytes", c_uint32),
        ("x_pitch", c_int32),
        ("y_pitch", c_int32),
        *((name, c_uint16) for name in ("x_step", "y_step", "h", "w_in", "oh", "ow")),
        ("pad_top", c_int16),
        ("pad_left", c_int16),
        *(
            (name, c_uint16)
            for name in ("kh", "kw", "stride_h", "stride_w", "cin", "cout", "groups", "split")
        ),
        *((name, c_int8) for name in ("zero_x", "zero_y", "low", "high")),
    ]


class GradientArgs(Structure):
    _fields_ = [
        ("layer", POINTER(ConvArgs)),
        ("g", POINTER(c_int8)),
        ("gx", POINTER(c_int8)),
        ("ratio", POINTER(c_uint16)),
        ("work", POINTER(c_int32)),
        ("work_bytes", c_uint32),
        ("fold", c_uint8),
        ("pools", c_uint8),
    ]


def build(folder, dsp, flags=()):
    """Build the kernels as a library, with the instructions of a Cortex-M4 in C when `dsp`."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = repository() / "native_modules" / "net"
    (folder / "exports.c").write_text(EXPORTS)
    library = folder / f"kernels{int(dsp)}.so"
    files = [folder / "exports.c", *(source / name for name in SOURCES)]
    command = ["gcc", "-O2", "-std=c99", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    command += [f"-DNET_DSP={int(dsp)}", "-DNET_FAST", f"-I{source}", *flags]
    subprocess.run([*map(str, command), *map(str, files), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@dataclass
class Case:
    """A convolution; arrays as the C contract of net_conv_args says."""

    numbers: dict
    arrays: dict
    rule: dict | None
    first: int
    end: int

    def __repr__(self):
        return f"Case({self.numbers}, first={self.first}, end={self.end}, add={self.rule})"

    @property
    def is_depthwise(self):
        n = self.numbers
        return n["groups"] == n["cin"] == n["cout"] > 1


def multipliers(rng, count, extremes):
    """Return (multiplier, shift) of `count` channels."""
    multiplier = rng.integers(1 << 30, 1 << 31, count).astype(np.int32)
    shift = rng.integers(-12, 1, count).astype(np.int8)
    if extremes:
        multiplier[rng.random(count) < 0.2] = (1 << 31) - 1
        shift = rng.integers(-31, 4 if rng.random() < 0.5 else 0, count).astype(np.int8)
        dead = rng.random(count) < 0.1
        multiplier[dead], shift[dead] = 0, 0
    return multiplier, shift


def _numbers(rng, depthwise):
    kh, kw = (int(k) for k in rng.choice([1, 1, 2, 3, 3, 5], 2))
    sh, sw = (int(s) for s in rng.integers(1, 4, 2))
    h, w = (int(n) for n in rng.integers(1, 9, 2))
    pad_top, pad_left = int(rng.integers(0, kh)), int(rng.integers(0, kw))
    groups = 1 if depthwise or rng.random() < 0.7 else int(rng.integers(2, 4))
    cin, cout = (groups * int(n) for n in rng.integers(1, 18, 2))
    if depthwise:
        cin = cout = groups = int(rng.integers(2, 12))
    elif groups == cin == cout > 1:  # that would be a depthwise layer
        cout += groups
    depth = cout if depthwise else cin // groups
    split = int(rng.integers(0, depth + 1)) if rng.random() < 0.5 else 0
    oh = max(1, (h + pad_top + int(rng.integers(0, kh)) - kh) // sh + 1)
    ow = max(1, (w + pad_left + int(rng.integers(0, kw)) - kw) // sw + 1)
    return {
        "h": h,
        "w_in": w,
        "cin": cin,
        "oh": oh,
        "ow": ow,
        "cout": cout,
        "groups": groups,
        "split": split,
        "kh": kh,
        "kw": kw,
        "stride_h": sh,
        "stride_w": sw,
        "pad_top": pad_top,
        "pad_left": pad_left,
        "zero_x": int(rng.choice([-128, 127, int(rng.integers(-128, 128))])),
        "zero_y": int(rng.choice([-128, int(rng.integers(-128, 128))])),
    }


def _int8(rng, shape, extremes):
    if extremes:
        return rng.choice(np.array([-128, -128, 127], np.int8), shape)
    return rng.integers(-128, 128, shape).astype(np.int8)


def weights(rng, n, extremes):
    """Return (w, wt) in the boards' order for the numbers of a case."""
    taps, split = n["kh"] * n["kw"], n["split"]
    if n["groups"] == n["cin"] == n["cout"] > 1:
        whole = _int8(rng, (n["cout"], taps), extremes)
        return whole[split:].ravel(), whole[:split].ravel()
    per_group, depth = n["cout"] // n["groups"], n["cin"] // n["groups"]
    parts = []
    for count in (depth - split, split):
        matrices = _int8(rng, (n["groups"], per_group, taps * count), extremes)
        data = b"".join(pack_rows(m) for m in matrices) if count else b""
        parts.append(np.frombuffer(data, np.int8))
    return parts


def random_case(rng, depthwise):
    """Return a convolution at random: any shape, a third of them with extreme values."""
    n, extremes = _numbers(rng, depthwise), rng.random() < 0.33
    x_step, y_step = (n[c] + int(rng.integers(0, 3)) for c in ("cin", "cout"))
    n |= {
        "x_step": x_step,
        "y_step": y_step,
        "x_pitch": n["w_in"] * x_step + 3,
        "y_pitch": n["ow"] * y_step + 2,
        "low": -128,
        "high": 127,
    }
    if rng.random() < 0.4:
        n["low"], n["high"] = sorted(int(v) for v in rng.integers(-128, 128, 2))
    w, wt = weights(rng, n, extremes)
    multiplier, shift = multipliers(rng, n["cout"], extremes)
    most = 1 << 30 if extremes else 1 << 14
    outputs = n["oh"] * n["y_pitch"]
    arrays = {
        "x": _int8(rng, n["h"] * n["x_pitch"], extremes),
        "w": w,
        "wt": wt,
        "bias": rng.integers(-most, most, n["cout"]).astype(np.int32),
        "multiplier": multiplier,
        "shift": shift,
        "other": _int8(rng, outputs, extremes),
    }
    if rng.random() < 0.4:
        arrays["mask"] = np.zeros(-(-n["oh"] * n["ow"] * n["cout"] // 8), np.uint8)
    rule = None
    if rng.random() < 0.3:
        scales = multipliers(rng, 3, False)
        rule = {
            "multiplier": scales[0].tolist(),
            "shift": (scales[1] - 4).tolist(),
            "zero": rng.integers(-128, 128, 3).tolist(),
        }
    first, end = 0, n["cout"]
    if rng.random() < 0.3:
        first, end = sorted(int(v) for v in rng.integers(0, n["cout"] + 1, 2))
    return Case(n, arrays, rule, first, end)


def args_of(case, work_bytes, in_place=False):
    """Return (ConvArgs, arrays it points to); y and mask are new ones."""
    n, a = case.numbers, {name: np.array(v) for name, v in case.arrays.items()}
    a["y"] = a["x"] if in_place else np.full(n["oh"] * n["y_pitch"] + n["y_step"], 77, np.int8)
    a["work"] = np.full(-(-work_bytes // 2) + 2, 0x5A5A, np.int16)
    args = ConvArgs(**n, work_bytes=work_bytes)
    for name, array in a.items():
        if array.size and (name != "other" or case.rule):
            field = dict(ConvArgs._fields_)[name]
            setattr(args, name, array.ctypes.data_as(field))
    if case.rule:
        rule = AddRule(low=-100, high=100)
        for what in ("multiplier", "shift", "zero"):
            for letter, value in zip("aby", case.rule[what], strict=True):
                setattr(rule, f"{what}_{letter}", value)
        a["rule"] = rule
        args.add = ctypes.pointer(rule)
    return args, a


def work_of(library, case):
    """Return the bytes of work that the fast kernel asks for."""
    query = library.depthwise_work if case.is_depthwise else library.conv_work
    return query(ctypes.byref(args_of(case, 0)[0]))


def run(library, case, which, in_place=False):
    """Run "plain" or "fast"; return (y, mask or None, work behind what was asked for)."""
    size = work_of(library, case)
    args, a = args_of(case, size, in_place)
    name = "net_depthwise" if case.is_depthwise else "net_conv"
    if case.is_depthwise:
        args.x = ctypes.cast(a["x"].ctypes.data + case.first, POINTER(c_int8))
    getattr(library, f"{name}_{which}")(ctypes.byref(args), case.first, case.end)
    return a["y"], a.get("mask"), a["work"][-(-size // 2) :]


def input_gradient(library, case, seed, which, in_place=False):
    """Return (gradient of the input, its shift, work behind what was asked for)."""
    rng, n = np.random.default_rng(seed), case.numbers
    args, keep = args_of(case, 0)
    size = library.gradient_work(ctypes.byref(args), case.is_depthwise)
    work = np.full(-(-size // 4) + 2, 0x5A5A5A5A, np.int32)
    g = _int8(rng, n["oh"] * n["ow"] * n["cout"], rng.random() < 0.3)
    ratio = rng.integers(0, 32769, n["cout"]).astype(np.uint16)
    gx = g if in_place else np.zeros(n["h"] * n["w_in"] * n["cin"], np.int8)
    found = GradientArgs(ctypes.pointer(args), work_bytes=size, fold=int(rng.integers(9, 15)))
    kinds = dict(GradientArgs._fields_)
    for name, array in {"g": g, "gx": gx, "ratio": ratio, "work": work}.items():
        setattr(found, name, array.ctypes.data_as(kinds[name]))
    kind = "depthwise" if case.is_depthwise else "input"
    which = "" if case.is_depthwise and which == "fast" else "_" + which
    shift = getattr(library, f"net_{kind}_gradient{which}")(ctypes.byref(found))
    return gx[: n["h"] * n["w_in"] * n["cin"]], shift, work[-(-size // 4) :], keep


class State(Structure):
    _fields_ = [("seed", c_uint32)] + [
        (name, c_int32)
        for name in ("rate", "exponent", "momentum", "move", "share", "rails", "moved", "dead")
    ]


class UpdateRule(Structure):
    _fields_ = [
        ("state", POINTER(State)),
        ("ratio", POINTER(c_uint16)),
        ("v", POINTER(c_int8)),
        ("p", c_int32),
        ("e", c_int32),
        ("momentum", c_int32),
        ("optimizer", c_uint8),
        ("move", c_uint8),
    ]


class WeightArgs(Structure):
    _fields_ = [
        ("layer", POINTER(ConvArgs)),
        ("g", POINTER(c_int8)),
        ("x", POINTER(c_int8)),
        ("work", POINTER(c_int32)),
        ("work_bytes", c_uint32),
    ]


def weight_update(library, case, seed, which, optimizer=0, spare=0):
    """Return (weights, optimizer's state, counters and seed, work behind what was asked for).

    :param spare: bytes of work taken away from what the fast kernels ask for
    """
    rng, n = np.random.default_rng(seed), case.numbers
    args, keep = args_of(case, 0)
    size = library.weight_work(ctypes.byref(args), case.is_depthwise) - spare
    work = np.full(-(-size // 4) + 2, 0x5A5A5A5A, np.int32)
    channels = n["split"] * (1 if case.is_depthwise else n["groups"])
    x = _int8(rng, n["h"] * n["w_in"] * channels, rng.random() < 0.3)
    g = _int8(rng, n["oh"] * n["ow"] * n["cout"], rng.random() < 0.3)
    ratio = rng.integers(0, 32769, n["cout"]).astype(np.uint16)
    ratio[rng.random(n["cout"]) < 0.1] = 3
    v = _int8(rng, 2 * max(1, keep["wt"].size) + 8, False)
    state = State(seed=int(rng.integers(1, 1 << 32)))
    rule = UpdateRule(
        state=ctypes.pointer(state),
        p=int(rng.integers(1 << 14, 1 << 16)),
        e=-int(rng.integers(20, 68)),
        momentum=int(rng.integers(0, 257)),
        optimizer=optimizer,
        move=int(rng.integers(0, 2)),
    )
    rule.ratio = ratio.ctypes.data_as(POINTER(c_uint16))
    rule.v = v.ctypes.data_as(POINTER(c_int8))
    found = WeightArgs(ctypes.pointer(args), work_bytes=size)
    kinds = dict(WeightArgs._fields_)
    for name, array in {"g": g, "x": x, "work": work}.items():
        setattr(found, name, array.ctypes.data_as(kinds[name]))
    kind = "depthwise" if case.is_depthwise else "weight"
    name = f"net_{kind}_update_{which}"
    name += "_all" if case.is_depthwise and which == "plain" else ""
    getattr(library, name)(ctypes.byref(rule), ctypes.byref(found))
    counted = (state.seed, state.rails, state.moved, state.dead)
    return keep["wt"], v, counted, work[-(-size // 4) :]


def quarter_steps(library, case, sign):
    """Return the weights of a dense layer, from 0, after an update by a quarter of this sign."""
    args, keep = args_of(case, 0)
    n = case.numbers
    size = library.weight_work(ctypes.byref(args), 0)
    work = np.zeros(size // 4, np.int32)
    x = np.full(n["cin"], int(n["zero_x"]) + (1 if n["zero_x"] < 127 else -1), np.int8)
    sign = sign if n["zero_x"] < 127 else -sign
    g = np.full(2, 64 * sign, np.int8)
    ratio = np.full(2, 1 << 15, np.uint16)
    state = State(seed=1234567)
    # C = (2^30 div 2^15) * 2^14 = 2^29; 64 * 2^29 * 2^-37 is a quarter.
    rule = UpdateRule(state=ctypes.pointer(state), p=1 << 14, e=-37)
    rule.ratio = ratio.ctypes.data_as(POINTER(c_uint16))
    found = WeightArgs(ctypes.pointer(args), work_bytes=size)
    kinds = dict(WeightArgs._fields_)
    for name, array in {"g": g, "x": x, "work": work}.items():
        setattr(found, name, array.ctypes.data_as(kinds[name]))
    library.net_weight_update_fast(ctypes.byref(rule), ctypes.byref(found))
    return keep["wt"]
