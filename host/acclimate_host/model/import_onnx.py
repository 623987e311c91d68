# SPDX-License-Identifier: MIT
"""Networks from ONNX models: float, or int8 with quantize/dequantize pairs (QDQ).

PyTorch (torch.onnx.export) and Keras (tf2onnx) come this way. Batch normalization and constant
factors behind a convolution are folded into it, ReLU into what it follows.
"""

from pathlib import Path

import numpy as np

from .build import Builder
from .coarse import checked
from .import_onnx_groups import grouped
from .import_onnx_layers import CHANNELS_FIRST, ELEMENTWISE, PER_SAMPLE, Layers
from .importing import ModelImportError, Problems, damage_named, operator_named
from .network import with_scales
from .onnx_file import read_onnx


def import_onnx(model, input_shape=None):
    """Return the Network of an ONNX model: a path, its bytes, or an onnx.ModelProto.

    Float models give a float Network (see `quantize`), QDQ models a quantized one. A softmax at
    the output is left out: its input orders the classes just so.

    :param input_shape: of one input, such as (3, 48, 64), where the file leaves edges open; what
        it computes from its shape is worked out for this one
    :raises ModelImportError: one line with every operator that is not supported and the
        nearest form that is
    """
    source = Path(model).name if isinstance(model, (str, Path)) else "model"
    file = read_onnx(model, source, input_shape)
    with damage_named(source):
        return _Lowering(grouped(file), source).run()


_FLOAT_INSTEAD = "or give the float model, which acclimate quantizes itself"
_LOST_STEPS = 1.0  # of an output: as much as each requantization may be off


class _Scales(dict):
    """(scale, zero point) by tensor; one that is asked for and lacks is an error."""

    def __init__(self, low):
        super().__init__()
        self.low = low

    def __missing__(self, tensor):
        raise self.low.bare([tensor])


class _Lowering:
    """Goes through the operators in order; `made` maps a name of the file to a tensor here."""

    def __init__(self, file, source):
        self.file, self.source = file, source
        self.quantized = bool(file.scales)
        self.problems = Problems(source, _FLOAT_INSTEAD if self.quantized else "")
        self.made, self.values, self.counts = {}, {}, {}
        self.scales = _Scales(self)
        self.rounded = {}  # by layer: the most that its stored bias lost
        self.notes, self.hwc, self.build = [], set(), None
        self.layers = Layers(self)

    def run(self):
        for op in self.file.ops:
            if op.name not in self.layers.handlers:
                self.problems.add_unknown(op.name)
        self._start()
        self.problems.check()
        for op in self.file.ops:
            if all(not name or self.knows(name) for name in op.inputs):
                self._lower(op)
        self.problems.check()
        return self._finished()

    def _lower(self, op):
        if self.layers.recurrent.refuse(op):
            return
        signals = [name for name in op.inputs if name in self.made]
        if op.name in PER_SAMPLE and not all(map(self.layers.moves.samples_axis, signals[:1])):
            self.problems.add(f"{op.name} of several samples", "one sample in front")
            return
        if op.name in CHANNELS_FIRST:
            for name in signals[:1]:
                self.layers.moves.channels_first(name, op.outputs[0])
        with operator_named(self.source, f"{op.name} {op.outputs[0]}"):
            self.layers.handlers[op.name](op)
        is_known = op.outputs[0] in self.layers.moves.brought
        if op.name in ELEMENTWISE and not is_known and any(name in self.hwc for name in signals):
            self.hwc.add(op.outputs[0])

    def knows(self, name):
        return name in self.made or name in self.file.constants

    def _start(self):
        file, shape = self.file, self.file.input_shape
        made = file.shapes.get(file.outputs[0], shape) if file.outputs else shape
        if shape and shape[0] > 1 and made[:1] != shape[:1]:
            self.problems.add(
                f"{shape[0]} samples at once with an output of shape {made}", "one sample"
            )
        if file.inputs_count != 1 or len(file.outputs) != 1:
            self.problems.add(
                f"{file.inputs_count} inputs and {len(file.outputs)} outputs", "one of each"
            )
        edges = shape[1:]
        if not 2 <= len(shape) <= 4 or min(edges, default=0) < 1:
            form = "(batch, channels, height, width) fixed, or given: input_shape"
            self.problems.add(f"input of shape {shape}", form)
            return
        first = self._input_names()
        moved = [
            op
            for op in file.ops
            if op.inputs and op.inputs[0] in first and self._moves_channels(op)
        ]
        if moved:
            last = "time" if len(edges) == 2 else "height, width"
            self.notes.append(f"the file's input is ({last}, channels); here channels lead")
            edges = file.shapes.get(moved[0].inputs[0], shape)[1:]
            edges = (edges[-1], *edges[:-1])
        self.build = Builder(self.source.rsplit(".", 1)[0], (*edges, 1, 1)[:3])
        for name in first:
            self.place(name, self.build.x)
        if moved:
            self.hwc.update(first)
        for op in moved:
            self.place(op.outputs[0], self.build.x)

    def _moves_channels(self, op):
        """Tell whether an operator brings the last axis of the input to the front."""
        if op.name == "Transpose":
            return op.attrs.get("perm") in ([0, 3, 1, 2], [0, 2, 1])
        old, new = (self.file.shapes.get(name, ()) for name in (op.inputs[0], op.outputs[0]))
        # A last axis of one place may be moved without a change of order.
        one = op.name == "Reshape" and len(old) == len(new) == 4 and old[-1] == 1
        return one and old[1] > 1 and tuple(new[1:]) == (1, *old[1:3])

    def _input_names(self):
        """Return the input's name, and those of it with axes of one place more."""
        names = [self.file.input]
        for op in self.file.ops:
            if op.name == "Unsqueeze" and op.inputs[0] in names:
                names.append(op.outputs[0])
        return names

    # ---- what the layers use -----------------------------------------------------------------

    def place(self, name, tensor):
        """Say that the graph's `tensor` is the file's value `name`."""
        self.made[name] = tensor
        if name in self.file.scales:
            stored = self.file.scales[name]
            self.scales[tensor] = (stored.scale, stored.zero_point)

    def new(self, kind):
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return f"{kind}{self.counts[kind]}"

    def readers(self, name):
        return sum(op.inputs.count(name) for op in self.file.ops) + (name in self.file.outputs)

    def shape(self, name):
        return self.build.tensors[self.made[name]].shape

    def is_turned(self, name):
        """Tell whether a signal that is a row here is a column in the file, or the reverse."""
        theirs, ours = self.file.shapes.get(name, ())[2:], self.shape(name)[1:]
        return len(theirs) == 2 and theirs != ours and theirs == ours[::-1] and 1 in theirs

    def bare(self, tensors):
        """Return the error that names what makes tensors without a scale in an int8 model."""
        found = ", ".join(map(self._maker, tensors))
        return ModelImportError(
            f"{self.source}: no quantize/dequantize pair behind {found}: "
            f"put one there; {_FLOAT_INSTEAD}"
        )

    def _maker(self, tensor):
        """Return what in the file makes a tensor: the operator and the name of its value."""
        makers = {name: op for op in self.file.ops for name in op.outputs}
        names = [name for name, one in self.made.items() if one == tensor]
        made = [f"{makers[name].name} {name}" for name in names if name in makers]
        return (made or names or [tensor])[0]

    def _check_rounded(self, graph):
        """Refuse constants that vanish between the steps of what they are added to."""
        for node in graph.nodes:
            y = node.outputs[0]
            lost = self.rounded.get(node.attrs.get("layer"), 0.0)
            if lost > _LOST_STEPS * graph[y].scale:
                self.problems.add(
                    f"{self._maker(y)} with constants that round by {lost / graph[y].scale:.1f} "
                    "steps of its output",
                    f"its input's steps, {graph[node.inputs[0]].scale:g}, are too wide beside "
                    f"the output's, {graph[y].scale:g}: calibrate with the board's readings",
                )
        self.problems.check()

    def _finished(self):
        if self.file.outputs[0] not in self.made:
            raise ModelImportError(f"{self.source}: its output is a constant")
        y = self.made[self.file.outputs[0]]
        self.build.drop_unread(y)
        graph = self.build.finish(y)
        used = {n for node in graph.nodes for n in (*node.inputs, *node.outputs)}
        if self.quantized:
            bare = [
                t.name
                for t in graph.tensors.values()
                if t.kind in ("input", "activation")
                and t.name in used
                and t.name not in self.scales
            ]
            if bare:
                raise self.bare(bare)
            scales = {name: pair for name, pair in self.scales.items() if name in graph.tensors}
            graph = with_scales(graph, scales)
            self._check_rounded(graph)
        values = {k: v if self.quantized else v.astype(np.float32) for k, v in self.values.items()}
        return checked(graph, values, self.notes)
