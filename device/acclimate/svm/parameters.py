# SPDX-License-Identifier: MIT
"""Names and parameter table of the SVM solver; the only place that turns reals into integers.

`fill_float` and `fill_fixed` write the 16 numbers that every solver function takes as `par`.
`run` does work at once that comes in pieces: generators that yield often and return a result.
"""

from array import array
from math import ceil, floor

# status of start() and step(); below zero: nothing was changed
RUNNING = 0
CONVERGED = 1  # KKT gap below the tolerance
NO_PROGRESS = 2  # no step above the resolution of the state exists: best that it can do
NON_FINITE = 3  # a NaN, infinity or overflow turned up; alphas are those of the last good step
CAPPED = 4  # par[MAX_ITER] reached
WORK_TOO_SMALL = -1
BAD_ARGUMENT = -2
UNALIGNED = -3
UNSUPPORTED = -4  # this build lacks the state or kernel

# work[]: status, iterations, gap, bias, support vectors, warm-start position, then private
HEAD = 8
STATUS, N_ITER, GAP, BIAS, N_SUPPORT, PHASE = range(6)
# work[HEAD + k] = signed alpha of sample k, work[HEAD + n + k] = y - f(x_k) without bias

# par[]
PAR_COUNT = 16
(
    N_FEATURES,
    XTYPE,
    KERNEL,
    DEGREE,
    C_POS,
    C_NEG,
    SCALE,
    EPS,
    COEF0,
    GAMMA,
    GAMMA_SHIFT,
    WARM,
    MAX_ITER,
    K_SHIFT,
    K_STEPS,
    K_EXP,
) = range(PAR_COUNT)

GO_ON = 2  # par[WARM]: as 1, and what `work` holds of kernel values stays
INT8, UINT8, INT16, FLOAT32 = range(4)
LINEAR, POLY, RBF = range(3)
_LOG2_E = 1.4426950408889634


def run(pieces):
    """Result of a generator that does its work in pieces."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


def fill_float(
    par, n_features, xtype, kernel, c_pos, c_neg, eps, max_iter, gamma=1.0, coef0=0.0, degree=3
):
    """Parameters of the float state: `par` is array("f") of 16, gamma and coef0 as given."""
    head = (n_features, xtype, kernel, degree, c_pos, c_neg, 0, eps, coef0, gamma, 0, 0)
    par[:] = array("f", head + (max_iter, 0, 0, 0))


def fill_fixed(
    par, n_features, xtype, kernel, c_pos, c_neg, eps, max_iter, gamma=1.0, coef0=0.0, degree=3
):
    """Parameters of the fixed state: `par` is array("i") of 16; everything in feature units.

    If the stored integers are `s` times the real features, pass C / s**2 for the linear
    kernel and gamma / s**2 otherwise (C stays): the kernel values are then those of the reals.
    A polynomial (g x.y + c)**d is solved as (x.y + c / g)**d with C scaled by g**d, so its
    signed alphas come out multiplied by g**d.
    """
    if kernel == POLY:
        c_pos *= gamma**degree
        c_neg *= gamma**degree
    scale = coef = factor = shift = 0
    top = max(c_pos, c_neg)
    while top * 2.0**scale < 1 << 29 and scale < 120:
        scale += 1
    while top * 2.0**scale >= 1 << 30:
        scale -= 1
    c_pos = int(c_pos * 2.0**scale)
    c_neg = int(c_neg * 2.0**scale)
    eps = max(1, min(1 << 29, ceil(eps * 65536)))
    if kernel == POLY:
        coef = coef0 / gamma
        while abs(coef) >= 1 << 30:
            coef /= 2
            factor += 1
        coef = floor(coef + 0.5)
    elif kernel == RBF:
        value = gamma * _LOG2_E
        while value < 16384:
            value *= 2
            shift += 1
        while value >= 32768:
            value /= 2
            shift -= 1
        factor = int(value)
    head = (n_features, xtype, kernel, degree, c_pos, c_neg, scale, eps, coef, factor, shift, 0)
    par[:] = array("i", head + (max_iter, 0, 0, 0))
