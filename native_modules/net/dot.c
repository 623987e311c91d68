/* SPDX-License-Identifier: MIT
 * Dot products in C: for boards without an assembler version (net_dot_m4f.S, net_dot_m0.S), and
 * in the place of the Cortex-M4's on the host. */
#include "net_dot.h"

#if defined(__ARM_FEATURE_DSP)
static inline uint32_t even(uint32_t word, uint32_t add) {
    uint32_t r;
    __asm__("sxtab16 %0, %1, %2" : "=r"(r) : "r"(add), "r"(word));
    return r;
}

static inline uint32_t odd(uint32_t word, uint32_t add) {
    uint32_t r;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(r) : "r"(add), "r"(word));
    return r;
}

void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
    int32_t zero) {
    uint32_t *to = (uint32_t *)column + 2 * lane, step = 2 * pixels;
    uint32_t add = ((uint32_t)-zero & 0xffffu) * 0x10001u, word;
    for (; n >= 4; n -= 4, from += 4, to += step) {
        word = ((const net_unaligned *)from)->word;
        to[0] = even(word, add);
        to[1] = odd(word, add);
    }
    if (n) {
        word = ((uint32_t)zero & 0xffu) * 0x01010101u << (8 * n);
        while (n--) {
            word |= (uint32_t)(uint8_t)from[n] << (8 * n);
        }
        to[0] = even(word, add);
        to[1] = odd(word, add);
    }
}
#else
void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
    int32_t zero) {
    int16_t *to = column + 4 * lane;
    for (uint32_t i = 0; i < n || (i & 3); i++) {
        to[(i >> 2) * 4 * pixels + net_place(i & 3)] = (int16_t)(i < n ? from[i] - zero : 0);
    }
}

#if !defined(__ARM_ARCH_6M__)
void net_dot_2x1(const int8_t *w, const int16_t *x, int32_t words, int32_t *sums) {
    int32_t a = sums[0], b = sums[1];
    do {
        for (uint32_t k = 0; k < 4; k++) {
            a += w[k] * x[net_place(k)];
            b += w[4 + k] * x[net_place(k)];
        }
        w += 8;
        x += 4;
    } while (--words);
    sums[0] = a;
    sums[1] = b;
}
#endif

void net_taps(const int16_t *x, const int16_t *w, int32_t taps, int32_t *sums) {
    for (; taps; taps--, x += NET_LANES, w += NET_LANES) {
        for (uint32_t k = 0; k < NET_LANES; k++) {
            sums[k] += x[net_place(k)] * w[net_place(k)];
        }
    }
}
#endif

int32_t net_dot_1(const int8_t *w, uint32_t step, const int16_t *x, uint32_t pixels,
    uint32_t lane, int32_t words) {
    int32_t sum = 0;
    for (x += 4 * lane; words; words--, w += step, x += 4 * pixels) {
        for (uint32_t k = 0; k < 4; k++) {
            sum += w[k] * x[net_place(k)];
        }
    }
    return sum;
}
