# SPDX-License-Identifier: MIT
"""Reads a program back: its instructions with their operands by name, its layers' records."""

from dataclasses import dataclass

from .program_format import HEADER, LAYER, OPS

_BY_CODE = {op.code: op for op in OPS}


def _operand_names(op):
    """Names of an operation's operands; the second of a name ends in 2."""
    names = []
    for name in op.operands.split():
        names.append(name + "2" if name in names else name)
    return tuple(names)


_NAMES = {op.code: _operand_names(op) for op in OPS}


@dataclass(frozen=True)
class Instruction:
    """One instruction at a byte of the code: name of the operation, operands by name."""

    at: int
    op: str
    operands: dict

    def __getitem__(self, name):
        return self.operands[name]


def read_code(code):
    """Yield the Instructions of a program's code (without header), up to its end."""
    at = 0
    while at < len(code):
        start, op = at, _BY_CODE[code[at]]
        at += 1
        values = []
        for _ in _NAMES[op.code]:
            value, at = _number(code, at)
            values.append(value)
        yield Instruction(start, op.name, dict(zip(_NAMES[op.code], values, strict=True)))


def _number(code, at):
    """Return (operand, where the next one begins): 7 bits a byte, the lowest first."""
    value = shift = 0
    while True:
        byte = code[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def read_layer(constants, at):
    """Return the fields of the layer record at an offset of the constants, as a dict."""
    record = constants[at : at + LAYER.bytes]
    fields = {}
    for field in LAYER.fields:
        start = LAYER.offset(field.name)
        signed = field.name in ("low", "high", "zero_x", "zero_y")
        part = record[start : start + field.bytes]
        fields[field.name] = int.from_bytes(part, "little", signed=signed)
    return fields


def split_program(program):
    """Return (forward code, code after the outputs, constants) of a Program."""
    code = program.code[HEADER.bytes :]
    forward, training = program.field("forward"), program.field("training")
    return (
        code[:forward],
        code[forward : forward + training],
        program.code[program.field("constants") :],
    )
