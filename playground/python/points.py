# SPDX-License-Identifier: MIT
"""Draw points: a machine is trained on them, and what it would say everywhere is a field."""

from array import array
from time import ticks_diff, ticks_us

from acclimate.svm import SVM

try:
    from wasm_svm import field
except ImportError:
    field = None

_work = None  # a training that goes step by step: (machine, its generator)


def _machine(kernel, C, gamma, degree):
    return SVM(
        kernel=kernel, C=C, gamma=gamma or None, degree=degree, coef0=1.0, storage="float32"
    )


def _rows(points):
    """Points of the page, [x, y, class], as what a board would train on."""
    flat = array("f")
    for x, y, _ in points:
        flat.extend(array("f", [x, y]))
    return flat, bytearray([point[2] for point in points])


def picture(machine, box):
    """Decision values over the grid of `box` (x, y, steps, columns, lines), one grid a pair."""
    size = box[4] * box[5]
    pairs = len(machine._model.pairs)
    out = array("f", bytes(4 * size * pairs))
    if field is not None:
        field(machine, array("f", box), out)
        return out
    sign = -1 if pairs == 1 else 1
    for k in range(size):
        row = [box[0] + box[2] * (k % box[4]), box[1] + box[3] * (k // box[4])]
        values = machine.decision(row)
        for p in range(pairs):
            out[p * size + k] = sign * (values if pairs == 1 else values[p])
    return out


def _shown(machine, box, labels, spent_us):
    model = machine._model
    vectors = sorted({r if r >= 0 else ~r for pair in model.pairs for r in pair.rows or ()})
    if model.pairs[0].w is not None:
        vectors = []
    return {
        "classes": list(model.classes),
        "vectors": vectors,
        "count": machine.n_support,
        "points": len(labels),
        "steps": machine.n_iter,
        "converged": machine.converged,
        "warning": machine.warning,
        "fit_ms": spent_us / 1000,
        "field": picture(machine, box),
    }


def train(points, box, kernel, C, gamma, degree):
    """Train to the end; what came of it, with the field."""
    X, y = _rows(points)
    if len(set(y)) < 2:
        return {"need": "Draw points of at least two classes."}
    machine = _machine(kernel, C, gamma, degree)
    start = ticks_us()
    machine.fit(X, y)
    spent = ticks_diff(ticks_us(), start)
    found = _shown(machine, box, y, spent)
    if kernel == "linear":
        found["vectors"] = _near(machine, X, y)
    return found


def _near(machine, X, y):
    """Rows on the margin or inside it: a linear machine keeps weights, not rows."""
    found = []
    if len(machine._model.classes) > 2:
        return found
    low = min(y)
    for k in range(len(y)):
        value = machine.decision(X[2 * k : 2 * k + 2])
        if (value if y[k] != low else -value) < 1.001:
            found.append(k)
    return found


def begin(points, kernel, C, gamma, degree):
    """Begin a training that `advance` goes on with, a few solver steps at a time."""
    global _work
    X, y = _rows(points)
    if len(set(y)) < 2:
        return {"need": "Draw points of at least two classes."}
    machine = _machine(kernel, C, gamma, degree)
    _work = [machine, iter(machine.fit_steps(X, y, steps=1)), 0, X, y]
    return {}


def advance(box, count):
    """Some more solver steps: the machine as far as it got, as a reset in between would find."""
    machine, steps, done, X, y = _work
    for _ in range(count):
        offered = next(steps, None)
        if offered is None:
            break
        done = offered
    _work[2] = done
    ended = offered is None
    if not ended and not done:
        return {"done": False, "steps": 0}
    if not ended:
        machine = _so_far(machine)
    found = _shown(machine, box, y, 0)
    found["steps"] = machine.n_iter if ended else done
    found["done"] = ended
    return found


def _so_far(machine):
    """A second machine around the state of the training, which goes on untouched."""
    other = _machine(machine.kernel_name, machine.C, machine.gamma, machine.degree)
    other._job = machine._job
    other._ready()
    return other


def _warm():
    """Load all that a training needs, so that the times that the page shows are of training."""
    SVM(kernel="rbf", storage="float32").fit(array("f", [0, 0, 1, 1]), b"\x00\x01")


_warm()
