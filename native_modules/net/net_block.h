/* SPDX-License-Identifier: MIT
 * Blocks of gradients with one power-of-two exponent: section 5 of docs/numerics.md. */
#ifndef NET_BLOCK_H
#define NET_BLOCK_H

#include "net_math.h"

static inline int32_t net_fold(int32_t g, uint32_t ratio, int fold) {
    return (g * (int32_t)ratio + (1 << (fold - 1))) >> fold;
}

/* The largest magnitude of n sums; the smallest shift, s or more, with which it keeps within 127. */
int32_t net_largest(const int32_t *sums, uint32_t n);
int net_block_shift(int32_t most, int s);

/* Halve `runs` runs of `run` stored gradients, `pitch` apart, several times. */
void net_halve(int8_t *g, uint32_t runs, uint32_t run, uint32_t pitch, int times);

/* Store n sums that lie `apart` numbers apart at `at` and every `step` bytes. */
void net_store_sums(const int32_t *sums, uint32_t apart, uint32_t n, int8_t *at, uint32_t step,
    int s);

/* All of it: n sums, after what lies from `g` on (net_halve's arguments); returns s. */
int net_store_block(const int32_t *sums, uint32_t n, int8_t *at, uint32_t step, int s, int8_t *g,
    uint32_t runs, uint32_t run, uint32_t pitch);

/* Whether sums of these bits (net_bits) keep within 127 without a look at each. */
static inline int net_is_small(uint32_t bits, int s) {
    return net_even_shift((int32_t)bits, s) < 127;
}

#endif
