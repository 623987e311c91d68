/* SPDX-License-Identifier: MIT
 * The arithmetic that every kernel shares, rounding by rounding as in docs/numerics.md. */
#ifndef NET_MATH_H
#define NET_MATH_H

#include <stdint.h>

/* Section 1: (a * b) / 2^31 for b >= 0, to the nearest, halves up. */
static inline int32_t net_high_mul(int32_t a, int32_t b) {
#if defined(__ARM_ARCH_6M__)
    /* Four products of 16 bits are shorter than the compiler's helper for 64 bits. */
    int32_t high = a >> 16, top = b >> 16, middle = high * (int32_t)(b & 0xffff);
    uint32_t low = (uint32_t)a & 0xffffu, cross = low * (uint32_t)top;
    low *= (uint32_t)b & 0xffffu;
    uint32_t carry = (low >> 16) + ((uint32_t)middle & 0xffffu) + (cross & 0xffffu) + 0x4000u;
    high = high * top + (middle >> 16) + (int32_t)(cross >> 16) + (int32_t)(carry >> 16);
    return (int32_t)((uint32_t)high << 1 | (carry >> 15 & 1));
#else
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
#endif
}

/* Section 1: x / 2^e for 0 <= e <= 31, to the nearest, halves away from zero. */
static inline int32_t net_round_shift(int32_t x, int e) {
    int32_t mask = (int32_t)((1u << e) - 1u);
    int32_t rest = x & mask;
    return (x >> e) + (rest > (mask >> 1) + (x < 0));
}

/* Section 1: x * multiplier * 2^(shift - 31), rounded twice. -31 <= shift <= 30. */
static inline int32_t net_requantize(int32_t x, int32_t multiplier, int shift) {
    int left = shift > 0 ? shift : 0;
    x = (int32_t)((uint32_t)x << left);
    return net_round_shift(net_high_mul(x, multiplier), left - shift);
}

static inline int32_t net_clamp(int32_t x, int32_t low, int32_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Section 5: x / 2^s for 1 <= s <= 31, to the nearest, halves to even. */
static inline __attribute__((always_inline)) int32_t net_even_shift_some(int32_t x, int s) {
    int32_t down = x >> s;
    /* What is shifted out lies at the top and is even: a half goes up where down is odd. */
    uint32_t rest = (uint32_t)x << (32 - s);
    return down + (rest + ((uint32_t)down & 1u) > 0x80000000u);
}

/* The same for 0 <= s <= 31. */
static inline int32_t net_even_shift(int32_t x, int s) {
    return s ? net_even_shift_some(x, s) : x;
}

/* Section 5: the smallest s for which every |x| <= most becomes at most 127. */
static inline int net_gradient_shift(int32_t most) {
    int s = 0;
    while (net_even_shift(most, s) > 127) {
        s++;
    }
    return s;
}

static inline uint32_t net_magnitude(int32_t x) {
    return x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
}

/* Section 7: one draw. The state is never 0. */
static inline uint32_t net_draw(uint32_t *state) {
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

#endif
