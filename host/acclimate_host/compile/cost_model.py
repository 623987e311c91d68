# SPDX-License-Identifier: MIT
"""How many instructions a core needs for a program: a sum over what its kernels do.

Each instruction of a program has features, as "pairs of rows times words" of a convolution; a
core has a number of instructions for each (data/kernel_costs.json, fitted by bench/net_costs.py
to counts of the emulated boards). For int8 programs; instructions are no cycles.
"""

import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files

from ..model.graph import GraphError
from .instructions import read_code, read_layer, split_program
from .rows import rows_bytes

FILE = "kernel_costs.json"
# From how many pixels on four output channels go at a time (conv_quads.c): with a mask or an
# addition, and else.
QUADS_FROM_SLOW, QUADS_FROM = 4, 32


@dataclass(frozen=True)
class Core:
    """What the kernels of a core do at once: pixels of a column, channels of a depthwise row."""

    name: str
    pixels: int
    lanes: int


CORES = {"m4f": Core("m4f", 2, 4), "m0": Core("m0", 1, 1)}


@dataclass(frozen=True)
class LayerCost:
    """What of a layer's record its cost depends on.

    `quick`: all its factors are below one. `narrow`: its clamp is narrower than int8.
    """

    cin: int
    cout: int
    groups: int
    split: int
    kh: int
    kw: int
    stride_h: int
    stride_w: int
    quick: bool = True
    narrow: bool = False

    @property
    def depthwise(self):
        return self.groups == self.cin == self.cout > 1

    @property
    def depth(self):
        return self.cin // self.groups

    @property
    def taps(self):
        return self.kh * self.kw


_SHAPE = ("cin", "cout", "groups", "split", "kh", "kw", "stride_h", "stride_w")


def layer_cost(constants, number):
    """Return the LayerCost of the record that an operand names."""
    fields = read_layer(constants, 4 * number)
    shifts = fields["requant"] + 4 * fields["cout"]
    quick = all(byte > 127 for byte in constants[shifts : shifts + fields["cout"]])
    narrow = fields["low"] > -128 or fields["high"] < 127
    return LayerCost(*(fields[name] for name in _SHAPE), quick, narrow)


class CostModel:
    """Instructions of a core by feature.

    >>> model = CostModel.load("m4f")
    >>> model.core.lanes
    4
    """

    def __init__(self, core, costs):
        self.core, self.costs = core, costs

    @classmethod
    def load(cls, core="m4f"):
        """Return the shipped model of a core, "m4f" or "m0".

        :raises GraphError: for another core
        """
        if core not in CORES:
            raise GraphError(f"no cost model for {core!r}; there are {', '.join(CORES)}")
        text = files("acclimate_host").joinpath("data", FILE).read_text()
        return cls(CORES[core], json.loads(text)["cores"][core]["instructions"])

    def of_features(self, features):
        """Return the instructions that features stand for."""
        return sum(count * self.costs.get(name, 0.0) for name, count in features.items())

    def code(self, code, layer_of, training=False):
        """Return [(Instruction, instructions)] of code whose layers `layer_of` knows by number."""
        found = read_code(code)
        return [(i, self.of_features(features(self.core, i, layer_of, training))) for i in found]

    def program(self, program, training=False):
        """Return [(Instruction, instructions)] of a Program; `training`: of a whole step."""
        if program.field("dtype"):
            raise GraphError("the cost model is for int8 programs; this one is float32")
        forward, behind, constants = split_program(program)
        code = forward + behind if training else forward
        return self.code(code, lambda number: layer_cost(constants, number), training)

    def total(self, program, training=False):
        """Return the instructions of a prediction, or of a training step."""
        return round(sum(count for _, count in self.program(program, training)))


def features(core, instruction, layer_of, training=False):
    """Return what an instruction does, as {feature: how often}; see `_FEATURES`."""
    found = Counter()
    make = _FEATURES.get(instruction.op)
    if make is not None:
        make(found, core, instruction.operands, layer_of, training)
    found["one"] += 1
    return found


# ---- forward ------------------------------------------------------------------------------------


def _convolution(found, core, layer, window, channels, plain):
    """Add what net_conv_fast does for `channels` output channels."""
    h, w, oh, ow, top, left = window
    pixels, rows = oh * ow, min(channels, layer.cout // layer.groups)
    groups = max(1, channels // rows)
    at_once = core.pixels if pixels > 1 else 1
    parts = [n for n in (layer.split, layer.depth - layer.split) if n]
    found["conv.call"] += groups
    found["conv.pixel"] += groups * pixels
    for depth in parts:
        words = rows_bytes(1, depth * layer.taps) // 4
        found["conv.widen"] += groups * pixels * words
        found["conv.rest"] += groups * pixels * (depth * layer.taps % 4)
        found["conv.rests"] += groups * pixels * (depth * layer.taps % 4 > 0)
        if layer.taps > 1:
            _gather(found, layer, window, depth, groups)
        columns = -(-pixels // at_once)
        kind = "dot2" if at_once == 2 else "dot1"
        found[kind + ".word"] += groups * columns * (rows // 2) * words
        if rows % 2:
            found["row.byte"] += groups * pixels * 4 * words
    _stored(found, core, layer, groups, pixels, rows, plain and len(parts) == 1, at_once)


def _stored(found, core, layer, groups, pixels, rows, quick, at_once):
    """Add what storing the sums costs, in assembler where that can do it."""
    quick = quick and core.pixels == 2
    full = pixels // at_once
    pairs = rows // 2
    if quick:
        found[f"quick{at_once}.column"] += groups * full
        found[f"quick{at_once}.pair"] += groups * full * pairs
        found["quick.narrow"] += groups * full * pairs * layer.narrow
        found["slow.pair"] += groups * (pixels - full * at_once) * pairs
        found["put"] += groups * (pixels - full * at_once) * rows
        found["put"] += groups * full * at_once * (rows % 2)
    else:
        found["slow.column"] += groups * -(-pixels // at_once)
        found["slow.pair"] += groups * -(-pixels // at_once) * pairs
        found["put"] += groups * pixels * rows
    if rows % 2:
        found["row.call"] += groups * pixels


def _gather(found, layer, window, depth, groups):
    """Add the copies of taps: a kernel row at once inside, tap by tap at the edges."""
    h, w, oh, ow, top, left = window
    starts = [t * layer.stride_w - left for t in range(ow)]
    together = depth == layer.cin  # the taps of a row
    whole = [together and 0 <= at and at + layer.kw <= w for at in starts]
    taps = sum(
        0 <= at + i < w
        for at, is_whole in zip(starts, whole, strict=True)
        if not is_whole
        for i in range(layer.kw)
    )
    rows = oh * layer.kh
    taken = sum(0 <= r * layer.stride_h - top + i < h for r in range(oh) for i in range(layer.kh))
    single = (ow - sum(whole)) * layer.kw
    for pieces, outside, length in (
        (sum(whole), 0, depth * layer.kw),
        (taps, single - taps, depth),
    ):
        found["gather.copy"] += groups * taken * pieces
        found["gather.word"] += groups * taken * pieces * (length // 4)
        found["gather.byte"] += groups * taken * pieces * (length % 4)
        found["gather.rest"] += groups * taken * pieces * (length % 4 > 0)
        fills = groups * ((rows - taken) * (pieces + outside) + taken * outside)
        found["gather.fill"] += fills
        found["gather.filled"] += fills * length
    found["gather.row"] += groups * rows * ow


def _depthwise(found, core, layer, window, channels, mask, adds):
    """Add what net_depthwise_fast does for `channels` channels."""
    h, w, oh, ow, top, left = window
    groups, rest = divmod(channels, core.lanes)
    groups += rest > 0
    columns = (ow - 1) * layer.stride_w + layer.kw
    rows = (oh - 1) * layer.stride_h + layer.kh
    found["depthwise.call"] += 1
    found["depthwise.group"] += groups
    found["depthwise.clear"] += groups * columns * layer.kh
    found["depthwise.weights"] += groups * layer.taps
    found["depthwise.row"] += groups * rows
    found["depthwise.take"] += groups * rows * max(0, min(columns - left, w))
    found["depthwise.turn"] += groups * (rows - layer.kh) * layer.taps
    found["depthwise.tap"] += groups * oh * ow * layer.taps
    quick = layer.quick and not adds and core.lanes == 4
    fast = groups - (rest > 0) if quick else 0
    found["depthwise.pixel"] += fast * oh * ow
    found["depthwise.mask"] += fast * oh * ow * mask
    found["depthwise.narrow"] += fast * oh * ow * layer.narrow
    found["depthwise.outputs"] += fast * oh
    found["depthwise.slow"] += (groups - fast) * oh * ow
    found["depthwise.put"] += (channels - fast * core.lanes) * oh * ow


def _mask(found, layer, window, mask, training):
    """Add what clearing a mask costs; return whether there is one."""
    if mask and training:
        found["mask.byte"] += (window[2] * window[3] * layer.cout + 7) // 8
        return True
    return False


def _window(v, end=""):
    return tuple(v[name + end] for name in ("h", "w", "oh", "ow", "top", "left"))


def _layer(found, core, layer, window, channels, mask, adds):
    if layer.depthwise:
        _depthwise(found, core, layer, window, channels, mask, adds)
    else:
        rest = channels - _quads(found, core, layer, window, channels, mask, adds)
        if rest:
            _convolution(found, core, layer, window, rest, layer.quick and not (mask or adds))


def _conv(found, core, v, layer_of, training):
    layer, window = layer_of(v["layer"]), _window(v)
    mask = _mask(found, layer, window, v["mask"], training)
    _layer(found, core, layer, window, layer.cout, mask, "rule" in v)
    if "rule" in v:
        found["conv.add"] += window[2] * window[3] * layer.cout


def _conv_depthwise(found, core, v, layer_of, training):
    layers = layer_of(v["layer"]), layer_of(v["layer2"])
    windows = _window(v), _window(v, "2")
    masks = [
        _mask(found, *each, training)
        for each in zip(layers, windows, (v["mask"], v["mask2"]), strict=True)
    ]
    for start in range(0, layers[0].cout, v["planes"]):
        channels = min(v["planes"], layers[0].cout - start)
        for layer, window, mask in zip(layers, windows, masks, strict=True):
            _layer(found, core, layer, window, channels, mask, False)


def _quads(found, core, layer, window, channels, mask, adds):
    """Add what net_conv_quads does; return for how many channels, four at a time."""
    h, w, oh, ow, top, left = window
    pixels, groups = oh * ow, channels // 4
    least = QUADS_FROM_SLOW if mask or adds else QUADS_FROM
    if core.pixels != 2 or layer.groups > 1 or pixels < least or not layer.quick or not groups:
        return 0
    if least == QUADS_FROM and layer.kh > layer.kw * layer.cin:
        return 0
    words = -(-layer.kw * layer.cin // 4)
    rows = sum(0 <= r * layer.stride_h - top <= h - layer.kh for r in range(oh))
    inner = sum(0 <= t * layer.stride_w - left <= w - layer.kw for t in range(ow))
    gathered = pixels - rows * inner
    found["quads.group"] += groups
    found["quads.weight"] += groups * 4 * words * layer.kh
    if 0 < layer.split < layer.cin and layer.taps > 1:
        found["quads.mixed"] += groups * 4 * layer.cin * layer.taps
    found["quads.row"] += groups * oh
    found["quads.pixel"] += groups * pixels
    found["quads.segment"] += groups * pixels * layer.kh
    found["quads.word"] += groups * pixels * layer.kh * words
    found["quads.gathered"] += groups * gathered
    found["quads.gather.row"] += groups * gathered * layer.kh
    found["quads.gather.word"] += groups * gathered * layer.kh * words
    found["quads.mask"] += groups * pixels * mask
    found["quads.add"] += groups * pixels * adds
    return 4 * groups


def _pool(name):
    def make(found, core, v, layer_of, training):
        outputs = v["oh"] * v["ow"] * v["channels"]
        found[name + ".output"] += outputs
        found[name + ".row"] += outputs * (1 if v["kw"] == v["w"] else v["kh"])
        found[name + ".tap"] += outputs * v["kh"] * v["kw"]

    return make


def _each(name, bytes_of):
    def make(found, core, v, layer_of, training):
        found[name] += bytes_of(v)

    return make


def _both(**counts):
    """Features by name, each of a function of the operands; "_" stands for "."."""

    def make(found, core, v, layer_of, training):
        for name, count in counts.items():
            found[name.replace("_", ".")] += count(v)

    return make


def _kept(found, core, v, layer_of, training):
    if training:
        _copy(found, core, v, layer_of, training)


def _copy(found, core, v, layer_of, training):
    found["copy.row"] += v["rows"]
    found["copy.byte"] += v["rows"] * v["n"]


# ---- backward -----------------------------------------------------------------------------------


def _reached(layer, window):
    """Return how many outputs have an input, summed over the taps of a kernel."""
    h, w, oh, ow, top, left = window
    rows = sum(0 <= r * layer.stride_h - top + i < h for i in range(layer.kh) for r in range(oh))
    columns = sum(
        0 <= t * layer.stride_w - left + i < w for i in range(layer.kw) for t in range(ow)
    )
    return rows * columns


def _input_gradient(found, core, v, layer_of, training):
    layer, window = layer_of(v["layer"]), _window(v)
    h, w, oh, ow, _, _ = window
    reached = _reached(layer, window)
    if layer.depthwise:
        groups = -(-layer.cin // 4)
        found["gradient.depthwise.group"] += groups
        found["gradient.depthwise.kept"] += groups * 4 * oh * ow
        found["gradient.depthwise.scatter"] += groups * oh * layer.kh
        found["gradient.depthwise.pixel"] += groups * oh * layer.kh * ow
        found["gradient.depthwise.tap"] += groups * oh * layer.kh * ow * layer.kw
        found["gradient.depthwise.row"] += groups * h
        found["gradient.depthwise.store"] += groups * h * w
        return
    words_fit = layer.taps == 1 or not (layer.cin | layer.split) & 3
    if core.pixels != 2 or layer.groups > 1 or layer.cout & 1 or not words_fit:
        found["gradient.plain.input"] += h * w * layer.cin
        found["gradient.plain.output"] += reached * layer.cout
        found["gradient.plain.mac"] += reached * layer.cout * layer.depth
        return
    name = "gradient.fast" if h * w > 1 else "gradient.one"
    taps, parts = max(1, reached // 2), 1 + (0 < layer.split < layer.cin)
    found[name] += 1
    found[name + ".tap"] += taps
    found[name + ".part"] += taps * parts
    found[name + ".fold"] += reached * layer.cout
    found[name + ".word"] += taps * layer.cout * -(-layer.cin // 4)
    found[name + ".pixel"] += h * w
    found[name + ".store"] += h * w * layer.cin


def _weight_update(found, core, v, layer_of, training):
    layer, window = layer_of(v["layer"]), _window(v)
    h, w, oh, ow, _, _ = window
    reached = _reached(layer, window)
    weights = layer.taps * layer.split * (1 if layer.depthwise else layer.cout)
    if core.pixels != 2 or (not layer.depthwise and (layer.groups > 1 or layer.cout & 1)):
        found["update.plain.mac"] += reached * weights // layer.taps
        found["update.plain.output"] += reached * layer.cout
        found["update.plain.weight"] += weights
    elif layer.depthwise:
        groups = -(-layer.split // 4)
        found["update.depthwise.tap"] += groups * layer.taps
        found["update.depthwise.element"] += groups * reached
        found["update.depthwise.row"] += groups * layer.taps * oh
        found["update.depthwise.weight"] += weights
    elif reached == layer.taps == h * w == 1:
        found["update.one.row"] += layer.cout
        found["update.one.weight"] += weights
    else:
        pairs = layer.cout // 2
        found["update.fast.row"] += layer.cout
        found["update.fast.tap"] += pairs * layer.taps
        found["update.fast.lines"] += pairs * layer.taps * (1 if layer.taps == 1 else oh)
        found["update.fast.gather"] += pairs * reached
        found["update.fast.word"] += pairs * -(-reached // 2) * (layer.split // 4)
        found["update.fast.rest"] += pairs * reached * (layer.split % 4)
        found["update.fast.weight"] += weights


def _bias_update(found, core, v, layer_of, training):
    layer = layer_of(v["layer"])
    found["bias.channel"] += layer.cout
    found["bias.element"] += layer.cout * v["pixels"]


def _pool_gradient(found, core, v, layer_of, training):
    outputs = v["oh"] * v["ow"] * v["channels"]
    found["gradient.pool.output"] += outputs
    found["gradient.pool.tap"] += outputs * v["kh"] * v["kw"]
    found["gradient.pool.input"] += v["h"] * v["w"] * v["channels"]


def _pairs(v):
    """How often an attention compares two rows."""
    return v["rows"] * v["columns"] * v["heads"]


_FEATURES = {
    "CONV": _conv,
    "CONV_ADD": _conv,
    "CONV_DEPTHWISE": _conv_depthwise,
    "DEPTHWISE_IN_PLACE": _conv,
    "ADD": _each("add", lambda v: v["n"]),
    "AVERAGE_POOL": _pool("average_pool"),
    "MAX_POOL": _pool("max_pool"),
    "PAD": _each("pad", lambda v: v["oh"] * v["ow"] * v["channels"]),
    "LOOKUP": _each("lookup", lambda v: v["n"]),
    "COPY": _copy,
    "KEEP": _kept,
    "LOSS": _each("loss", lambda v: v["n"]),
    "SQUARED_LOSS": _each("loss.squared", lambda v: v["n"]),
    "BINARY_LOSS": _each("loss.binary", lambda v: v["n"]),
    "WEIGHT_DECAY": _each("update.plain.weight", lambda v: v["n"]),
    "MULTIPLY": _each("multiply", lambda v: v["n"]),
    "GATHER": _both(
        moved_block=lambda v: v["blocks"], moved_element=lambda v: v["blocks"] * v["n"]
    ),
    "PRODUCT_GRADIENT": _both(
        product_element=lambda v: v["n"],
        product_table=lambda v: v["n"] * (v["table"] > 0),
        product_store=lambda v: v["m"],
    ),
    "GATHER_GRADIENT": _both(
        moved_gradient=lambda v: v["blocks"] * v["n"],
        moved_place=lambda v: v["places"] * v["n"],
        moved_check=lambda v: v["blocks"] + v["places"],
    ),
    "LSTM": _both(
        lstm_mac=lambda v: 4 * v["rows"] * v["n"] * (v["cin"] + v["n"]),
        lstm_unit=lambda v: v["rows"] * v["n"],
    ),
    "SVDF": _both(
        svdf_mac=lambda v: v["n"] * v["rank"] * v["cin"],
        svdf_kept=lambda v: v["n"] * v["rank"] * v["memory"],
        svdf_filter=lambda v: v["n"] * v["rank"],
    ),
    "NORM": _both(norm_row=lambda v: v["rows"], norm_element=lambda v: v["rows"] * v["n"]),
    "NORM_GRADIENT": _both(norm_back=lambda v: v["rows"], norm_slope=lambda v: v["rows"] * v["n"]),
    "ATTENTION": _both(
        attention_mac=lambda v: _pairs(v) * (v["n"] + v["m"]),
        attention_pair=_pairs,
        attention_row=lambda v: v["rows"] * v["heads"],
    ),
    "ATTENTION_GRADIENT": _both(
        attention_score=lambda v: _pairs(v) * (2 * v["n"] + 2 * v["m"] * (v["which"] < 2)),
        attention_sum=lambda v: _pairs(v) * (v["m"] if v["which"] == 2 else v["n"]),
        attention_back=_pairs,
    ),
    "CLAMP_GRADIENT": _each("clamp", lambda v: v["n"]),
    "INPUT_GRADIENT": _input_gradient,
    "AVERAGE_POOL_GRADIENT": _pool_gradient,
    "MAX_POOL_GRADIENT": _pool_gradient,
    "SUM_GRADIENTS": _each("sum", lambda v: v["n"]),
    "BIAS_UPDATE": _bias_update,
    "WEIGHT_UPDATE": _weight_update,
}
