/* SPDX-License-Identifier: MIT
 * Integer dot products of stored rows. With the DSP extension of a
 * Cortex-M4 four products take two instructions; results are the same bits. */
#ifndef ACCLIMATE_SVM_DOT_H
#define ACCLIMATE_SVM_DOT_H

#include <stdint.h>

#if defined(__ARM_FEATURE_DSP) && !defined(SVM_PLAIN)
#define SVM_DSP 1

typedef struct __attribute__((packed)) {
    uint32_t word;
} svm_unaligned;

static inline uint32_t svm_load4(const void *p) {
    return ((const svm_unaligned *)p)->word;
}

#define SVM_DSP_OP2(name, text) \
    static inline uint32_t name(uint32_t a) { \
        uint32_t r; \
        __asm__(text : "=r"(r) : "r"(a)); \
        return r; \
    }
SVM_DSP_OP2(svm_even, "sxtb16 %0, %1")
SVM_DSP_OP2(svm_odd, "sxtb16 %0, %1, ror #8")
SVM_DSP_OP2(svm_even_u8, "uxtb16 %0, %1")
SVM_DSP_OP2(svm_odd_u8, "uxtb16 %0, %1, ror #8")

static inline int32_t svm_smlad(uint32_t a, uint32_t b, int32_t acc) {
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(acc));
    return r;
}

#define SVM_DOT4(acc, a, b) do { \
        uint32_t wa = svm_load4(a), wb = svm_load4(b); \
        acc = svm_smlad(svm_even(wa), svm_even(wb), acc); \
        acc = svm_smlad(svm_odd(wa), svm_odd(wb), acc); \
} while (0)
#define SVM_DOT4_U8(acc, a, b) do { \
        uint32_t wa = svm_load4(a), wb = svm_load4(b); \
        acc = svm_smlad(svm_even_u8(wa), svm_even_u8(wb), acc); \
        acc = svm_smlad(svm_odd_u8(wa), svm_odd_u8(wb), acc); \
} while (0)
#define SVM_OP2(name, text) \
    static inline uint32_t name(uint32_t a, uint32_t b) { \
        uint32_t r; \
        __asm__(text : "=r"(r) : "r"(a), "r"(b)); \
        return r; \
    }
SVM_OP2(svm_sub2, "ssub16 %0, %1, %2")

#define SVM_DIFF4_BY(acc, a, b, even, odd) do { \
        uint32_t wa = svm_load4(a), wb = svm_load4(b); \
        uint32_t e = svm_sub2(even(wa), even(wb)), o = svm_sub2(odd(wa), odd(wb)); \
        acc = svm_smlad(e, e, acc); \
        acc = svm_smlad(o, o, acc); \
} while (0)
#define SVM_DIFF4(acc, a, b) SVM_DIFF4_BY(acc, a, b, svm_even, svm_odd)
#define SVM_DIFF4_U8(acc, a, b) SVM_DIFF4_BY(acc, a, b, svm_even_u8, svm_odd_u8)
#define SVM_BY4(step, acc, a, b, d) \
    for (; d >= 4; d -= 4, a += 4, b += 4) { \
        step(acc, a, b); \
    }
#elif defined(__XTENSA__) && !defined(SVM_PLAIN)
/* Without such instructions four products at once save three of four ends of the loop. */
#define SVM_FOUR 1
#define SVM_DOT4(acc, a, b) (acc += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3])
#define SVM_BY4(step, acc, a, b, d) \
    for (; d >= 4; d -= 4, a += 4, b += 4) { \
        step(acc, a, b); \
    }
#else
#define SVM_BY4(step, acc, a, b, d)
#endif
#if defined(SVM_DSP)
#define SVM_DSP_BY4 SVM_BY4
#else
#define SVM_DSP_BY4(step, acc, a, b, d)
#endif

static inline int32_t svm_dot_s8(const int8_t *a, const int8_t *b, int32_t d) {
    int32_t acc = 0;
    SVM_BY4(SVM_DOT4, acc, a, b, d)
    for (int32_t k = 0; k < d; k++) {
        acc += a[k] * b[k];
    }
    return acc;
}

#if defined(SVM_DSP)
/* Row a against rows b and c, d a multiple of 4: what is unpacked of a serves both. */
#define SVM_ROWS_OF(d) (((d) & 3) == 0)
#define SVM_DOT_TWO(a, end, b, c, of_b, of_c, even, odd) do { \
        const uint8_t *at = a; \
        of_b = of_c = 0; \
        do { \
            uint32_t w = svm_load4(at), e = even(w), o = odd(w); \
            w = svm_load4(b); \
            of_b = svm_smlad(e, even(w), of_b); \
            of_b = svm_smlad(o, odd(w), of_b); \
            w = svm_load4(c); \
            of_c = svm_smlad(e, even(w), of_c); \
            of_c = svm_smlad(o, odd(w), of_c); \
            at += 4; \
            b += 4; \
            c += 4; \
        } while (at != end); \
} while (0)
#endif

static inline int32_t svm_dot_u8(const uint8_t *a, const uint8_t *b, int32_t d) {
    int32_t acc = 0;
    SVM_DSP_BY4(SVM_DOT4_U8, acc, a, b, d)
    for (int32_t k = 0; k < d; k++) {
        acc += a[k] * b[k];
    }
    return acc;
}

static inline int64_t svm_dot_s16(const int16_t *a, const int16_t *b, int32_t d) {
    int64_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        acc += (int32_t)a[k] * b[k];
    }
    return acc;
}

/* Squared distances; of bytes below 2^31, as d <= 32767. */
static inline int32_t svm_distance_s8(const int8_t *a, const int8_t *b, int32_t d) {
    int32_t acc = 0;
    SVM_DSP_BY4(SVM_DIFF4, acc, a, b, d)
    for (int32_t k = 0; k < d; k++) {
        acc += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return acc;
}

static inline int32_t svm_distance_u8(const uint8_t *a, const uint8_t *b, int32_t d) {
    int32_t acc = 0;
    SVM_DSP_BY4(SVM_DIFF4_U8, acc, a, b, d)
    for (int32_t k = 0; k < d; k++) {
        acc += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return acc;
}

static inline int64_t svm_distance_s16(const int16_t *a, const int16_t *b, int32_t d) {
    int64_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        uint32_t diff = (uint32_t)(a[k] - b[k]);
        acc += diff * diff; /* below 2^32 */
    }
    return acc;
}

#if defined(SVM_PLAIN)
/* Feature k of an integer row (svm_linear.c). */
int32_t svm_integer(const void *row, int32_t k, int32_t xtype);

static inline int64_t svm_integer_dot(const void *a, const void *b, int32_t d, int32_t type) {
    int64_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        acc += svm_integer(a, k, type) * svm_integer(b, k, type);
    }
    return acc;
}

static inline int64_t svm_integer_distance(const void *a, const void *b, int32_t d, int32_t type) {
    int64_t acc = 0;
    for (int32_t k = 0; k < d; k++) {
        uint32_t diff = (uint32_t)(svm_integer(a, k, type) - svm_integer(b, k, type));
        acc += diff * diff; /* below 2^32 */
    }
    return acc;
}
#else
/* Of integer rows of the given storage type. */
static inline int64_t svm_integer_dot(const void *a, const void *b, int32_t d, int32_t type) {
    if (type == SVM_INT8) {
        return svm_dot_s8(a, b, d);
    }
    return type == SVM_UINT8 ? svm_dot_u8(a, b, d) : svm_dot_s16(a, b, d);
}

static inline int64_t svm_integer_distance(const void *a, const void *b, int32_t d,
    int32_t type) {
    if (type == SVM_INT8) {
        return svm_distance_s8(a, b, d);
    }
    return type == SVM_UINT8 ? svm_distance_u8(a, b, d) : svm_distance_s16(a, b, d);
}
#endif

#endif
