# SPDX-License-Identifier: MIT
"""Recurrent layers of int8 .tflite files, whose state stays from call to call."""

import math

import numpy as np

from .lstm import check_lstm

# Numbers of fused activations.
_NONE, _RELU, _TANH = 0, 1, 4
_LSTM, _SVDF = "UNIDIRECTIONAL_SEQUENCE_LSTM", "SVDF"
_STATES = {_LSTM: slice(18, 20), _SVDF: slice(4, 5)}


def states_of(op):
    """Return the tensors that an operator keeps from call to call."""
    return op.inputs[_STATES[op.name]] if op.name in _STATES else ()


def _lstm(low, op):
    plain = all(op.inputs[i] < 0 for i in (9, 10, 11, 16, 17, *range(20, len(op.inputs))))
    stored = [low.tensor(i) for i in (*op.inputs[1:9], *op.inputs[12:16])]
    kinds = [t.dtype for t in stored if t.data is not None]
    options, ends = op.options, [low.tensor(i) for i in states_of(op)]
    if (
        not plain
        or kinds != ["INT8"] * 8 + ["INT32"] * 4
        or options["FusedActivationFunction"] != _TANH
        or options["TimeMajor"]
        or ends[1].dtype != "INT16"
    ):
        low.problems.add(op.name, "in int8, with tanh, no peepholes and no projection")
        return
    x, scale = low.shaped(op.inputs[0]), float(ends[1].scale[0])
    units, clip = stored[0].shape[0], options["CellClip"]
    attrs = {
        "scales": tuple(float(t.scale[0]) for t in stored[:4]),
        "again_scales": tuple(float(t.scale[0]) for t in stored[4:8]),
        "cell_power": check_lstm(scale),
        "clip": min(32767, int(clip / scale)) if clip > 0 else 32767,
    }
    name = low.new("lstm")
    y = low.build.lstm(name, x, units, **attrs)
    for end, part in (("wi", stored[:4]), ("wr", stored[4:8]), ("b", stored[8:])):
        whole = np.concatenate([t.data for t in part])
        low.values[f"{name}.{end}"] = whole if end == "b" else whole[:, :, None, None]
    low.place(op.outputs[0], y)
    first = np.full((units, 1, 1), low.scales[y][1])
    low.values[name + ".h"] = first.astype(np.int8)
    low.values[name + ".c"] = np.zeros((units, 1, 1), np.int16)
    low.notes.append(f"{name} keeps its state from call to call")


def _svdf(low, op):
    """All of its input is one step: TensorFlow has no sequence in this operator."""
    x, rank = low.made[op.inputs[0]], op.options.get("Rank", 0)
    why = _not_svdf(low, op, rank, low.build.tensors[x].elements)
    if why:
        low.problems.add(f"{op.name} {why[0]}", why[1])
        return
    weight, time, bias, state = (low.tensor(i) if i >= 0 else None for i in op.inputs[1:])
    filters, memory = time.shape
    units, kind, name = filters // rank, state.dtype.lower(), low.new("svdf")
    y = low.build.svdf(name, x, units, rank, memory, kind)
    biases = np.zeros(units) if bias is None else bias.data
    zero = int(state.zero_point[0])
    low.values[name + ".wf"] = weight.data[:, :, None, None]
    low.values[name + ".wt"] = time.data[:, :, None, None]
    low.values[name + ".b"] = low.bias(op, biases)
    # Both TensorFlow Lites begin with 0 in int16, whatever the zero point.
    first = zero if kind == "int8" else 0
    low.values[name + ".s"] = np.full((memory, filters, 1), first, kind)
    for end, tensor in (("wf", weight), ("wt", time), ("s", state)):
        low.scales[f"{name}.{end}"] = (float(tensor.scale[0]), zero if end == "s" else 0)
    low.place(op.outputs[0], y)
    low.notes.append(f"{name} keeps its state from call to call")


def _not_svdf(low, op, rank, elements):
    """Return (what is not supported, the nearest form that is) of an SVDF, or None."""
    if len(op.inputs) != 5 or not low.quantized:
        return "in a float model", "in int8, with five inputs"
    weight, time, bias, state = (low.tensor(i) if i >= 0 else None for i in op.inputs[1:])
    given = [t.dtype for t in (weight, time, *[bias] * (bias is not None)) if t.data is not None]
    kinds = ["INT8", state.dtype, *["INT32"] * (bias is not None)]
    if given != kinds or state.dtype not in ("INT8", "INT16") or state.data is not None:
        what = ", ".join(t.dtype for t in (weight, time, state))
        return f"of {what}", "constant int8 weights, a state of the type of those in time"
    parts = (weight, time, state, low.tensor(op.outputs[0]))
    if any(t.scale is None or len(t.scale) != 1 for t in parts):
        return "with a scale for each filter", "one scale a tensor"
    if weight.zero_point.any() or time.zero_point.any():
        return "weights with a zero point", "symmetric weights"
    if low.tensor(op.outputs[0]).dtype != "INT8":
        return f"to {low.tensor(op.outputs[0]).dtype}", "int8 outputs"
    number = op.options.get("FusedActivationFunction", 0)
    if number not in (_NONE, _RELU):
        return f"with activation {number}", "none or ReLU"
    if math.prod(state.shape) != math.prod(time.shape) or low.tensor(op.inputs[0]).shape[0] != 1:
        return f"with a state of {state.shape}", "one sample at a time"
    if len(weight.shape) != 2 or weight.shape != (time.shape[0], elements):
        return f"over {weight.shape[-1]} of {elements} values", "all values of its input at once"
    units = math.prod(low.tensor(op.outputs[0]).shape)
    if rank < 1 or units * rank != len(time.data) or bias is not None and bias.shape != (units,):
        return f"of rank {rank}", f"a divisor of its {len(time.data)} filters"
    return None


RECURRENT = {_LSTM: _lstm, _SVDF: _svdf}
