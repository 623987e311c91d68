/* SPDX-License-Identifier: MIT
 * The solver's entry points: argument checks, then the state that was asked for. */
#include "svm.h"

#if defined(__ARM_ARCH_6M__) && !defined(SVM_CHECKED)
#include "divide.h"

uint32_t svm_quotient(uint32_t a, uint32_t b) {
    return divide(a, b);
}
#endif

#if !defined(SVM_CHECKED)
/* Call the state that was asked for; a build with one state has checked that it is this one. */
#if defined(SVM_FIXED) && defined(SVM_FLOAT)
#define HAS_STATE(is_float) 1
#define BY_STATE(is_float, call) ((is_float) ? svm_float_##call : svm_fixed_##call)
#elif defined(SVM_FIXED)
#define HAS_STATE(is_float) (!(is_float))
#define BY_STATE(is_float, call) (svm_fixed_##call)
#else
#define HAS_STATE(is_float) (is_float)
#define BY_STATE(is_float, call) (svm_float_##call)
#endif

#if defined(SVM_TRAINING)
int32_t svm_work_words(int32_t n, int32_t is_float, int32_t slots) {
    (void)is_float;
    return BY_STATE(is_float, words(n, slots));
}
#endif

static int32_t parameter(const svm_problem *p, int32_t k) {
#if defined(SVM_FLOAT)
    if (SVM_IS_FLOAT(p)) {
        float v = ((const float *)p->par)[k];
        return v >= -1.0f && v <= 1e9f ? (int32_t)v : -2;
    }
#endif
    return ((const int32_t *)p->par)[k];
}

/* Parameters, alignment and every row inside the store; what all calls rely on. */
static int32_t check(svm_problem *p, const void *other, const void *out) {
    uintptr_t words = (uintptr_t)p->work | (uintptr_t)p->par | (uintptr_t)out;
    uintptr_t stored = (uintptr_t)p->x | (uintptr_t)other;
    if (!HAS_STATE(p->is_float)) {
        return SVM_UNSUPPORTED;
    }
    int32_t type = parameter(p, P_XTYPE), d = parameter(p, P_FEATURES);
    int32_t kind = parameter(p, P_KERNEL), degree = parameter(p, P_DEGREE);
    p->type = type;
    p->kind = kind;
    p->d = d;
    p->stride = d << (type == SVM_FLOAT32 ? 2 : type == SVM_INT16);
    if (type == SVM_FLOAT32) {
        words |= stored;
#if defined(SVM_FIXED)
        if (!SVM_IS_FLOAT(p)) {
            return SVM_UNSUPPORTED;
        }
#endif
    }
    if ((words & 3) || ((uintptr_t)p->rows & 1) || (type == SVM_INT16 && (stored & 1))) {
        return SVM_UNALIGNED;
    }
    if ((uint32_t)(d - 1) > 32766 || (uint32_t)type > SVM_FLOAT32 || (uint32_t)kind > SVM_RBF
        || (uint32_t)p->n > 32767 || (uint32_t)degree > 16) {
        return SVM_BAD_ARGUMENT;
    }
#if defined(SVM_FIXED)
    if (!SVM_IS_FLOAT(p) && kind == SVM_POLY && (uint32_t)parameter(p, P_GAMMA) > 32) {
        return SVM_BAD_ARGUMENT;
    }
#endif
    uint32_t stored_rows = svm_quotient((uint32_t)p->x_bytes, (uint32_t)p->stride);
    for (int32_t k = 0; k < p->n; k++) {
        if ((uint32_t)svm_row(p->rows[k]) >= stored_rows) {
            return SVM_BAD_ARGUMENT;
        }
    }
    return 0;
}

#if defined(SVM_TRAINING)
static int32_t check_work(svm_problem *p) {
    int32_t bad = check(p, 0, 0);
    if (!bad && p->words < svm_work_words(p->n, p->is_float, 2)) {
        bad = SVM_WORK_TOO_SMALL;
    }
    return bad;
}

int32_t svm_start(svm_problem *p) {
    int32_t bad = check_work(p), classes = 0;
    if (bad) {
        return bad;
    }
    for (int32_t k = 0; k < p->n; k++) {
        classes |= p->rows[k] < 0 ? 1 : 2;
    }
    return classes == 3 ? BY_STATE(p->is_float, start(p)) : SVM_BAD_ARGUMENT;
}

int32_t svm_step(svm_problem *p, int32_t iterations) {
    int32_t bad = check_work(p);
    return bad ? bad : BY_STATE(p->is_float, step(p, iterations));
}

int32_t svm_collapse(svm_problem *p, void *w, int32_t w_bytes) {
    int32_t bad = check(p, 0, w);
    if (bad) {
        return bad;
    }
    if (w_bytes < 4 * (2 + (SVM_IS_FLOAT(p) ? p->d : (p->d + 1) / 2))) {
        return SVM_BAD_ARGUMENT;
    }
    BY_STATE(p->is_float, collapse(p, w));
    return 0;
}
#endif

#if defined(SVM_ANSWERS)
int32_t svm_decide(svm_problem *p, const void *row, int32_t row_bytes, const void *bias,
    void *out) {
    int32_t bad = check(p, row, out);
    if (bad) {
        return bad;
    }
    if (row_bytes != p->stride) {
        return SVM_BAD_ARGUMENT;
    }
    BY_STATE(p->is_float, decide(p, row, bias, out));
    if (SVM_IS_FLOAT(p)) {
        return svm_is_huge(*(float *)out);
    }
#if defined(SVM_FIXED)
    svm_put(out, *(int32_t *)out, 16, p->is_real);
#endif
    return 0;
}
#endif
#endif

#if defined(SVM_ANSWERS)
/* Pairs in order 01, 02, .., 12, ..; above zero votes for the first; ties: lowest class.
 * A float above zero is an integer above zero in its bits, so one loop serves both. */
int32_t svm_vote(int32_t *decisions, int32_t n_classes) {
    int32_t best = -1, best_votes = -1;
    *decisions ^= n_classes & INT32_MIN;
    for (int32_t c = 0; c < n_classes; c++) {
        int32_t votes = 0;
        const int32_t *at = decisions;
        for (int32_t i = 0; i < n_classes; i++) {
            for (int32_t j = i + 1; j < n_classes; j++) {
                votes += c == (*at++ > 0 ? i : j);
            }
        }
        if (votes > best_votes) {
            best = c;
            best_votes = votes;
        }
    }
    return best;
}
#endif

#if !defined(SVM_MODULE) /* the host's twin only: saves 200 bytes on a board */
int32_t svm_kernel(svm_problem *p, int32_t a, const void *x, int32_t x_bytes, int32_t b,
    void *out) {
    int32_t bad = check(p, x, out);
    if (bad) {
        return bad;
    }
    int32_t size = p->stride;
    if ((uint32_t)a >= svm_quotient((uint32_t)p->x_bytes, (uint32_t)size)
        || (uint32_t)b >= svm_quotient((uint32_t)x_bytes, (uint32_t)size)) {
        return SVM_BAD_ARGUMENT;
    }
    const void *row_a = (const uint8_t *)p->x + a * size;
    const void *row_b = (const uint8_t *)x + b * size;
#if defined(SVM_FLOAT)
    if (p->is_float) {
        *(float *)out = svm_float_value(p, row_a, row_b);
        return 0;
    }
#endif
#if defined(SVM_FIXED)
    *(int32_t *)out = svm_fixed_value(p, row_a, row_b);
#endif
    return 0;
}
#endif
