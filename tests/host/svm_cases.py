# SPDX-License-Identifier: MIT
"""Problems for the SVM core tests, and one way to run them through any of the solvers."""

from array import array

from acclimate.svm import parameters as p
from acclimate.svm import solver as _svm_py

CODES = "bBhf"


class Fit:
    """A trained binary machine with its buffers."""

    def __init__(
        self,
        core,
        x,
        rows,
        d,
        xtype,
        kernel,
        is_float,
        *,
        c=1.0,
        eps=1e-3,
        gamma=0.01,
        coef0=1.0,
        degree=3,
        slots=2,
        iters=1000,
        cap=20000,
        warm=None,
    ):
        self.core, self.x, self.d, self.xtype = core, array(CODES[xtype], x), d, xtype
        self.rows = array("h", rows)
        code = "f" if is_float else "i"
        self.par = array(code, [0] * p.PAR_COUNT)
        fill = p.fill_float if is_float else p.fill_fixed
        fill(self.par, d, xtype, kernel, c, c, eps, cap, gamma, coef0, degree)
        n = len(rows)
        self.work = array(code, [0] * core.work_words(n, is_float, slots))
        self.out = array(code, [0])
        if warm is not None:
            self.par[p.WARM] = 1
            self.work[p.HEAD : p.HEAD + n] = array(code, warm)
        self.status = core.start(self.work, self.x, self.rows, self.par)
        while self.status == p.RUNNING:
            self.status = core.step(self.work, self.x, self.rows, self.par, iters)

    @property
    def alphas(self):
        return self.work[p.HEAD : p.HEAD + len(self.rows)]

    @property
    def state(self):
        """Everything that must agree bit for bit: head, alphas, gradient, scales."""
        n = len(self.rows)
        return list(self.work[:5]), list(self.work[p.HEAD : p.HEAD + 2 * n]), list(self.par)

    def decide(self, row):
        row = array(self.x.typecode, row)
        self.core.decide(
            self.out, 0, self.alphas, self.rows, self.x, row, self.par, self.work[p.BIAS]
        )
        return self.out[0]

    def weights(self):
        words = 2 + (self.d if self.work.typecode == "f" else (self.d + 1) // 2)
        w = array(self.work.typecode, [0] * words)
        self.core.collapse(w, self.work, self.x, self.rows, self.par)
        return w

    def linear(self, w, row):
        self.core.linear(self.out, 0, w, array(self.x.typecode, row), self.xtype)
        return self.out[0]


def random_problem(random, xtype, n, d):
    """Rows and signed row numbers, both classes present, some rows repeated."""
    low, high = {0: (-128, 127), 1: (0, 255), 2: (-32768, 32767), 3: (-4, 4)}[xtype]
    span = random.choice([1, 7, high])
    x = []
    for k in range(n):
        if k and random.random() < 0.2:
            x += x[-d:]
        elif xtype == 3:
            x += [random.uniform(low, high) for _ in range(d)]
        else:
            x += [random.randint(max(low, -span), min(high, span)) for _ in range(d)]
    signs = [0, 1] + [random.getrandbits(1) for _ in range(n - 2)]
    return x, [~k if s else k for k, s in enumerate(signs)]


def same_everywhere(core, random, rounds):
    """Assert that `core` equals the pure-Python solver bit for bit on random problems."""
    for _ in range(rounds):
        xtype, kernel = random.randrange(3), random.randrange(3)
        n, d = random.randint(2, 14), random.randint(1, 9)
        x, rows = random_problem(random, xtype, n, d)
        options = {
            "c": random.choice([1e-6, 0.01, 1.0, 1000.0]),
            "gamma": random.choice([1e-7, 1e-4, 0.03, 2.0]),
            "coef0": random.choice([0.0, 1.0, -0.5]),
            "degree": random.randint(1, 5),
            "cap": random.choice([1, 5, 400]),
        }
        one = Fit(_svm_py, x, rows, d, xtype, kernel, False, slots=n, **options)
        two = Fit(core, x, rows, d, xtype, kernel, False, iters=7, **options)
        case = (x, rows, d, xtype, kernel, options)
        assert one.status == two.status and one.state == two.state, case
        row = [random.choice(x) for _ in range(d)]
        assert one.decide(row) == two.decide(row), case
        if kernel == p.LINEAR:
            w = one.weights()
            assert w == two.weights(), case
            assert one.linear(w, row) == two.linear(w, row), case
        again = Fit(core, x, rows, d, xtype, kernel, False, warm=two.alphas, **options)
        pure = Fit(_svm_py, x, rows, d, xtype, kernel, False, warm=two.alphas, **options)
        assert again.state == pure.state, case
