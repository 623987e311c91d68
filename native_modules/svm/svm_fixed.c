/* SPDX-License-Identifier: MIT
 * Fixed-point state: 16-bit kernel values, Q16 gradient, 31-bit signed alphas, no float. */
#include "svm.h"

#if defined(SVM_FIXED)
#include "svm_dot.h"

#define BIG (1 << 30)
typedef int32_t num;
typedef int64_t wide;
typedef int16_t kval;
#define ROW_WORDS(n) (((n) + 1) >> 1)
#define STATE(name) svm_fixed_##name
typedef int32_t order; /* how alphas compare with their bounds */
#define ORDER(alpha) (alpha)
#define MAGNITUDE(b) (-(b))
#define ONE 65536
#define GOES_ON 0
#define FROM_INT32(dot) clamp16((dot) >> shift)
#define SHIFT(p) ((const int32_t *)(p)->par)[P_K_SHIFT]
#define LOWEST (-BIG)
#define HIGHEST (BIG - 1)

static int32_t clamp16(int32_t v) {
    return v > 32767 ? 32767 : v < -32767 ? -32767 : v;
}

static int64_t raw(const svm_problem *p, const void *a, const void *b) {
    return svm_integer_dot(a, b, p->d, p->type);
}

/* 2^14 exp(-gamma squared) as 2^-z: z in Q12, fraction by a quartic in Q15. */
static int32_t fixed_exp(const int32_t *par, int64_t squared) {
    int32_t shift = par[P_GAMMA_SHIFT] - par[P_K_SHIFT] - 12;
    uint32_t z = 0;
    squared >>= par[P_K_SHIFT];
    uint32_t reduced = squared > 0x1ffff ? 0x1ffff : (uint32_t)squared;
    if (shift < 0) {
        z = reduced ? 65536 : 0;
    } else if (shift <= 31) {
        z = reduced * (uint32_t)par[P_GAMMA] >> shift;
    }
    uint32_t whole = z >> 12;
    if (whole > 14) {
        return 0;
    }
    int32_t f = (int32_t)(z & 4095) << 3;
    int32_t v = -1744 + (224 * f >> 15);
    v = 7846 + (v * f >> 15);
    v = -22710 + (v * f >> 15);
    v = 32768 + (v * f >> 15);
    return v >> (whole + 1);
}

static int32_t fixed_power(const int32_t *par, int32_t base) {
    int32_t v = base;
    for (int32_t k = 1; k < par[P_DEGREE]; k++) {
        v = clamp16(v * base >> (14 + ((par[P_K_STEPS] >> k) & 1)));
    }
    return v;
}

static int64_t coefficient(const int32_t *par) {
    return par[P_COEF0] * ((int64_t)1 << par[P_GAMMA]);
}

static int32_t narrow(int64_t v, int32_t shift) {
    v >>= shift;
    return v > 32767 ? 32767 : v < -32767 ? -32767 : (int32_t)v;
}

int32_t svm_fixed_value(const svm_problem *p, const void *a, const void *b) {
    const int32_t *par = p->par;
    if (p->kind == SVM_RBF) {
        return fixed_exp(par, svm_integer_distance(a, b, p->d, p->type));
    }
    int64_t v = raw(p, a, b);
    if (p->kind == SVM_POLY) {
        return fixed_power(par, narrow(v + coefficient(par), par[P_K_SHIFT]));
    }
    return narrow(v, par[P_K_SHIFT]);
}

#include "svm_state.h"

#if defined(SVM_TRAINING)
/* Whether the largest distance that this shift tells apart has a kernel value of 0: no need to
 * give up bits for larger ones. */
static int32_t reaches_zero(const int32_t *par, int32_t k_shift) {
    int32_t shift = par[P_GAMMA_SHIFT] - k_shift - 12;
    return shift < 0 || (shift <= 31 && 0x1ffffu * (uint32_t)par[P_GAMMA] >> shift >= 15u << 12);
}

/* Choose the shifts from the largest x.x, so that a kernel value fills 16 bits. All rows of the
 * store count, as those of other classes are answered as well. */
static void prepare(const svm_problem *p) {
    int32_t *par = p->par;
    int64_t top = 0;
    int32_t shift = 0, steps = 0, exponent = 0;
    const uint8_t *a = p->x, *end = a + p->x_bytes;
    for (; a < end; a += p->stride) {
        int64_t v = raw(p, a, a);
        top = v > top ? v : top;
    }
    if (p->kind == SVM_POLY) {
        int64_t c = coefficient(par);
        top += c < 0 ? -c : c;
    }
    if (p->kind == SVM_RBF) {
        while (top * 4 >> shift > 0x1ffff && !reaches_zero(par, shift)) {
            shift++;
        }
        exponent = -14;
    } else {
        while (top >> shift > 32767) {
            shift++;
        }
        exponent = shift;
    }
    if (p->kind == SVM_POLY) {
        int32_t first = (int32_t)(top >> shift), value = first;
        exponent = shift * par[P_DEGREE];
        for (int32_t k = 1; k < par[P_DEGREE]; k++) {
            int32_t by = value * first >> 14 <= 32767 ? 14 : 15;
            steps |= (by - 14) << k;
            value = value * first >> by;
            exponent += by;
        }
    }
    par[P_K_SHIFT] = shift;
    par[P_K_STEPS] = steps;
    par[P_K_EXP] = exponent;
}

static int32_t is_bad(int32_t v) {
    (void)v;
    return 0;
}

/* b / q with a mantissa of 14 bits, times 2^(scale - 16), at most 2^30. */
static int32_t quotient(int32_t b, int32_t q, int32_t scale) {
    int32_t e = scale - 16;
    while (b < BIG) {
        b <<= 1;
        e--;
    }
    uint32_t m = svm_quotient((uint32_t)b, (uint32_t)q);
    while (m >= 16384) {
        m >>= 1;
        e++;
    }
    if (e > 16) {
        return BIG;
    }
    return e >= 0 ? (int32_t)(m << e) : (int32_t)(m >> (e < -31 ? 31 : -e));
}

/* Leading 14 bits of t; *shift becomes how far a product with them is moved down to Q16. */
static int32_t split(const svm_problem *p, uint32_t t, int32_t *shift) {
    const int32_t *par = p->par;
    int32_t s = par[P_SCALE] - 16 - par[P_K_EXP];
    while (t >= 16384) {
        t >>= 1;
        s--;
    }
    *shift = s;
    return (int32_t)t;
}

/* Whether a change of t keeps every |v| below 2^30, by the bound on kernel values. */
static int32_t is_safe(const svm_problem *p, int32_t t) {
    const int32_t *work = p->work;
    int32_t shift;
    int32_t m = split(p, (uint32_t)t, &shift);
    uint32_t bound = (uint32_t)(m + 1) * 2 * (uint32_t)(work[W_TOP] + 1);
    uint32_t room = BIG - 1 - (uint32_t)work[W_MAG];
    if (shift >= 0) {
        return bound >> (shift > 31 ? 31 : shift) < room;
    }
    return bound < room >> (shift < -31 ? 31 : -shift);
}

/* v -= t (row - other), in parts of t of 14 bits; other may be a null pointer. */
SVM_HOT static void apply(const svm_problem *p, int32_t t, const kval *row, const kval *other) {
    int32_t *work = p->work;
    int32_t n = p->n;
    int32_t *v = work + SVM_HEAD + n;
    uint32_t left = t < 0 ? (uint32_t)-t : (uint32_t)t;
    uint32_t mag = (uint32_t)work[W_MAG];
    while (left) {
        int32_t shift;
        int32_t m = split(p, left, &shift);
        int32_t e = ((int32_t *)p->par)[P_SCALE] - 16 - ((int32_t *)p->par)[P_K_EXP] - shift;
        left -= (uint32_t)m << e;
        m = t < 0 ? -m : m;
        if (shift > 30) {
            break;
        }
        int32_t up = shift < 0 ? -shift : 0;
        int32_t down = shift > 0 ? shift : 0;
        int32_t add = down ? 1 << (down - 1) : 0;
        for (int32_t k = 0; k < n; k++) {
            int32_t kd = row[k];
            if (other) {
                kd -= other[k];
            }
            int32_t now = v[k] - (int32_t)((uint32_t)((m * kd + add) >> down) << up);
            v[k] = now;
            mag |= (uint32_t)(now ^ (now >> 31));
        }
    }
    work[W_MAG] = (int32_t)mag;
}

static int32_t subtract(const svm_problem *p, int32_t k, int32_t b) {
    if (!is_safe(p, b < 0 ? -b : b)) {
        return 0;
    }
    apply(p, b, kernel_row(p, k, -1), 0);
    return 1;
}

/* Second-order choice of the partner of i: gain^2 / q, gains cut to 8 bits, no division. */
SVM_HOT static int32_t partner(const svm_problem *p, int32_t i, int32_t top, int32_t gap,
    const kval *row) {
    const int32_t *work = p->work;
    int32_t n = p->n;
    const int32_t *beta = work + SVM_HEAD;
    const int32_t *v = beta + n;
    const kval *diagonal = (const kval *)(v + n);
    int32_t low = -((int32_t *)p->par)[P_C_NEG];
    int32_t by = 0, half = work[W_TOP] > 16383, kii = diagonal[i], j = -1;
    uint32_t best = 0, best_q = 1;
    while (gap >> by > 255) {
        by++;
    }
    for (int32_t k = 0; k < n; k++) {
        int32_t b = (top - v[k]) >> by;
        if (b > 0 && beta[k] > (p->rows[k] < 0 ? low : 0)) {
            int32_t q = (kii + diagonal[k] - 2 * row[k]) >> half;
            uint32_t uq = q < 1 ? 1 : (uint32_t)q;
            uint32_t gain = (uint32_t)(b * b);
            if (gain * best_q > best * uq) {
                best = gain;
                best_q = uq;
                j = k;
            }
        }
    }
    return j;
}

static int32_t iterate(const svm_problem *p, bounds *e) {
    int32_t *work = p->work;
    const int32_t *par = p->par;
    int32_t *beta = work + SVM_HEAD;
    const int32_t *v = beta + p->n;
    const kval *diagonal = (const kval *)(v + p->n);
    extremes(p, e);
    int32_t i = e->index, gap = e->top - e->bottom;
    if (gap <= par[P_EPS]) {
        return SVM_CONVERGED;
    }
    const kval *row = kernel_row(p, i, -1);
    int32_t j = partner(p, i, e->top, gap, row);
    int32_t q = diagonal[i] + diagonal[j] - 2 * row[j];
    int32_t t = quotient(e->top - v[j], q < 1 ? 1 : q, par[P_SCALE] - par[P_K_EXP]);
    int32_t room = (p->rows[i] < 0 ? 0 : par[P_C_POS]) - beta[i];
    t = t < room ? t : room;
    room = beta[j] + (p->rows[j] < 0 ? par[P_C_NEG] : 0);
    t = t < room ? t : room;
    while (t && !is_safe(p, t)) {
        t >>= 1;
    }
    if (!t) {
        return SVM_NO_PROGRESS;
    }
    const kval *other = kernel_row(p, j, i);
    beta[i] += t;
    beta[j] -= t;
    apply(p, t, row, other);
    return SVM_RUNNING;
}

static int32_t half_of(int32_t v) {
    return v >> 1;
}

static int32_t ratio(int32_t total, int32_t count) {
    int32_t q = (int32_t)svm_quotient((uint32_t)(total < 0 ? -total : total), (uint32_t)count);
    return total < 0 ? -q : q;
}

static int32_t is_trusted(int32_t gap, int32_t n) {
    return gap < (int32_t)svm_quotient(BIG, (uint32_t)n);
}

#define DIAGONAL(p, a) (kval)svm_fixed_value(p, a, a)

#include "svm_run.h"
#endif
#include "svm_fixed_model.h"
#endif
