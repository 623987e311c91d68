/* SPDX-License-Identifier: MIT
 * See svm_fit.h. Sums go in the order of the Python code, so that both find the same. */
#include "svm_fit.h"

#if defined(SVM_FLOAT)

#define STEP (1.0f / 16777216.0f)
#define RESTARTS 3
#define WIDE 100.0f
#define FAR 15.9f /* a little below the limit in Python, which decides */
#define ALONE 0.01f
#define BEARABLE 0.00259f /* of a margin; a little below the limits in Python, which decides */
#define HUGE 3.0e38f
#define SPREAD 256.0f /* answers that differ by less than this many errors are noise */

#define RANGE(items) do { \
        const items *at = x; \
        do { \
            int32_t v = *at++; \
            least = v < least ? v : least; \
            most = v > most ? v : most; \
        } while (--count); \
} while (0)

void svm_range(const void *x, int32_t type, int32_t count, float *low, float *high) {
    int32_t least = 65536, most = -65536;
    if (type == SVM_UINT8) {
        RANGE(uint8_t);
    } else if (type == SVM_INT8) {
        RANGE(int8_t);
    } else {
        RANGE(int16_t);
    }
    *low = (float)least;
    *high = (float)most;
}

int32_t svm_smallest_type(float low, float high, int32_t whole, int32_t wanted) {
    int32_t fits = 1 << SVM_FLOAT32;
    if (whole) {
        fits |= (low >= 0.0f && high <= 255.0f) << SVM_UINT8;
        fits |= (low >= -128.0f && high <= 127.0f) << SVM_INT8;
        fits |= (low >= -32768.0f && high <= 32767.0f) << SVM_INT16;
    }
    if (wanted >= 0) {
        return fits >> wanted & 1 ? wanted : SVM_STRANGE;
    }
    if (fits >> SVM_UINT8 & 1) {
        return SVM_UINT8;
    }
    for (wanted = SVM_INT8; !(fits >> wanted & 1); wanted++) {
    }
    return wanted;
}

int32_t svm_is_uneven(const float *low, const float *high, int32_t d) {
    float least = 3.0e38f, most = 0, middle = 0, half = 0;
    for (int32_t k = 0; k < d; k++) {
        float span = high[k] - low[k];
        if (span > 0) {
            least = span < least ? span : least;
            most = span > most ? span : most;
        }
        float m = low[k] * 0.5f + high[k] * 0.5f;
        middle += m * m;
        half += 0.25f * span * span;
    }
    return most > WIDE * least || middle > FAR * half;
}

/* A 64-bit sum as MicroPython turns its long integers into floats: 16 bits after the others. */
static float of_sum(int64_t sum) {
    float v = 0;
    uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    if (size < 1u << 30) {
        return (float)(int32_t)sum;
    }
    for (int32_t shift = 48; shift >= 0; shift -= 16) {
        v = v * 65536.0f + (float)(int32_t)(size >> shift & 65535);
    }
    return sum < 0 ? -v : v;
}

float svm_scale_gamma(const void *x, int32_t type, int32_t count, int32_t d) {
    float total = 0, square = 0;
    if (type == SVM_FLOAT32) {
        for (int32_t k = 0; k < count; k++) {
            float v = ((const float *)x)[k];
            total += v;
            square += v * v;
        }
    } else {
        int64_t sum = 0, squares = 0;
        for (int32_t k = 0; k < count; k++) {
            int32_t v = svm_integer(x, k, type);
            sum += v;
            squares += v * v;
        }
        total = of_sum(sum);
        square = of_sum(squares);
    }
    float mean = svm_divide(total, (float)count);
    float variance = svm_divide(square, (float)count) - mean * mean;
    return variance > 0 ? svm_divide(1.0f, (float)d * variance) : 1.0f;
}

int32_t svm_has_drifted(const svm_problem *p, int32_t again) {
    const float *work = p->work, *par = p->par;
    int32_t steps = (int32_t)work[W_ITER];
    float c = par[P_C_POS] > par[P_C_NEG] ? par[P_C_POS] : par[P_C_NEG];
    float lost = c * work[W_TOP] * STEP;
    if (again >= RESTARTS || steps <= (again != 0)) {
        return 0;
    }
    return lost * lost * (float)steps > par[P_EPS] * par[P_EPS];
}

/* 1 or -1: no select of two float constants, which not every compiler can do. */
static float sign_of(int32_t row) {
    return (float)(1 | (row >> 15));
}

static float size_of(float v) {
    return v < 0 ? -v : v;
}

/* Whether other rows add next to nothing to what a row's own coefficient says. */
static int32_t is_alone(const svm_problem *p) {
    const float *beta = (const float *)p->work + SVM_HEAD;
    float own = 0, others = 0;
    for (int32_t k = 0; k < p->n; k++) {
        float rest = sign_of(p->rows[k]) - beta[p->n + k] - beta[k];
        own += size_of(beta[k]);
        others += size_of(rest);
    }
    return others < ALONE * own;
}

void svm_look(const svm_problem *p, int32_t status, svm_note *note) {
    const float *work = p->work, *par = p->par;
    const float *beta = work + SVM_HEAD, *left = beta + p->n, *self = left + p->n;
    float top = 1.0f, square = 0, weighted = 0, own = 0, largest = work[W_TOP];
    float bias = work[W_BIAS], low = HUGE, high = -HUGE;
    int32_t positive = 0, count = 0, n = p->n;
    for (int32_t k = 0; k < n; k++) {
        float v = left[k], size = size_of(v), b = beta[k];
        float says = sign_of(p->rows[k]) - v;
        top = size > top ? size : top;
        low = says < low ? says : low;
        high = says > high ? says : high;
        positive += v < bias + sign_of(p->rows[k]);
        count += b != 0;
        float share = size_of(self[k]);
        own += share;
        square += b * b;
        weighted += b * b * share;
    }
    /* float32 errs by a share of each kernel value, which for most rows is not the largest */
    if (largest > 0) {
        weighted = svm_divide(weighted, largest) * svm_divide(own, (float)n * largest);
        square = weighted + square * 0.00390625f;
    }
    float error = square * (work[W_TOP] * STEP) * (work[W_TOP] * STEP);
    note->square = square;
    note->top = top;
    note->kind = NOTE_NONE;
    note->only = 0;
    if (status == SVM_CAPPED) {
        note->kind = NOTE_CAPPED;
    } else if (par[P_KERNEL] == SVM_RBF && n >= 8 && count == n && is_alone(p)) {
        note->kind = NOTE_ALONE;
    } else {
        note->only = positive == n ? 1 : positive ? 0 : 2;
        if (!note->only && par[P_KERNEL] == SVM_RBF
            && error * (SPREAD * SPREAD) > (high - low) * (high - low)) {
            note->kind = NOTE_SAME;
            note->top = high - low;
        } else if (!(error <= BEARABLE * BEARABLE)) {
            note->kind = NOTE_IMPRECISE;
        }
    }
}

/* Whole number at or below v + 1/2, without a sum that is rounded. */
static int32_t nearest(float v) {
    int32_t whole = (int32_t)v;
    if ((float)whole > v) {
        whole--;
    }
    return whole + (v - (float)whole >= 0.5f);
}

static float times_power(float v, int32_t shift) {
    svm_bits scale;
    scale.i = (127 + shift) << 23;
    return v * scale.f;
}

void svm_round_weights(const float *w, int32_t d, int32_t type, int32_t *q) {
    float largest = 0, total = 0, room = w[1] < 0 ? -w[1] : w[1];
    for (int32_t k = 2; k < d + 2; k++) {
        float v = w[k] < 0 ? -w[k] : w[k];
        largest = v > largest ? v : largest;
        total += v;
    }
    room += total * (float)(128 + (type & SVM_UINT8) * 127); /* 128, or 255 for uint8 */
    int32_t shift = 0;
    while (shift < 40 && times_power(largest, shift + 1) < 32766.0f
        && times_power(room, shift) < 268435456.0f) {
        shift++;
    }
    while (times_power(largest, shift) > 32766.0f || times_power(room, shift) > 536870912.0f) {
        shift--;
    }
    q[0] = shift;
    q[1] = nearest(times_power(w[1], shift));
    int16_t *weights = (int16_t *)(q + 2);
    weights[d - 1 + (d & 1)] = 0;
    for (int32_t k = 0; k < d; k++) {
        weights[k] = (int16_t)nearest(times_power(w[2 + k], shift));
    }
}
#endif
