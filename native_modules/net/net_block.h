/* SPDX-License-Identifier: MIT
 * Blocks of gradients with one power-of-two exponent: section 5 of docs/numerics.md. */
#ifndef NET_BLOCK_H
#define NET_BLOCK_H

#include "net_math.h"

static inline int32_t net_fold(int32_t g, uint32_t ratio, int fold) {
    return (g * (int32_t)ratio + (1 << (fold - 1))) >> fold;
}

/* The largest magnitude of n sums. */
static inline int32_t net_most(const int32_t *sums, uint32_t n) {
    int32_t most = 0;
    for (const int32_t *end = sums + n; sums != end;) {
        int32_t size = *sums++;
        size = size < 0 ? -size : size;
        most = size > most ? size : most;
    }
    return most;
}

/* Whether sums of these bits (net_bits) keep within 127 without a look at each. */
static inline int net_is_small(uint32_t bits, int s) {
    return net_even_shift((int32_t)bits, s) < 127;
}

/* Halve `runs` runs of `run` stored gradients, `pitch` apart. */
static inline void net_halve(int8_t *g, uint32_t runs, uint32_t run, uint32_t pitch) {
    for (uint32_t i = 0; i < runs; i++, g += pitch) {
        for (uint32_t j = 0; j < run; j++) {
            g[j] = (int8_t)net_even_shift_some(g[j], 1);
        }
    }
}

/* Store n sums `step` apart at `at`, after what lies from `g` on (net_halve's arguments). */
static inline int net_store_sums(const int32_t *sums, uint32_t n, int8_t *at, uint32_t step,
    int s, int8_t *g, uint32_t runs, uint32_t run, uint32_t pitch) {
    int32_t most = net_most(sums, n);
    while (net_even_shift(most, s) > 127) {
        net_halve(g, runs, run, pitch);
        s++;
    }
    for (const int32_t *end = sums + n; sums != end; at += step) {
        int32_t sum = *sums++;
        *at = (int8_t)(s ? net_even_shift_some(sum, s) : sum);
    }
    return s;
}

/* The same, once for all kernels of a module. */
int net_store_block(const int32_t *sums, uint32_t n, int8_t *at, uint32_t step, int s, int8_t *g,
    uint32_t runs, uint32_t run, uint32_t pitch);

#endif
