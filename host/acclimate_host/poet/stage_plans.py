# SPDX-License-Identifier: MIT
"""Between a plan (list of steps) and the columns of the stage relaxation, which knows no order."""

from .column_values import tidy


def stage_values(model, plan):
    """Column values that describe a plan, or None where the model has no column for a step."""
    graph = model.graph
    values, here, made, stage, noted = [0.0] * len(model.program.cost), set(), set(), 0, 0
    for kind, name in plan:
        i = graph.index[name]
        if kind == "free":
            here.discard(i)
            continue
        if noted < stage and kind != "pageout":
            for j, column in model.staying[noted].items():
                values[column] = float(j in here)
            noted = stage
        column = None
        if kind == "pageout":
            column = model.out.get(i)
        elif kind == "pagein":
            column = model.back.get((i, stage))
        elif i in made:
            column = model.again.get((i, stage))
        if column is not None and values[column]:
            column = model.twice.get((i, stage), column)
        if column is not None:
            values[column] = 1.0
        elif kind != "compute" or i in made:
            return None
        if kind == "compute" and i not in made:
            made.add(i)
            stage += 1
        if kind != "pageout":
            here.add(i)
    return values


def realised(model, values):
    """Yield plans that do in each stage what the columns say, in one order and another."""

    def on(column):
        return column is not None and values[column] > 0.5

    wanted = {}
    for (v, t), column in model.again.items():
        if on(column):
            wanted.setdefault(t, []).append(v)
    for lazy in (False, True):
        steps = _Run(model, on, wanted, lazy).steps()
        if steps is not None:
            yield tidy(model.graph, steps)


class _Run:
    """Executes stage after stage; lazy: nodes are computed again just when they are read."""

    def __init__(self, model, on, wanted, lazy):
        self.model, self.on, self.wanted, self.lazy = model, on, wanted, lazy
        graph = model.graph
        self.reads = [sorted({graph.index[d] for d in node.deps}) for node in graph.nodes]
        self.ids = [node.id for node in graph.nodes]
        self.here, self.made, self.found = set(), set(), []

    def steps(self):
        for t in range(len(self.ids)):
            self.stage, self.todo = t, set(self.wanted.get(t, ()))
            staying = {i for i, c in self.model.staying[t].items() if self.on(c)}
            if self.lazy:
                done = self._compute(t, staying)
                rest = sorted(self.todo & staying - self.here)
                if rest:  # to stay, but read by nothing in this stage
                    return None
            else:
                done = all(self._compute(v, staying) for v in sorted(self.todo))
                done = done and self._compute(t, staying)
            if not done:
                return None
            for i in sorted(self.here - staying - {t}):
                self._free(i)
        return self.found

    def _compute(self, v, staying):
        back = self.model.back
        for i in self.reads[v]:
            if i in self.here:
                continue
            if self.lazy and i in self.todo:
                if not self._compute(i, staying):
                    return False
            elif self.on(back.get((i, self.stage))):
                self.found.append(("pagein", self.ids[i]))
                self.here.add(i)
            else:
                return False
        self.todo.discard(v)
        if v in self.here:
            return True
        self.found.append(("compute", self.ids[v]))
        self.here.add(v)
        if v not in self.made and self.on(self.model.out.get(v)):
            self.found.append(("pageout", self.ids[v]))
        self.made.add(v)
        needed = {*staying, *self.reads[self.stage], v}  # the lazy ones still to do are in todo
        for u in self.todo:
            needed.update(self.reads[u])
        for i in sorted(self.here - needed):
            self._free(i)
        return True

    def _free(self, i):
        self.found.append(("free", self.ids[i]))
        self.here.discard(i)
