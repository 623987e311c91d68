/* SPDX-License-Identifier: MIT
 * Float state: float32 kernel values, gradient and signed alphas. No libm. */
#include "svm.h"

#if defined(SVM_FLOAT)
#include "svm_dot.h"

typedef float num;
typedef float wide;
typedef float kval;
#define ROW_WORDS(n) (n)
#define STATE(name) svm_float_##name
#define ONE 1
#define GOES_ON 1
#define FROM_INT32(dot) (float)(dot)
#define SHIFT(p) 0
#define HIGHEST 3.0e38f
#define LOWEST (-3.0e38f)
#define TINY 1e-12f

#if defined(SVM_TRAINING)
/* Alphas compare with their bounds by their bits: there is no -0 among them. */
typedef int32_t order;
static inline int32_t order_of(float v) {
    svm_bits b;
    b.f = v;
    return b.i;
}
#define ORDER(alpha) order_of(alpha)
#define MAGNITUDE(b) ((b) & 0x7fffffff)
#endif

#define is_bad svm_is_huge

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FP) && !defined(SVM_PLAIN)
/* Four or eight items at once; VMLA rounds the product and the sum as the loop below does. */
#define LOAD8 "vldmia %0!, {s0-s7}\n\tvldmia %1!, {s8-s15}\n\t"
#define LOAD4 "vldmia %0!, {s0-s3}\n\tvldmia %1!, {s8-s11}\n\t"
#define EACH4(step) step(0, 8) step(1, 9) step(2, 10) step(3, 11)
#define EACH8(step) EACH4(step) step(4, 12) step(5, 13) step(6, 14) step(7, 15)
#define DIFFERENCE(i, j) "vsub.f32 s" #i ", s" #i ", s" #j "\n\t"
#define SQUARE(i, j) "vmla.f32 %2, s" #i ", s" #i "\n\t"
#define PRODUCT(i, j) "vmla.f32 %2, s" #i ", s" #j "\n\t"
#define MANY(text) \
    __asm__ (text : "+r" (a), "+r" (b), "+t" (acc) : : "memory", "s0", "s1", "s2", "s3", "s4", \
        "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15")
#define BY_MANY(step8, step4) \
    for (; d >= 8; d -= 8) { \
        MANY(LOAD8 step8); \
    } \
    if (d >= 4) { \
        d -= 4; \
        MANY(LOAD4 step4); \
    }
#else
#define BY_MANY(step8, step4)
#endif

float svm_dot_f32(const float *a, const float *b, int32_t d, float acc) {
    BY_MANY(EACH8(PRODUCT), EACH4(PRODUCT))
#if defined(SVM_FOUR)
    for (; d >= 4; d -= 4, a += 4, b += 4) { /* in the same order as below */
        acc += a[0] * b[0];
        acc += a[1] * b[1];
        acc += a[2] * b[2];
        acc += a[3] * b[3];
    }
#endif
    while (--d >= 0) {
        acc += *a++ * *b++;
    }
    return acc;
}

/* int64 to float without a runtime helper: 16-bit sums stay below 2^62. */
static float wide_to_float(int64_t v) {
    return (float)(int32_t)(v >> 24) * 16777216.0f + (float)(int32_t)(v & 0xffffff);
}

static float raw(const svm_problem *p, const void *a, const void *b) {
    return p->type == SVM_FLOAT32 ? svm_dot_f32(a, b, p->d, 0)
           : wide_to_float(svm_integer_dot(a, b, p->d, p->type));
}

static float distance_f32(const float *a, const float *b, int32_t d) {
    float acc = 0;
    BY_MANY(EACH8(DIFFERENCE) EACH8(SQUARE), EACH4(DIFFERENCE) EACH4(SQUARE))
    while (--d >= 0) {
        float diff = *a++ - *b++;
        acc += diff * diff;
    }
    return acc;
}

/* Squared distance: of float rows as a sum of squared differences, of integers exactly. */
static float distance(const svm_problem *p, const void *a, const void *b) {
    if (p->type != SVM_FLOAT32) {
        return wide_to_float(svm_integer_distance(a, b, p->d, p->type));
    }
    return distance_f32(a, b, p->d);
}

/* exp(-z) for z >= 0: 2^-n by the exponent field, the fraction by a polynomial. */
static float exp_minus(float z) {
    svm_bits r;
    z *= 1.44269504f;
    if (!(z < 120.0f)) {
        return z - z; /* 0, or the NaN that came in; infinity becomes NaN too */
    }
    int32_t n = (int32_t)z;
    float f = z - (float)n;
    r.f = -9.47553646e-04f;
    r.f = r.f * f + 9.21087556e-03f;
    r.f = r.f * f - 5.52996071e-02f;
    r.f = r.f * f + 2.40179489e-01f;
    r.f = r.f * f - 6.93143202e-01f;
    r.f = r.f * f + 1.0f;
    r.i -= n * 0x800000;
    return r.f;
}

float svm_float_value(const svm_problem *p, const void *a, const void *b) {
    const float *par = p->par;
    if (p->kind == SVM_RBF) {
        return exp_minus(par[P_GAMMA] * distance(p, a, b));
    }
    float v = raw(p, a, b);
    if (p->kind == SVM_POLY) {
        float base = par[P_GAMMA] * v + par[P_COEF0];
        v = 1.0f;
        for (int32_t k = (int32_t)par[P_DEGREE]; k > 0; k--) {
            v *= base;
        }
    }
    return v;
}

#include "svm_state.h"

#if defined(SVM_TRAINING)
static void prepare(const svm_problem *p) {
    (void)p;
}

/* v -= t (row - other) */
SVM_HOT static void apply(const svm_problem *p, float t, const float *row, const float *other) {
    float *v = (float *)p->work + SVM_HEAD + p->n;
    for (int32_t k = 0; k < p->n; k++) {
        v[k] -= t * (row[k] - other[k]);
    }
}

static int32_t subtract(const svm_problem *p, int32_t k, float b) {
    float *v = (float *)p->work + SVM_HEAD + p->n;
    const float *row = kernel_row(p, k, -1);
    for (int32_t t = 0; t < p->n; t++) {
        v[t] -= b * row[t];
    }
    return 1;
}

/* Second-order choice of the partner of i: gain^2 / q by cross-multiplication. */
SVM_HOT static int32_t partner(const svm_problem *p, int32_t i, float top, const float *row,
    float *q_of) {
    int32_t n = p->n, j = -1;
    const float *beta = (const float *)p->work + SVM_HEAD;
    const float *v = beta + n;
    const float *diagonal = v + n;
    const int16_t *rows = p->rows;
    int32_t c_neg = ORDER(((const float *)p->par)[P_C_NEG]);
    float kii = diagonal[i], best = 0, best_q = 1.0f;
    for (int32_t k = 0; k < n; k++) {
        int32_t own = ORDER(beta[k]);
        if (rows[k] < 0 ? MAGNITUDE(own) >= c_neg : own == 0) {
            continue;
        }
        float b = top - v[k];
        if (b > 0) {
            float q = kii + diagonal[k] - (row[k] + row[k]);
            if (!(q > TINY)) {
                q = TINY;
            }
            b *= b;
            if (b * best_q > best * q) {
                best = b;
                best_q = q;
                j = k;
            }
        }
    }
    *q_of = best_q;
    return j;
}

static int32_t iterate(const svm_problem *p, bounds *e) {
    const float *par = p->par;
    float *beta = (float *)p->work + SVM_HEAD;
    const float *v = beta + p->n;
    extremes(p, e);
    int32_t i = e->index;
    float gap = e->top - e->bottom;
    if (!(gap < HIGHEST)) {
        return SVM_NON_FINITE;
    }
    if (gap <= par[P_EPS]) {
        return SVM_CONVERGED;
    }
    const float *row = kernel_row(p, i, -1);
    float q;
    int32_t j = partner(p, i, e->top, row, &q);
    if (j < 0) {
        return SVM_NON_FINITE;
    }
    float t = svm_divide(e->top - v[j], q);
    float bi = beta[i], bj = beta[j], high = par[P_C_POS], low = 0;
    if (p->rows[i] < 0) {
        high = 0;
    }
    if (p->rows[j] < 0) {
        low = -par[P_C_NEG];
    }
    float room_i = high - bi, room_j = bj - low;
    t = t < room_i ? t : room_i;
    t = t < room_j ? t : room_j;
    beta[i] = t == room_i ? high : bi + t; /* bounds are reached exactly */
    beta[j] = t == room_j ? low : bj - t;
    if (beta[i] == bi && beta[j] == bj) {
        return SVM_NO_PROGRESS;
    }
    apply(p, t, row, kernel_row(p, j, i));
    return SVM_RUNNING;
}

static float half_of(float v) {
    return v * 0.5f;
}

static float ratio(float total, float count) {
    return svm_divide(total, count);
}

static int32_t is_trusted(float gap, int32_t n) {
    (void)n;
    return gap < HIGHEST;
}

#define DIAGONAL(p, a) svm_float_value(p, a, a)

#include "svm_run.h"
#endif

#if defined(SVM_ANSWERS)
void svm_float_decide(const svm_problem *p, const void *row, const float *bias, float *out) {
    const float *beta = p->work;
    float total = *bias;
    for (int32_t k = 0; k < p->n; k++) {
        if (beta[k] != 0) {
            total += beta[k] * svm_float_value(p, row, sample(p, k));
        }
    }
    *out = total;
}
#endif

#if defined(SVM_TRAINING)
void svm_float_collapse(const svm_problem *p, float *w) {
    const float *work = p->work;
    w[0] = 0;
    w[1] = work[W_BIAS];
    for (int32_t t = 2; t < p->d + 2; t++) {
        w[t] = 0;
    }
    for (int32_t k = 0; k < p->n; k++) {
        float beta = work[SVM_HEAD + k];
        const void *a = sample(p, k);
        for (int32_t t = 0; beta != 0 && t < p->d; t++) {
            float x;
            if (p->type == SVM_FLOAT32) {
                x = ((const float *)a)[t];
            } else {
                x = (float)svm_integer(a, t, p->type);
            }
            w[2 + t] += beta * x;
        }
    }
}
#endif
#endif
