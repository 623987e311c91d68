/* SPDX-License-Identifier: MIT
 * Dot products in C: for boards without an assembler version (net_dot_m4f.S, net_dot_m0.S), and
 * in the place of the Cortex-M4's on the host. */
#include "net_dot.h"

#if NET_DSP
void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
    int32_t zero) {
    uint32_t *to = (uint32_t *)column + 2 * lane, step = 2 * pixels, word;
    uint32_t add = net_twice(-zero);
    for (; n >= 4; n -= 4, from += 4, to += step) {
        word = net_word(from);
        to[0] = net_even(word, add);
        to[1] = net_odd(word, add);
    }
    if (n) {
        word = net_part(from, n, zero);
        to[0] = net_even(word, add);
        to[1] = net_odd(word, add);
    }
}
#elif !defined(__ARM_ARCH_6M__)
void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
    int32_t zero) {
    (void)pixels;
    (void)lane;
    for (uint32_t i = 0; i < n || (i & 3); i++) {
        column[i] = (int16_t)(i < n ? from[i] - zero : 0);
    }
}
#endif

#if !defined(__ARM_FEATURE_DSP)
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
