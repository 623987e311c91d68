# SPDX-License-Identifier: MIT
"""The one source of the network program's format: header, layer record, state and opcodes.

From it come the C header, the device's constants and the tables of docs/numerics.md:

    python -m acclimate_host.compile.program_format          # write them all
    python -m acclimate_host.compile.program_format --check  # exit status 1 when one differs

All numbers are little-endian.
"""

import sys
from dataclasses import dataclass

from acclimate_host.formats import Field, Generated, Record, listed, offsets, record_tables

HEADER = Record(
    "Program header",
    "P",
    (
        Field("magic", 4, "`ANET`"),
        Field("format", 1, "version of this table: 6"),
        Field("dtype", 1, "0 int8, 1 float32"),
        Field("optimizer", 1, "see Optimizers"),
        Field("input_zero", 1, "zero point of the input (int8)"),
        Field("arena_bytes", 4, "whole arena, a multiple of 4"),
        Field("constants", 4, "offset of the constants in the program, a multiple of 4"),
        Field("constants_bytes", 4, "length of the constants"),
        Field("weights", 4, "arena offset of what training changes"),
        Field("weights_bytes", 4, "its length: the weights section"),
        Field("input_bytes", 4, "length of one input"),
        Field("output", 4, "arena offset of the outputs (logits)"),
        Field("state", 4, "arena offset of the state"),
        Field("kept_bytes", 4, "length of the state and of the optimizer's behind it"),
        Field("table", 4, "offset in the constants of section 4's table, 0 for none"),
        Field("outputs", 2, "how many outputs"),
        Field("slots", 2, "how many gradient exponents"),
        Field("forward", 2, "bytes of code up to the outputs"),
        Field("training", 2, "bytes of code after them, 0 for inference only"),
        Field("windows", 2, "entries of the table of windows behind the code"),
        Field("output_zero", 1, "zero point of the outputs (int8)"),
        Field("needs", 1, "bits: see Needs"),
        Field("input_scale", 4, "scale of the input (float32)"),
        Field("output_scale", 4, "scale of the outputs (float32)"),
        Field("input", 4, "arena offset + 1 of the input, 0 for the caller's buffer"),
        Field("crc", 4, "CRC-32 of the header before it and of all bytes behind it"),
    ),
)
LAYER = Record(
    "Layer record",
    "L",
    (
        Field("cin", 2, "input channels"),
        Field("cout", 2, "output channels"),
        Field("groups", 2, "groups; = cin = cout > 1: depthwise"),
        Field("split", 2, "trained input channels (depthwise: channels)"),
        Field("kh", 1, "kernel rows"),
        Field("kw", 1, "kernel columns"),
        Field("stride_h", 1, "rows from one output to the next"),
        Field("stride_w", 1, "columns from one output to the next"),
        Field("zero_x", 1, "zero point of the input (int8)"),
        Field("zero_y", 1, "zero point of the output (int8)"),
        Field("low", 1, "least output (int8)"),
        Field("high", 1, "largest output (int8)"),
        Field("w", 4, "offset in the constants of the weights that are not trained"),
        Field("wt", 4, "arena offset of the trained ones"),
        Field("bias", 4, "2 * offset in the constants, or 2 * arena offset + 1 where trained"),
        Field("requant", 4, "offset in the constants: int32 multipliers, then int8 shifts"),
        Field("ratio", 4, "offset in the constants of the scale ratios r (uint16), 0 for none"),
        Field("exponent", 2, "ew of section 5 (int16)"),
        Field("fold", 2, "t of section 5"),
        Field("x_mantissa", 2, "x_m of section 6"),
        Field("x_exponent", 2, "x_e (int16)"),
        Field("i_mantissa", 2, "i_m"),
        Field("i_exponent", 2, "i_e (int16)"),
    ),
)
ADD = Record(
    "Addition record",
    "A",
    (
        Field("multiplier_a", 4, "of the first operand (int32)"),
        Field("multiplier_b", 4, "of the second"),
        Field("multiplier_y", 4, "of the sum"),
        Field("shift_a", 1, "int8"),
        Field("shift_b", 1, "int8"),
        Field("shift_y", 1, "int8"),
        Field("zero_a", 1, "int8"),
        Field("zero_b", 1, "int8"),
        Field("zero_y", 1, "int8"),
        Field("low", 1, "int8"),
        Field("high", 1, "int8"),
    ),
)
STATE = Record(
    "State, in the arena",
    "S",
    (
        Field("seed", 4, "state of the draws, never 0"),
        Field("rate_mantissa", 4, "l_m of section 6; a float32 program: the rate itself"),
        Field("rate_exponent", 4, "l_e (int32)"),
        Field("momentum", 4, "mu, in 1/256"),
        Field("move", 4, "accumulation: 1 in the step that ends a group"),
        Field("share", 4, "the label's share in 1/32768; a float32 program: the loss"),
        Field("rails", 4, "parameters that a clamp held back"),
        Field("moved", 4, "parameters that changed"),
        Field("dead", 4, "updates of dead channels that were left out"),
        Field("exponents", 0, "int16 for each slot"),
    ),
)
RECORDS = (HEADER, LAYER, ADD, STATE)


@dataclass(frozen=True)
class Op:
    """One instruction: an opcode byte and its operands, numbers of 7 bits a byte, low first."""

    name: str
    code: int
    operands: str
    text: str


WINDOW = "h w oh ow top left"
POOLED = f"{WINDOW} kh kw sh sw channels"
POOL = f"x y {POOLED} low high"
ATTENTION = "rule q k v rows columns n m heads y work"
POOL_GRADIENT = f"x g y {POOLED} slot slot work bytes k"
OPS = (
    Op("END", 0, "", "ends the code"),
    Op("CONV", 1, f"layer mask x {WINDOW} y work bytes", "convolution or dense layer"),
    Op("CONV_ADD", 2, f"layer mask x {WINDOW} y work bytes rule other", "and adds `other`"),
    Op(
        "CONV_DEPTHWISE",
        3,
        f"layer mask x {WINDOW} plane planes layer mask {WINDOW} y work bytes",
        "some channels at a time through planes of the work area",
    ),
    Op("DEPTHWISE_IN_PLACE", 4, f"layer mask x {WINDOW} plane work bytes", "y lies where x does"),
    Op("PITCH", 5, "x y", "elements from row to row of the next convolution's x and y"),
    Op("ADD", 6, "rule a b y n", "section 3"),
    Op("AVERAGE_POOL", 7, POOL, "section 3"),
    Op("MAX_POOL", 8, POOL, "section 3"),
    Op("PAD", 9, POOL, "section 3; `low` is what fills"),
    Op("LOOKUP", 10, "table x y n", "y = table[x + 128]"),
    Op("COPY", 11, "x y rows n xpitch ypitch", "n bytes of each row"),
    Op("KEEP", 12, "x y rows n xpitch ypitch", "COPY in training, nothing else"),
    Op("LOSS", 16, "x n g slot work most", "section 4"),
    Op("CLAMP_GRADIENT", 17, "g mask y n slot slot", "section 5"),
    Op("INPUT_GRADIENT", 18, f"layer g y {WINDOW} slot slot work bytes", "section 5"),
    Op("AVERAGE_POOL_GRADIENT", 19, POOL_GRADIENT, "section 5, padding too; `x`: y"),
    Op("SUM_GRADIENTS", 20, "a b y n slot slot slot", "section 5"),
    Op("BIAS_UPDATE", 21, "layer g pixels slot v", "section 6"),
    Op("WEIGHT_UPDATE", 22, f"layer x g {WINDOW} slot v work bytes", "section 6"),
    Op("MAX_POOL_GRADIENT", 23, POOL_GRADIENT, "section 5"),
    Op("PAGE_OUT", 24, "page at n", "stop: the caller writes arena bytes to a page"),
    Op("PAGE_IN", 25, "page at n", "stop: the caller reads a page into the arena"),
    Op("PAGE_KEEP", 27, "page at n", "PAGE_OUT in training, nothing else"),
    Op("FREE", 26, "at n", "nobody reads these bytes any more"),
    # From here on rare: a module of its own has them.
    Op("SQUARED_LOSS", 28, "x n g slot target table limit factor exponent most", "section 4"),
    Op("BINARY_LOSS", 29, "x n g slot target zero factor exponent most", "section 4"),
    Op("WEIGHT_DECAY", 30, "at n factor exponent", "section 6"),
    Op("MULTIPLY", 31, "rule a b y n m", "section 3: `b` again and again"),
    Op("GATHER", 32, "table x y blocks n", "blocks of n elements, from the table's places"),
    Op(
        "PRODUCT_GRADIENT",
        33,
        "g y n m x f zero table slot slot factor exponent",
        "section 5, of a product or a function",
    ),
    Op("GATHER_GRADIENT", 34, "table g y blocks n places slot slot", "section 5"),
    Op("NORM", 35, "x y rows n extra factor exponent zero", "section 3"),
    Op("LSTM", 37, "table x y h c rows cin n", "section 3; h and c stay from call to call"),
    Op("NORM_GRADIENT", 36, "g x y rows n extra slot slot factor exponent", "section 5"),
    Op("ATTENTION", 38, ATTENTION, "section 3; n channels of q and k, m of v and y, in each head"),
    Op(
        "ATTENTION_GRADIENT",
        39,
        f"{ATTENTION} g which slot slot factor exponent",
        "section 5; which: 0 of q, 1 of k, 2 of v",
    ),
    Op("SVDF", 40, "table x y state cin n rank memory bytes", "section 3; `bytes` of a state"),
)
FIRST_RARE = 28
NEEDS = {"ALL": 1, "RARE": 2, "TARGET": 4}
OPTIMIZERS = {"PLAIN": 0, "MOMENTUM16": 1, "MOMENTUM8": 2, "ACCUMULATE": 3, "WIDE": 4}
STATUS = {
    "DONE": 0,
    "MORE": 1,
    "PAGE": 2,
    "OTHER": 3,
    "BAD_CODE": -1,
    "BAD_PLACE": -2,
    "NOT_FINITE": -3,
}
FORMAT = 6


def is_rare(node_op):
    """Say whether the instruction of a node's operator is in the module of the rare ones."""
    name = {"table_gradient": "product_gradient"}.get(node_op, node_op).upper()
    return any(op.name == name and op.code >= FIRST_RARE for op in OPS)


def code(name):
    """Return the opcode of an instruction."""
    return next(op.code for op in OPS if op.name == name)


def operand_counts():
    """Return how many operands each opcode has, as bytes."""
    counts = {op.code: len(op.operands.split()) for op in OPS}
    return bytes(counts.get(number, 0) for number in range(max(counts) + 1))


def constants():
    """Return every constant by name: offsets, lengths, opcodes, optimizers, statuses."""
    named = {"FORMAT": FORMAT} | offsets(RECORDS)
    named.update({f"OP_{op.name}": op.code for op in OPS})
    named["COUNTS"] = operand_counts()
    named["OP_RARE"] = FIRST_RARE
    named.update({f"OPT_{name}": value for name, value in OPTIMIZERS.items()})
    named.update({f"NEEDS_{name}": value for name, value in NEEDS.items()})
    named.update(STATUS)
    return named


def c_header():
    """Return the text of native_modules/net/net_format.h."""
    lines = [
        "/* SPDX-License-Identifier: MIT",
        " * Generated by acclimate_host.compile.program_format. */",
        "#ifndef NET_FORMAT_H",
        "#define NET_FORMAT_H",
        "",
    ]
    for name, value in constants().items():
        if isinstance(value, int):
            lines.append(f"#define NET_{name} {value if value >= 0 else f'({value})'}")
    lines += ["", "/* How many operands each opcode has. */"]
    lines += [f"#define NET_OPERANDS_MOST {max(operand_counts())}"]
    lines += [f"#define NET_OPERANDS {{ {', '.join(map(str, operand_counts()))} }}"]
    return "\n".join([*lines, "", "#endif", ""])


def tables():
    """Return the tables of the documentation, in Markdown."""
    parts = record_tables(RECORDS)
    parts += ["### Instructions", "", "| code | name | operands | meaning |", "|---|---|---|---|"]
    parts += [f"| {op.code} | {op.name} | {op.operands} | {op.text} |" for op in OPS]
    needs = ["Needs, a sum of:", ""]
    needs += ["- 1: trains more than biases and dense layers, or with an optimizer;"]
    needs += [f"- 2: has instructions from {FIRST_RARE} on;"]
    needs += ["- 4: learns from targets, not from a class."]
    return "\n".join([*parts, "", f"Optimizers: {listed(OPTIMIZERS)}.", "", *needs, ""])


GENERATED = Generated(
    "acclimate_host.compile.program_format",
    "program",
    constants(),
    ("native_modules/net/net_format.h", c_header()),
    ("docs/numerics.md", tables()),
)

if __name__ == "__main__":
    sys.exit(GENERATED.main(sys.argv[1:]))
