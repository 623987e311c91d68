# SPDX-License-Identifier: MIT
"""Complete search over all plans of a small graph in the given order, in whole bytes.

Best first, from the state of nothing done to that of every node computed: which nodes are done
(they come in order), which tensors are in RAM and which in storage, and for the overlapped clock
what the processor and the channel still do. Nothing that the evaluator calls valid is left out:

- a tensor is freed only where something would fit then that does not fit now, or when nothing
  can read it any more;
- without overlap a tensor is written right after it was first made, where that takes no RAM.
"""

import heapq
from dataclasses import replace
from itertools import count

MOST_NODES, MOST_STATES = 14, 150_000


class TooLarge(Exception):
    """The search was given up: too many nodes or states."""


class _Task:
    def __init__(self, graph, budget, space):
        nodes = graph.nodes
        self.graph, self.budget, self.space, self.nodes = graph, budget, space, nodes
        self.count = len(nodes)
        self.deps = [sum(1 << graph.index[d] for d in set(node.deps)) for node in nodes]
        self.size = [node.ram_bytes for node in nodes]
        self.again = [space.recompute and node.recomputable for node in nodes]
        self.paged = [space.paging and node.pageable for node in nodes]
        self.room = budget.ram_bytes - graph.resident_bytes
        block = budget.erase_block_bytes if budget.erase_budget is not None else 0
        self.blocks = [-(-size // block) if block else 0 for size in self.size]
        self.unlimited = budget.aux_bytes is None and budget.erase_budget is None
        self.useful = [self._useful(t) for t in range(self.count + 1)]
        self.energy, self.time = [0.0], [0.0]
        for node in reversed(nodes):
            self.energy.append(self.energy[-1] + node.compute_energy)
            self.time.append(self.time[-1] + node.compute_time)
        self.energy.reverse()
        self.time.reverse()
        late = budget.deadline
        self.deadline = float("inf") if late is None else late * (1 + 1e-9)
        self.least_over = float("inf")  # least RAM that a step needed and that is not there

    def _useful(self, done):
        """Tensors that something can still read once so many nodes are done, as bits."""
        found = 0
        for i in reversed(range(self.count)):
            for c in range(i + 1, self.count):
                if self.deps[c] >> i & 1 and (c >= done or (self.again[c] and found >> c & 1)):
                    found |= 1 << i
                    break
        return found

    def bytes_of(self, bits):
        """Bytes of these tensors."""
        return sum(size for i, size in enumerate(self.size) if bits >> i & 1)

    def stores(self, aux, i):
        """Whether storage and erase budget take tensor i beside these."""
        budget = self.budget
        if not self.paged[i] or aux >> i & 1:
            return False
        if budget.aux_bytes is not None and self.bytes_of(aux | 1 << i) > budget.aux_bytes:
            return False
        if budget.erase_budget is None or not budget.erase_block_bytes:
            return True
        blocks = sum(b for j, b in enumerate(self.blocks) if (aux | 1 << i) >> j & 1)
        return blocks <= budget.erase_budget

    def is_in_time(self, done, times):
        """Whether the first computations that are left can still end by the deadline."""
        free = times[1] if len(times) > 1 else times[0]  # when the processor is
        return max(*times, free + self.time[done]) <= self.deadline

    def fits(self, bytes_):
        """Whether so many bytes fit beside the resident ones; notes by how little they do not."""
        if bytes_ <= self.room:
            return True
        self.least_over = min(self.least_over, bytes_ + self.graph.resident_bytes)
        return False


def cheapest(graph, budget, space, below=float("inf"), most=MOST_STATES, stop=None):
    """(energy, steps) of the cheapest plan that costs less than `below`, or None.

    Raises TooLarge, also when stop() says so. space.clock: serial, overlapped or compute.
    """
    return _search(_Task(graph, budget, space), below, most, stop)


def least_ram(graph, budget, space, most=MOST_STATES, stop=None):
    """(bytes, steps) of the least RAM with which a plan keeps the other limits, or None."""
    low = max(
        graph.resident_bytes
        + node.ram_bytes
        + node.workspace_bytes
        + sum(graph.nodes[graph.index[d]].ram_bytes for d in set(node.deps))
        for node in graph.nodes
    )
    found = None
    while True:  # from one sum that a step needs to the next larger one
        task = _Task(graph, replace(budget, ram_bytes=low), space)
        found = _search(task, float("inf"), most, stop)
        if found is not None:
            return low, found[1]
        if task.least_over == float("inf"):
            return None
        low = task.least_over


def _search(task, below, most, stop):
    if task.count > MOST_NODES:
        raise TooLarge
    overlap = task.space.clock == "overlapped"
    steps = _overlapped if overlap else _serial
    number, labels, states = count(), {}, 0
    start = (0, 0, 0, -1, -1) if overlap else (0, 0, 0)
    queue = [(task.energy[0], 0.0, next(number), start, (0.0,) * (4 if overlap else 1), ())]
    while queue:
        total, spent, _, state, times, trail = heapq.heappop(queue)
        if state[0] == task.count:
            return spent, _unroll(task.graph, trail)
        if not _is_new(labels, state, times, task):
            continue
        states += 1
        if states > most or (stop is not None and not states % 256 and stop()):
            raise TooLarge
        for move, cost, after, later in steps(task, state, times):
            if overlap:
                after, later = _past(after, later)
            bound = spent + cost + task.energy[after[0]]
            if bound < below and task.is_in_time(after[0], later):
                heapq.heappush(
                    queue, (bound, spent + cost, next(number), after, later, (trail, move))
                )
    return None


def _is_new(labels, state, times, task):
    """Whether no label at this state, all of which cost no more, is at least as early in all."""
    held = labels.setdefault(state, [])
    if held and (task.budget.deadline is None and len(times) == 1):
        return False
    if any(all(a <= b for a, b in zip(old, times, strict=True)) for old in held):
        return False
    held.append(times)
    return True


def _unroll(graph, trail):
    steps = []
    while trail:
        trail, moves = trail
        steps += [(kind, graph.nodes[i].id) for kind, i in reversed(moves)]
    return tuple(reversed(steps))


def _serial(task, state, times):
    done, ram, aux = state
    nodes, (time,) = task.nodes, times
    paid = task.space.clock == "serial"
    used, tight = task.bytes_of(ram), False
    for i in range(done):
        bit, node = 1 << i, nodes[i]
        if ram & bit or not task.useful[done] & bit:
            continue
        if aux & bit:
            if task.fits(used + node.ram_bytes):
                wait = node.pagein_time if paid else 0.0
                yield (("pagein", i),), node.pagein_energy, (done, ram | bit, aux), (time + wait,)
            else:
                tight = True
        if task.again[i] and not task.deps[i] & ~ram:
            if task.fits(used + node.ram_bytes + node.workspace_bytes):
                later = (time + node.compute_time,)
                yield (("compute", i),), node.compute_energy, (done, ram | bit, aux), later
            else:
                tight = True
    node, bit = nodes[done], 1 << done
    if not task.deps[done] & ~ram:
        if task.fits(used + node.ram_bytes + node.workspace_bytes):
            keep = task.useful[done + 1]
            held = aux & keep if task.unlimited else aux
            gone = tuple(("free", i) for i in range(done + 1) if (ram | bit) & ~keep & (1 << i))
            after, time = (ram | bit) & keep, time + node.compute_time
            make = ("compute", done)
            yield (make, *gone), node.compute_energy, (done + 1, after, held), (time,)
            if keep & bit and task.stores(aux, done):
                cost = node.compute_energy + node.pageout_energy
                time += node.pageout_time if paid else 0.0
                moves = (make, ("pageout", done), *gone)
                yield moves, cost, (done + 1, after, held | bit), (time,)
        else:
            tight = True
    if tight:
        for i in range(done):
            if ram >> i & 1:
                yield (("free", i),), 0.0, (done, ram & ~(1 << i), aux), times


def _overlapped(task, state, times):
    """Times: when the last step was issued, processor and channel are free, frees are done.

    The state holds what the processor and the channel worked on last; what they made before that
    is ready when a later step can begin.
    """
    done, ram, aux, computing, moving = state
    issued, processor, channel, barrier = times
    nodes, used, tight = task.nodes, task.bytes_of(ram), False

    def ready(i):
        at = 0.0
        if computing == i:
            at = processor
        if moving == 2 * i:
            at = max(at, channel)
        return at

    for i in range(min(done + 1, task.count)):
        bit, node, first = 1 << i, nodes[i], i == done
        if ram & bit:
            if task.stores(aux, i):
                start = max(issued, barrier, channel, ready(i))
                later = (start, processor, start + node.pageout_time, barrier)
                after = (done, ram, aux | bit, computing, 2 * i + 1)
                yield (("pageout", i),), node.pageout_energy, after, later
            continue
        if aux & bit and task.useful[done] & bit:
            stored = channel if moving == 2 * i + 1 else 0.0
            start = max(issued, barrier, channel, stored)
            if _running(task, used, node.ram_bytes, computing, processor, start):
                later = (start, processor, start + node.pagein_time, barrier)
                after = (done, ram | bit, aux, computing, 2 * i)
                yield (("pagein", i),), node.pagein_energy, after, later
            else:
                tight = True
        if (first or (task.again[i] and task.useful[done] & bit)) and not task.deps[i] & ~ram:
            reads = [ready(j) for j in range(i) if task.deps[i] >> j & 1]
            start = max(issued, barrier, processor, *reads, 0.0)
            if task.fits(used + node.ram_bytes + node.workspace_bytes):
                later = (start, start + node.compute_time, channel, barrier)
                after = (done + first, ram | bit, aux, i, moving)
                yield (("compute", i),), node.compute_energy, after, later
            else:
                tight = True
    if tight or ram & ~task.useful[done]:
        for i in range(done):
            if ram >> i & 1:
                busy = processor if computing == i or _reads(task, computing, i) else 0.0
                busy = max(busy, channel if moving in (2 * i, 2 * i + 1) else 0.0)
                later = (issued, processor, channel, max(barrier, issued, busy))
                after = (done, ram & ~(1 << i), aux, computing, moving)
                yield (("free", i),), 0.0, after, later


def _past(state, times):
    """The same without what has ended when the last step began: no later step can tell."""
    done, ram, aux, computing, moving = state
    issued, *rest = times
    computing = computing if times[1] > issued else -1
    moving = moving if times[2] > issued else -1
    return (done, ram, aux, computing, moving), (issued, *(max(issued, at) for at in rest))


def _reads(task, v, i):
    return v >= 0 and task.deps[v] >> i & 1


def _running(task, used, more, computing, processor, start):
    """Whether the bytes fit beside the workspace of the operator that runs at that time."""
    beside = task.nodes[computing].workspace_bytes if computing >= 0 and processor > start else 0
    return task.fits(used + more + beside)
