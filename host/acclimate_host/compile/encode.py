# SPDX-License-Identifier: MIT
"""From a training or inference step and a network's values to a program and its weights.

program = encode(training_step(network.graph, scheme), network)
program.code, program.weights        # bytes; sections of a capsule: program and weights
"""

import math
import zlib
from dataclasses import dataclass

from ..model.graph import GraphError
from ..model.losses import TARGET_LOSSES
from .arena import Layout
from .blob import exponentials, float_bits, pack_record
from .constants import Constants
from .emit import number, write_nodes
from .placement import Placement
from .program_format import FORMAT, HEADER, NEEDS, OPTIMIZERS, is_rare
from .scheduled import ScheduledPlacement, ScheduledStep
from .storage import aligned

CODE_LIMIT = 65535


@dataclass(frozen=True)
class Program:
    """What a board needs: `code` (header and constants included) and `weights`, which training
    changes: sections of a capsule.

    `parts`: (name, offset in the weights, bytes) of each trained tensor.
    """

    code: bytes
    weights: bytes
    arena_bytes: int
    layout: Layout
    parts: tuple

    def field(self, name):
        """Return a number of the header."""
        at = HEADER.offset(name)
        size = next(field.bytes for field in HEADER.fields if field.name == name)
        return int.from_bytes(self.code[at : at + size], "little")

    @property
    def code_bytes(self):
        """Bytes of the program without its constants."""
        return self.field("constants")


def encode(step, network, optimizer="plain", arena_goal=None):
    """Return the Program of a Step (acclimate_host.compile.step) with a network's values.

    :param optimizer: plain, momentum16, momentum8, accumulate or wide (16-bit weights)
    :param arena_goal: bytes of the arena; a layout that fits is then looked for longer
    :raises GraphError: when the network cannot run in integers, or has no instruction for it
    """
    if optimizer.upper() not in OPTIMIZERS:
        names = ", ".join(name.lower() for name in OPTIMIZERS)
        raise GraphError(f"optimizer: expected one of {names}, got {optimizer!r}")
    placement = place(step, network, optimizer, arena_goal)
    constants = Constants(placement)
    code = write_nodes(placement, constants)
    return _program(placement, constants, code)


def place(step, network, optimizer="plain", arena_goal=None):
    """Return the Placement of a step: where everything lies, without any value."""
    kind = ScheduledPlacement if isinstance(step, ScheduledStep) else Placement
    return kind(step, network, optimizer.upper(), arena_goal)


def _program(placement, constants, code):
    """Join header, code and constants."""
    if len(code.bytes) > CODE_LIMIT:
        raise GraphError(f"the code has {len(code.bytes)} bytes; a program has {CODE_LIMIT}")
    body = code.bytes + b"".join(number(v) for row in constants.windows for v in row)
    values = _header(placement, constants, code, len(body))
    body += bytes(-(HEADER.bytes + len(body)) % 4) + bytes(constants.blob.data)
    head = pack_record(HEADER, {**values, "crc": 0})
    crc = zlib.crc32(body, zlib.crc32(head[: HEADER.offset("crc")]))
    head = pack_record(HEADER, {**values, "crc": crc})
    layout = placement.layout
    parts = tuple(placement.parts)
    return Program(head + body, bytes(constants.trained), layout.size_bytes, layout, parts)


def _needs(placement):
    """Return the bits that say what of the device package the program needs."""
    ops = [node.op for node in placement.graph.nodes]
    rare = placement.decay > 0 or any(map(is_rare, ops))
    needs = NEEDS["ALL"] * _needs_all(placement) | NEEDS["RARE"] * rare
    return needs | NEEDS["TARGET"] * any(op in TARGET_LOSSES for op in ops)


def _needs_all(placement):
    """Say whether training needs what the smallest modules leave out."""
    nodes = [node for node in placement.graph.nodes if node.op == "weight_update"]
    layers = [placement.layers[node.attrs["layer"]] for node in nodes]
    return placement.optimizer != "PLAIN" or any(
        math.prod(layer.window[:2]) * math.prod(layer.kernel) > 1 for layer in layers
    )


def _header(placement, constants, code, body_bytes):
    """Return the fields of the header but its checksum; the table of the loss comes last."""
    network = placement.network
    graph, offsets = network.graph, placement.layout.offsets
    x, y = graph[network.input], graph[network.output]
    table = 0 if placement.is_float else constants.blob.add(exponentials(y.scale))
    values = {
        "magic": int.from_bytes(b"ANET", "little"),
        "format": FORMAT,
        "dtype": int(placement.is_float),
        "optimizer": OPTIMIZERS[placement.optimizer],
        "input_zero": x.zero_point & 255,
        "arena_bytes": placement.layout.size_bytes,
        "constants": aligned(HEADER.bytes + body_bytes),
        "constants_bytes": len(constants.blob.data),
        "weights": offsets.get("weights", 0),
        "weights_bytes": len(constants.trained),
        "input_bytes": x.elements * placement.element_bytes,
        "input": placement.at(x.name) + 1 if placement.has(x.name) else 0,
        "output": placement.at(y.name),
        "outputs": y.elements,
        "slots": code.slots,
        "state": placement.state_at,
        "kept_bytes": placement.kept_bytes,
        "table": table,
        "forward": code.forward,
        "training": len(code.bytes) - code.forward,
        "windows": len(constants.windows),
        "output_zero": y.zero_point & 255,
        "needs": _needs(placement),
    }
    values["input_scale"] = float_bits(1.0 if placement.is_float else x.scale)
    values["output_scale"] = float_bits(1.0 if placement.is_float else y.scale)
    return values
