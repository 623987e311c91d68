/* SPDX-License-Identifier: MIT
 * SVM solver core: no MicroPython header, no allocation, no libm, every call bounded.
 * The layouts of work, par and w are in docs/svm_numerics.md; acclimate/svm/solver.py is the twin. */
#ifndef ACCLIMATE_SVM_H
#define ACCLIMATE_SVM_H

#include <stdint.h>

#if !defined(SVM_NO_FIXED)
#define SVM_FIXED 1
#endif
#if !defined(SVM_NO_FLOAT)
#define SVM_FLOAT 1
#endif

/* A module that only answers rows, or only trains, leaves the other half out. */
#if !defined(SVM_NO_TRAINING)
#define SVM_TRAINING 1
#endif
#if !defined(SVM_NO_ANSWERS)
#define SVM_ANSWERS 1
#endif

/* The state of a problem; a build with one state refuses the other (svm.c). */
#if defined(SVM_FIXED) && defined(SVM_FLOAT)
#define SVM_IS_FLOAT(p) ((p)->is_float)
#elif defined(SVM_FIXED)
#define SVM_IS_FLOAT(p) 0
#else
#define SVM_IS_FLOAT(p) 1
#endif

enum {
    SVM_RUNNING = 0,
    SVM_CONVERGED = 1,
    SVM_NO_PROGRESS = 2,
    SVM_NON_FINITE = 3,
    SVM_CAPPED = 4,
    SVM_WORK_TOO_SMALL = -1,
    SVM_BAD_ARGUMENT = -2,
    SVM_UNALIGNED = -3,
    SVM_UNSUPPORTED = -4,
};

/* par[P_WARM]: alphas are those in work; and kernel rows, too. */
enum { SVM_WARM = 1, SVM_GO_ON = 2 };
enum { SVM_INT8, SVM_UINT8, SVM_INT16, SVM_FLOAT32 };
enum { SVM_LINEAR, SVM_POLY, SVM_RBF };
#if defined(SVM_WEIGHTS) /* rows of bytes only */
#define SVM_IS(type, which) ((which) <= SVM_UINT8 && (type) == (which))
#else
#define SVM_IS(type, which) ((type) == (which))
#endif

/* work */
enum { W_STATUS, W_ITER, W_GAP, W_BIAS, W_COUNT, W_PHASE, W_MAG, W_TOP, SVM_HEAD };

/* par */
enum {
    P_FEATURES, P_XTYPE, P_KERNEL, P_DEGREE, P_C_POS, P_C_NEG, P_SCALE, P_EPS,
    P_COEF0, P_GAMMA, P_GAMMA_SHIFT, P_WARM, P_MAX_ITER, P_K_SHIFT, P_K_STEPS, P_K_EXP,
    SVM_PARS
};

typedef struct {
    void *work;          /* int32_t or float, `words` of them */
    const void *x;       /* stored rows */
    const int16_t *rows; /* r: row r of class +1; ~r: row r of class -1 */
    void *par;           /* SVM_PARS of int32_t or float */
    int32_t words;
    int32_t x_bytes;
    int32_t n;
    int32_t is_float;
    int32_t is_real; /* a decision becomes a float also where it was summed in integers */
    int32_t d, type, kind, stride; /* set by every call from par; stride is bytes of a row */
} svm_problem;

int32_t svm_work_words(int32_t n, int32_t is_float, int32_t slots);
int32_t svm_start(svm_problem *p);
int32_t svm_step(svm_problem *p, int32_t iterations);

/* p->work holds the signed alphas only; bias is an int32_t or float. SVM_NON_FINITE when the
 * value is not finite: the row holds a NaN, or it is too large. */
int32_t svm_decide(svm_problem *p, const void *row, int32_t row_bytes, const void *bias,
    void *out);
int32_t svm_collapse(svm_problem *p, void *w, int32_t w_bytes);
/* is_float: bit 0: w is float; bit 1: out is, and then holds the real value. */
int32_t svm_linear(const void *w, int32_t w_bytes, const void *row, int32_t row_bytes,
    int32_t xtype, int32_t is_float, void *out);
/* Row a of p->x against row b of x; p->n is 0. */
int32_t svm_kernel(svm_problem *p, int32_t a, const void *x, int32_t x_bytes, int32_t b,
    void *out);
/* n_classes < 0: turns the sign of the first of `decisions`, a float, as scikit-learn sees it. */
int32_t svm_vote(int32_t *decisions, int32_t n_classes);

/* The two states (svm_fixed.c, svm_float.c); arguments were checked. */
int32_t svm_fixed_words(int32_t n, int32_t slots);
int32_t svm_fixed_start(const svm_problem *p);
int32_t svm_fixed_step(const svm_problem *p, int32_t iterations);
/* Kernel of rows a and b. */
int32_t svm_fixed_value(const svm_problem *p, const void *a, const void *b);
void svm_fixed_decide(const svm_problem *p, const void *row, const int32_t *bias, int32_t *out);
void svm_fixed_collapse(const svm_problem *p, int32_t *w);
int32_t svm_float_words(int32_t n, int32_t slots);
int32_t svm_float_start(const svm_problem *p);
int32_t svm_float_step(const svm_problem *p, int32_t iterations);
float svm_float_value(const svm_problem *p, const void *a, const void *b);
/* acc + a . b, summed in order. */
float svm_dot_f32(const float *a, const float *b, int32_t d, float acc);
void svm_float_decide(const svm_problem *p, const void *row, const float *bias, float *out);
void svm_float_collapse(const svm_problem *p, float *w);

/* The four loops that run once a sample and iteration; the rest is built for size. */
#if defined(__GNUC__) && !defined(__clang__)
#define SVM_HOT __attribute__((optimize("O2", "tree-ch"), noinline))
#else
#define SVM_HOT
#endif

#if defined(__ARM_ARCH_6M__)
/* No divide instruction: 40 bytes here instead of 750 from the compiler's library. */
uint32_t svm_quotient(uint32_t a, uint32_t b);
#else
static inline uint32_t svm_quotient(uint32_t a, uint32_t b) {
    return a / b;
}
#endif

/* Feature k of an integer row (svm_linear.c). */
int32_t svm_integer(const void *row, int32_t k, int32_t xtype);

#if defined(SVM_FIXED)
/* Store v, or the float v / 2^shift (svm_linear.c). */
void svm_put(void *out, int32_t v, int32_t shift, int32_t is_real);
#endif

typedef union {
    float f;
    int32_t i;
} svm_bits;

/* SVM_NON_FINITE at or beyond 2^126, else 0: a sum of four others is finite. */
static inline int32_t svm_is_huge(float v) {
    svm_bits b;
    b.f = v;
    return (uint32_t)b.i << 1 >= 0xfd000000u ? SVM_NON_FINITE : 0;
}

#if defined(__XTENSA__)
/* No divide instruction: reciprocal by Newton, then one correction of the quotient. */
static inline float svm_divide(float a, float b) {
    svm_bits r;
    r.f = b;
    r.i = 0x7ef311c7 - r.i;
    for (int32_t k = 0; k < 4; k++) {
        r.f = r.f * (2.0f - b * r.f);
    }
    float q = a * r.f;
    return q + (a - q * b) * r.f;
}
#else
static inline float svm_divide(float a, float b) {
    return a / b;
}
#endif


static inline int32_t svm_row(int32_t r) {
    return r < 0 ? ~r : r;
}

#endif
