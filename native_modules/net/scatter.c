/* SPDX-License-Identifier: MIT
 * Of the inner loops of net_sums.h in C those that every module which trains takes. */
#include "net_sums.h"
#include "net_math.h"

#if !defined(__ARM_FEATURE_DSP)
void net_clear(int32_t *sums, uint32_t words) {
    for (int32_t *end = sums + 4 * words; sums != end;) {
        *sums++ = 0;
    }
}

#if !defined(NET_SMALL)
int32_t net_most(const int32_t *sums, uint32_t words) {
    int32_t most = 0;
    for (const int32_t *end = sums + 4 * words; sums != end; sums++) {
        int32_t size = *sums < 0 ? -*sums : *sums;
        most = size > most ? size : most;
    }
    return most;
}

void net_fold_row(const net_fold_args *f) {
    const int8_t *g = f->g;
    int16_t *to = f->to;
    for (int32_t n = f->columns; n; n--, g += f->step, to += 4) {
        for (uint32_t i = 0; i < 4; i++) {
            to[i] = (int16_t)((g[i] * f->ratio[i] + f->half) >> f->fold);
        }
    }
}

uint32_t net_bits(const int32_t *sums, uint32_t words) {
    uint32_t bits = 0;
    for (const int32_t *end = sums + 4 * words; sums != end; sums++) {
        bits |= (uint32_t)(*sums ^ *sums >> 31);
    }
    return bits;
}

void net_store_words(const int32_t *sums, uint32_t words, int8_t *at, uint32_t step, int s) {
    for (; words; words--, at += step) {
        for (uint32_t i = 0; i < 4; i++, sums++) {
            at[i] = (int8_t)(s ? net_even_shift_some(*sums, s) : *sums);
        }
    }
}

#endif

void net_scatter(const net_scatter_args *s) {
    const int16_t *x = s->pixels;
    int32_t *to = s->sums;
    for (int32_t column = s->columns; column; column--, x += 4, to += s->step >> 2) {
        for (int32_t i = 0; i < 4 * s->kernel; i++) {
            to[i] += x[i & 3] * s->taps[i];
        }
    }
}
#endif
