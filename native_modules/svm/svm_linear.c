/* SPDX-License-Identifier: MIT
 * Decision value under one collapsed weight row: w = shift, bias, weights. */
#include "svm_fit.h"
#include "svm_dot.h"

int32_t svm_integer(const void *row, int32_t k, int32_t xtype) {
    return SVM_IS(xtype, SVM_INT16) ? ((const int16_t *)row)[k]
           : xtype == SVM_INT8 ? ((const int8_t *)row)[k] : ((const uint8_t *)row)[k];
}

#if defined(SVM_ANSWERS)
#if defined(SVM_DSP)
/* Four bytes against four 16-bit weights in natural order. */
#define WEIGHTED4(acc, weights, x) do { \
        uint32_t four = svm_load4(x); \
        uint32_t even = svm_even(four), odd = svm_odd(four), low, high; \
        __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(low) : "r"(even), "r"(odd)); \
        __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(high) : "r"(odd), "r"(even)); \
        acc = svm_smlad(low, svm_load4(weights), acc); \
        acc = svm_smlad(high, svm_load4(weights + 2), acc); \
} while (0)
#elif defined(SVM_DOT4)
#define WEIGHTED4 SVM_DOT4
#endif

#if !defined(SVM_PLAIN)
static inline int32_t weighted_s8(const int16_t *weights, const int8_t *x, int32_t d) {
    int32_t acc = 0;
    SVM_BY4(WEIGHTED4, acc, weights, x, d)
    for (int32_t k = 0; k < d; k++) {
        acc += weights[k] * x[k];
    }
    return acc;
}

static inline int32_t weighted_u8(const int16_t *weights, const uint8_t *x, int32_t d) {
    int32_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        acc += weights[k] * x[k];
    }
    return acc;
}

#endif

#if defined(SVM_FLOAT)
static float weighted_f32(const float *weights, const void *row, int32_t d, int32_t xtype) {
    float total = weights[-1];
    if (xtype == SVM_FLOAT32) {
        return svm_dot_f32(weights, row, d, total);
    }
    for (int32_t k = 0; k < d; k++) {
        total += weights[k] * (float)svm_integer(row, k, xtype);
    }
    return total;
}
#endif

#if !defined(SVM_FIXED)
static /* the only caller is here */
#endif
void svm_put(void *out, int32_t v, int32_t shift, int32_t is_real) {
#if defined(SVM_FLOAT)
    if (is_real) {
        svm_bits scale;
        scale.i = (127 - shift) << 23;
        *(float *)out = (float)v * scale.f;
        return;
    }
#else
    if (is_real && v) { /* the same by hand, rounded to nearest even: there is no FPU */
        uint32_t sign = (uint32_t)v & 0x80000000u, m = sign ? 0 - (uint32_t)v : (uint32_t)v;
        uint32_t exponent = 127 + 30 - (uint32_t)shift;
        while (!(m >> 31)) {
            m <<= 1;
            exponent--;
        }
        uint32_t top = m >> 8;
        v = (int32_t)(sign + (exponent << 23) + top + (((m & 255) + 127 + (top & 1)) >> 8));
    }
#endif
    *(int32_t *)out = v;
}

/* Whole weights, and arguments that were checked. */
static int32_t linear_whole(const void *w, const void *row, int32_t d, int32_t xtype,
    int32_t is_real, void *out) {
    const int16_t *weights = (const int16_t *)((const int32_t *)w + 2);
    int32_t total = ((const int32_t *)w)[1];
#if defined(SVM_PLAIN)
    int64_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        acc += weights[k] * svm_integer(row, k, xtype);
    }
    total += (int32_t)(SVM_IS(xtype, SVM_INT16) ? acc >> 8 : acc);
#else
    if (xtype == SVM_INT8) {
        total += weighted_s8(weights, row, d);
    } else if (xtype == SVM_UINT8) {
        total += weighted_u8(weights, row, d);
    } else if (xtype == SVM_INT16) {
        total += (int32_t)(svm_dot_s16(weights, row, d) >> 8);
    } else {
        return SVM_UNSUPPORTED;
    }
#endif
    svm_put(out, total, *(const int32_t *)w, is_real);
    return 0;
}

int32_t svm_linear(const void *w, int32_t w_bytes, const void *row, int32_t row_bytes,
    int32_t xtype, int32_t is_float, void *out) {
    int32_t d = row_bytes;
    uintptr_t mask = 0;
    if (xtype == SVM_FLOAT32) {
        d >>= 2;
        mask = 3;
    } else if (xtype == SVM_INT16) {
        d >>= 1;
        mask = 1;
    }
    if ((((uintptr_t)w | (uintptr_t)out) & 3) || ((uintptr_t)row & mask)) {
        return SVM_UNALIGNED;
    }
    if (w_bytes != 8 + (is_float & 1 ? d * 4 : (d * 2 + 2) & ~3)) {
        return SVM_BAD_ARGUMENT;
    }
    if (is_float & 1) {
#if defined(SVM_FLOAT)
        float real = weighted_f32((const float *)w + 2, row, d, xtype);
        *(float *)out = real;
        return svm_is_huge(real);
#else
        return SVM_UNSUPPORTED;
#endif
    }
    return linear_whole(w, row, d, xtype, is_float, out);
}
#endif

#if defined(SVM_FLOAT) && defined(SVM_TRAINING)
#define EXACT 16777216.0f /* whole numbers below it are floats */

int32_t svm_widen(float *low, float *high, const float *row, int32_t d) {
    int32_t whole = SVM_WHOLE;
    for (int32_t k = 0; k < d; k++) {
        float v = row[k];
        if (!(v > -EXACT && v < EXACT)) {
            return SVM_STRANGE;
        }
        if ((float)(int32_t)v != v) {
            whole = SVM_REAL;
        }
        if (v < low[k]) {
            low[k] = v;
        }
        if (v > high[k]) {
            high[k] = v;
        }
    }
    return whole;
}
#endif
