/* SPDX-License-Identifier: MIT
 * What the fast kernels are made of. A column is what one output pixel (with DSP: two) needs of
 * the input, less its zero point, in 16 bits.
 *
 *   DSP        2 pixels; of each 4 channels: pixel 0 with channels 0 2 1 3, then pixel 1.
 *              NET_ONE: 1 pixel, channels 0 2 1 3.
 *   elsewhere  1 pixel, channels in order.
 *
 * The host compiles the DSP form with C in place of the instructions when NET_DSP is set. */
#ifndef NET_DOT_H
#define NET_DOT_H

#include <stdint.h>

#if defined(__ARM_FEATURE_DSP) && !defined(NET_DSP)
#define NET_DSP 1
#endif
#if !defined(NET_DSP)
#define NET_DSP 0
#endif

/* Most pixels of a column. */
#define NET_PIXELS (NET_DSP ? 2 : 1)

typedef struct __attribute__((packed)) {
    uint32_t word;
} net_unaligned;

/* Where channel k of 4 lies in a column. */
static inline uint32_t net_place(uint32_t k) {
    return NET_DSP ? (k & 1) * 2 + (k >> 1) : k;
}

#if NET_DSP
/* The low half twice. */
static inline uint32_t net_twice(int32_t x) {
    return ((uint32_t)x & 0xffffu) * 0x10001u;
}

static inline uint32_t net_halves(int32_t low, int32_t high) {
#if defined(__ARM_FEATURE_DSP)
    uint32_t r;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(low), "r"(high));
    return r;
#else
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
#endif
}

static inline uint32_t net_word(const void *at) {
    return ((const net_unaligned *)at)->word;
}

/* A word of n < 4 bytes, filled with zero. */
static inline uint32_t net_part(const int8_t *from, uint32_t n, int32_t zero) {
    uint32_t word = ((uint32_t)zero & 0xffu) * 0x01010101u << (8 * n);
    while (n--) {
        word |= (uint32_t)(uint8_t)from[n] << (8 * n);
    }
    return word;
}

/* Bytes 0 and 2 (odd: 1 and 3) of a word in 16 bits, each with a half of `add` added. */
static inline uint32_t net_even(uint32_t word, uint32_t add) {
#if defined(__ARM_FEATURE_DSP)
    uint32_t r;
    __asm__("sxtab16 %0, %1, %2" : "=r"(r) : "r"(add), "r"(word));
    return r;
#else
    uint32_t low = (uint32_t)(int8_t)word + add, high = (uint32_t)(int8_t)(word >> 16);
    return (low & 0xffffu) | (high + (add >> 16)) << 16;
#endif
}

/* sum + both halves of x. */
static inline int32_t net_add_halves(uint32_t x, int32_t sum) {
#if defined(__ARM_FEATURE_DSP)
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(x), "r"(0x00010001), "r"(sum));
    return r;
#else
    return sum + (int16_t)x + (int16_t)(x >> 16);
#endif
}

static inline uint32_t net_odd(uint32_t word, uint32_t add) {
#if defined(__ARM_FEATURE_DSP)
    uint32_t r;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(r) : "r"(add), "r"(word));
    return r;
#else
    return net_even(word >> 8, add);
#endif
}
#endif

/* n values from bytes, less zero, into pixel `lane` of a column of `pixels`; up to a multiple
 * of 4 follow zeros. */
void net_widen(int16_t *column, uint32_t pixels, uint32_t lane, const int8_t *from, uint32_t n,
    int32_t zero);

/* Two rows of a matrix with a column: sums[0] of row 0, sums[1] of row 1, or with two pixels
 * sums[0], [1] of row 0 with pixels 0, 1 and sums[2], [3] of row 1. words of 4 channels >= 1. */
void net_dot_2x1(const int8_t *w, const int16_t *x, int32_t words, int32_t *sums);
#if NET_DSP
void net_dot_2x2(const int8_t *w, const int16_t *x, int32_t words, int32_t *sums);
#endif

/* Depthwise: channels at a time, and sums[i] = bias[i] + sum over taps of x * w for each. The
 * values of a tap lie together; with DSP channels 0 2 1 3. */
#define NET_LANES (NET_DSP ? 4 : 1)
void net_taps(const int16_t *x, const int16_t *w, int32_t taps, int32_t *sums);

#if NET_DSP
/* The same, stored: for layers without addition whose factors are all below one.
 * net_dot_m4f.S knows where each field lies. */
typedef struct {
    int32_t zero; /* 1 + 2 * zero_y */
    int32_t is_narrow; /* whether low and high limit further than int8 */
    uint32_t low, high; /* each in all four bytes */
} net_range;

typedef struct {
    const int8_t *w;
    const int16_t *x;
    int32_t words;
    const int32_t *bias, *multiplier;
    const int8_t *shift;
    int8_t *y[2]; /* of the two pixels */
    int32_t pairs; /* of rows, at least 1 */
    net_range range;
} net_rows;

typedef struct {
    const void *x; /* of 16 bits for net_taps_row, of 8 bits for net_quads_row */
    const int16_t *w;
    int32_t taps; /* of a kernel row of net_quads_row: words of 4 bytes */
    int32_t bias[4];
    int32_t scales[4][2]; /* of each channel: 2 * multiplier, -shift - 1 */
    int8_t *y;
    int32_t y_step; /* in bytes */
    int32_t pixels; /* at least 1 */
    int32_t x_step; /* in bytes */
    net_range range;
    uint8_t *mask; /* or NULL: the byte of the first pixel */
    uint32_t mask_step, mask_shift; /* bytes to the next pixel's; 0 or 4, the bit of the first channel */
    uint32_t mask_bits; /* NET_MASK_BITS */
    int32_t segments, pitch; /* net_quads_row: kernel rows, bytes from the end of one to the next */
} net_taps_args;

#define NET_MASK_BITS 0x00040001u

/* They change what they are given. */
void net_rows_2x2(net_rows *r);
void net_rows_2x1(net_rows *r);
void net_taps_row(net_taps_args *t);

/* Four output channels: for each 4 bytes of x w has channels 0 2 1 3 in 16 bits of one output
 * channel after the other. */
void net_quads_row(net_taps_args *t);
#endif

#endif
