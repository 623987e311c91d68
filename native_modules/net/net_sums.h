/* SPDX-License-Identifier: MIT
 * Inner loops of the backward pass: C in sums.c, for a Cortex-M4 net_sums_m4f.S, which knows where
 * each field lies. All add to the sums that they are given. */
#ifndef NET_SUMS_H
#define NET_SUMS_H

#include <stdint.h>

/* Rows of bytes, two at a time, times two factors of 16 bits:
 *
 *   sums[i]   += factors[0] * row 0[i] + factors[1] * row 1[i]
 *   others[i] += factors[2] * row 0[i] + factors[3] * row 1[i]
 *
 * and so on with the next two rows and the next four factors. */
typedef struct {
    const int8_t *rows;
    uint32_t step;  /* bytes from two rows to the next two */
    uint32_t apart; /* bytes from a row to the second of the two */
    uint32_t next;  /* bytes from 4 elements of a row to its next 4 */
    const int16_t *factors, *end; /* aligned to 4; at least two rows' */
    int32_t *sums, *others;
    int32_t words; /* of 4 elements, at least 1 */
} net_spread_args;

void net_spread_2(const net_spread_args *s);

/* The same without `others`: two factors for two rows, apart is 4 and next 8, aligned to 4. */
void net_spread_1(const net_spread_args *s);

/* Bits that any of the magnitudes has, with |x| - 1 for x < 0: `words` times 4 sums, at least 1. */
uint32_t net_bits(const int32_t *sums, uint32_t words);

/* The largest magnitude of `words` times 4 sums, at least 1; and all of them 0. */
int32_t net_most(const int32_t *sums, uint32_t words);
void net_clear(int32_t *sums, uint32_t words);

/* H of section 5 of four channels, `columns` pixels that are `step` bytes apart. */
typedef struct {
    const int8_t *g;
    uint32_t step;
    int32_t columns; /* at least 1 */
    int16_t *to;
    int32_t ratio[4], half, fold;
} net_fold_args;

void net_fold_row(const net_fold_args *f);

/* `words` times 4 sums, each as net_even_shift gives it, to `at` and every `step` bytes. */
void net_store_words(const int32_t *sums, uint32_t words, int8_t *at, uint32_t step, int s);

/* Plain descent of weights in a row, w[net_in_row(step, at)] and so on: the steps of section 6 of
 * (sum + more) * c * 2^-(31 + down), 1 <= down <= 31. */
typedef struct {
    const int32_t *sums, *end; /* at least one */
    int32_t c, more;
    uint32_t down;
    uint32_t seed;
    int8_t *w;
    uint32_t step, at;
    uint32_t rails, moved; /* counted on */
} net_steps_args;

void net_steps(net_steps_args *s);

/* Four channels of a depthwise layer: every pixel of a row times the taps of a kernel row,
 * sums[column * step + tap][lane] += pixels[column][lane] * taps[tap][lane]. */
typedef struct {
    const int16_t *pixels, *taps; /* 4 lanes each, aligned to 4 */
    int32_t columns, kernel;      /* at least 1 */
    int32_t *sums;
    int32_t step; /* bytes from the sums of a column to those of the next */
} net_scatter_args;

void net_scatter(const net_scatter_args *s);

/* Four channels of one tap: sums[lane] += g[pixel][lane] * (x[pixel][lane] - zero), over a region of
 * both. Steps and pitches in bytes. */
typedef struct {
    const int8_t *g, *x;
    uint32_t g_step, x_step, g_pitch, x_pitch;
    int32_t rows, columns; /* at least 1 */
    uint32_t zero;         /* -zero in both halves */
    int32_t sums[4];
} net_region_args;

void net_region(net_region_args *s);

#endif
