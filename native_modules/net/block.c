/* SPDX-License-Identifier: MIT
 * Stores blocks of gradients. */
#include "net_block.h"

int32_t net_largest(const int32_t *sums, uint32_t n) {
    int32_t most = 0;
    for (const int32_t *end = sums + n; sums != end;) {
        int32_t size = *sums++;
        size = size < 0 ? -size : size;
        most = size > most ? size : most;
    }
    return most;
}

int net_block_shift(int32_t most, int s) {
    while (most >> s > 127 || net_even_shift(most, s) > 127) {
        s++;
    }
    return s;
}

void net_halve(int8_t *g, uint32_t runs, uint32_t run, uint32_t pitch, int times) {
    for (; times; times--) {
        int8_t *at = g;
        for (uint32_t i = 0; i < runs; i++, at += pitch) {
            for (uint32_t j = 0; j < run; j++) {
                at[j] = (int8_t)net_even_shift_some(at[j], 1);
            }
        }
    }
}

void net_store_sums(const int32_t *sums, uint32_t apart, uint32_t n, int8_t *at, uint32_t step,
    int s) {
    for (; n; n--, sums += apart, at += step) {
        *at = (int8_t)net_even_shift(*sums, s);
    }
}

int net_store_block(const int32_t *sums, uint32_t n, int8_t *at, uint32_t step, int s, int8_t *g,
    uint32_t runs, uint32_t run, uint32_t pitch) {
    int to = net_block_shift(net_largest(sums, n), s);
    net_halve(g, runs, run, pitch, to - s);
    net_store_sums(sums, 1, n, at, step, to);
    return to;
}
