# SPDX-License-Identifier: MIT
"""Joins a schedule to a training step: what runs again, what leaves RAM and comes back.

    step = plain_step(network.graph, scheme)
    found = step_graph(step, network, "m4")
    answer = solve(found.graph, Budget(20_000))
    program = encode(with_schedule(step, found, answer.plan), network)

A tensor has a buffer for each time that it is in RAM, so that the arena follows the plan. The
result of a step is the same bit for bit: a layer that runs again reads what it read before,
and updates stay in their order.
"""

from dataclasses import dataclass, replace

from ..model.graph import GraphError, Node
from .arena import Layout, lay_out
from .placement import Placement
from .step import Options, Step, training_step
from .storage import Buffer, aligned, buffers, owner, share_in_place


@dataclass(frozen=True)
class Stay:
    """One time that a tensor is in RAM: from node `first` to node `last`, both included."""

    tensor: str
    first: int
    last: int


@dataclass(frozen=True)
class ScheduledStep(Step):
    """A step whose nodes follow a schedule; `stays` of all tensors, `pages` by number."""

    stays: tuple = ()
    pages: tuple = ()


def plain_step(forward, scheme, tries=50):
    """Return the training step that a schedule can be joined to: no patches, and only a
    gradient takes over another one's buffer."""
    step = training_step(forward, scheme, Options(in_place=False, patch_grid=1), tries)
    graph, taken = share_in_place(step.graph, ("gradient",))
    found = tuple(buffers(graph, taken))
    return Step(graph, taken, found, lay_out(found, tries))


def with_schedule(step, found, plan):
    """Return the ScheduledStep of a plan, a list of (kind, id) on `found.graph` (StepGraph).

    :raises GraphError: when the plan runs a layer again after its weights have changed
    """
    build = _Builder(step, found)
    for kind, name in plan:
        getattr(build, kind)(name)
    return build.finished()


class _Builder:
    def __init__(self, step, found):
        self.step, self.found = step, found
        self.nodes, self.begun, self.stays = [], {}, []
        self.run, self.written, self.pages = set(), set(), []

    def compute(self, name):
        position = self.found.made_by[name]
        node = self.step.graph.nodes[position]
        if name not in self.found.made_first:
            return  # a mask: its layer has made it
        if position in self.run:
            changed = self.written.intersection(node.reads)
            if changed:
                raise GraphError(f"{name}: would run again after {min(changed)} has changed")
            node = run_again(node)
        self.run.add(position)
        self.written.update(node.writes)
        for output in node.outputs:
            if output not in self.step.taken:
                self.begun[output] = len(self.nodes)
        self.nodes.append(node)

    def pageout(self, name):
        self.pages.append(name)
        self._page("page_out", name, (name,), ())

    def pagein(self, name):
        self.begun[name] = len(self.nodes)
        self._page("page_in", name, (), (name,))

    def _page(self, op, name, inputs, outputs):
        number = self.pages.index(name)
        self.nodes.append(Node(op, inputs, outputs, "forward", attrs={"page": number}))

    def free(self, name):
        if name in self.begun:
            self.stays.append(Stay(name, self.begun.pop(name), len(self.nodes) - 1))

    def finished(self):
        for name in list(self.begun):
            self.free(name)
        graph = replace(self.step.graph, nodes=tuple(_marked(self.nodes)))
        layout = Layout({}, 0, 0)  # the encoder lays out, with work areas
        stays, pages = tuple(self.stays), tuple(self.pages)
        return ScheduledStep(graph, self.step.taken, (), layout, stays=stays, pages=pages)


def run_again(node):
    """Return a forward node as it runs a second time: it makes its tensor, and no mask."""
    attrs = dict(node.attrs, masks=(False, False)) if "masks" in node.attrs else node.attrs
    return replace(node, outputs=node.outputs[:1], attrs=attrs)


def _marked(nodes):
    """Page-outs that only the backward pass reads back happen in training only."""
    forward = next((i for i, n in enumerate(nodes) if n.phase != "forward"), len(nodes))
    early = {n.outputs[0] for n in nodes[:forward] if n.op == "page_in"}
    for node in nodes:
        if node.op == "page_out" and node.inputs[0] not in early:
            node = replace(node, op="page_keep")
        yield node


class ScheduledPlacement(Placement):
    """Offsets of a ScheduledStep: those of a tensor depend on where in the program it is asked."""

    def __init__(self, step, network, optimizer, goal=None):
        self.stays = step.stays
        super().__init__(step, network, optimizer, goal)

    def at(self, name, position=None):
        """Return the arena offset of a tensor at the node of this position."""
        stay = self._stay(name, position)
        return super().at(name) if stay is None else self.layout.offsets[_label(stay)]

    def has(self, name, position=None):
        """Say whether a tensor lies in the arena."""
        return self._stay(name, position) is not None or super().has(name)

    def _stay(self, name, position):
        if name == self.network.output:
            return None
        name = owner(name, self.taken)
        found = [stay for stay in self.stays if stay.tensor == name]
        if not found:
            return None
        for stay in found:
            if position is not None and stay.first <= position <= stay.last:
                return stay
        raise GraphError(f"{name}: the schedule does not hold it at node {position}")

    def _buffers(self):
        for buffer in super()._buffers():
            if not self._moves(buffer.name):
                yield buffer
        for stay in self.stays:
            if self._moves(stay.tensor):
                size = aligned(self.graph[stay.tensor].size_bytes)
                yield Buffer(_label(stay), size, stay.first, stay.last)

    def _moves(self, name):
        tensor = self.graph.tensors.get(name)
        held = tensor is not None and tensor.kind in ("activation", "mask", "gradient")
        return held and name != self.network.output


def _label(stay):
    return f"{stay.tensor} from {stay.first}"
