/* SPDX-License-Identifier: MIT
 * Two numbers of 16 bits in a word: the real part below, the imaginary part above. Sums wrap. */
#ifndef ACCLIMATE_PAIR_H
#define ACCLIMATE_PAIR_H

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
/* A part of a number, with one more binary place: see `pair_scaled`. */
enum { PAIR_HALF = 2 * (32767 / 2), PAIR_QUARTER = 2 * (32767 / 4) };

INLINE int32_t pair_low(uint32_t a) {
    return (int16_t)a;
}

INLINE int32_t pair_high(uint32_t a) {
    return (int32_t)a >> 16;
}

INLINE uint32_t pair_of(int32_t low, int32_t high) {
    return ((uint32_t)low & 0xffff) | (uint32_t)high << 16;
}

#if defined(__ARM_FEATURE_DSP) && __ARM_FEATURE_DSP

#define PAIR_OPERATION(name, instruction) \
    INLINE uint32_t name(uint32_t a, uint32_t b) { \
        uint32_t to; \
        __asm__(instruction " %0, %1, %2" : "=r"(to) : "r"(a), "r"(b)); \
        return to; \
    }

PAIR_OPERATION(pair_plus, "sadd16")
PAIR_OPERATION(pair_minus, "ssub16")
PAIR_OPERATION(pair_minus_i, "ssax")
PAIR_OPERATION(pair_plus_i, "sasx")
PAIR_OPERATION(pair_half_plus, "shadd16")
PAIR_OPERATION(pair_half_minus, "shsub16")

/* High half of `high`, low half of `low`. */
INLINE uint32_t pair_join(uint32_t high, uint32_t low) {
    uint32_t to;
    __asm__("pkhbt %0, %1, %2" : "=r"(to) : "r"(low), "r"(high));
    return to;
}

INLINE uint32_t pair_scaled(uint32_t a, int32_t by) {
    uint32_t low, high, to;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(low) : "r"(a), "r"(by), "r"(32768));
    __asm__("smlatb %0, %1, %2, %3" : "=r"(high) : "r"(a), "r"(by), "r"(32768));
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(to) : "r"(high), "r"(low));
    return to;
}

INLINE uint32_t pair_times(uint32_t a, uint32_t w) {
    uint32_t low, high, to;
    __asm__("smlsd %0, %1, %2, %3" : "=r"(low) : "r"(a), "r"(w), "r"(16384));
    __asm__("smladx %0, %1, %2, %3" : "=r"(high) : "r"(a), "r"(w), "r"(16384));
    high <<= 1;
    __asm__("pkhtb %0, %1, %2, asr #15" : "=r"(to) : "r"(high), "r"(low));
    return to;
}

#else

INLINE uint32_t pair_plus(uint32_t a, uint32_t b) {
    return pair_of(pair_low(a) + pair_low(b), pair_high(a) + pair_high(b));
}

INLINE uint32_t pair_minus(uint32_t a, uint32_t b) {
    return pair_of(pair_low(a) - pair_low(b), pair_high(a) - pair_high(b));
}

/* a - i b, and a + i b. */
INLINE uint32_t pair_minus_i(uint32_t a, uint32_t b) {
    return pair_of(pair_low(a) + pair_high(b), pair_high(a) - pair_low(b));
}

INLINE uint32_t pair_plus_i(uint32_t a, uint32_t b) {
    return pair_of(pair_low(a) - pair_high(b), pair_high(a) + pair_low(b));
}

/* Half of the sum, of the difference, rounded down; these do not wrap. */
INLINE uint32_t pair_half_plus(uint32_t a, uint32_t b) {
    return pair_of((pair_low(a) + pair_low(b)) >> 1, (pair_high(a) + pair_high(b)) >> 1);
}

INLINE uint32_t pair_half_minus(uint32_t a, uint32_t b) {
    return pair_of((pair_low(a) - pair_low(b)) >> 1, (pair_high(a) - pair_high(b)) >> 1);
}

INLINE uint32_t pair_join(uint32_t high, uint32_t low) {
    return (high & 0xffff0000) | (low & 0xffff);
}

/* A half or a quarter of both, rounded as 15 binary places of 1/2 or 1/4 give it. */
INLINE uint32_t pair_scaled(uint32_t a, int32_t by) {
    return pair_of((pair_low(a) * by + 32768) >> 16, (pair_high(a) * by + 32768) >> 16);
}

/* The product of two complex numbers, the second with 15 binary places. */
INLINE uint32_t pair_times(uint32_t a, uint32_t w) {
    int32_t low = pair_low(a) * pair_low(w) - pair_high(a) * pair_high(w);
    int32_t high = pair_low(a) * pair_high(w) + pair_high(a) * pair_low(w);
    return pair_of((low + 16384) >> 15, (high + 16384) >> 15);
}

#endif
#endif
