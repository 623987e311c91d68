/* SPDX-License-Identifier: MIT
 * What the kernels of float32 programs share: the structures of net_kernels.h over floats. Weights
 * lie as output channel, row, column, input channel; where int8 has multipliers, low and high
 * follow. */
#ifndef FLOAT_SHARED_H
#define FLOAT_SHARED_H

#include "net_kernels.h"

#define F(p) ((float *)(p))
#define CF(p) ((const float *)(p))

typedef union {
    int32_t bits;
    float real;
} net_bits_f32;

/* The weight of output c, a tap and an input channel of the group (depthwise: channel 0). */
static inline float weight_f32(const net_conv_args *k, uint32_t c, uint32_t tap, uint32_t i) {
    uint32_t taps = (uint32_t)k->kh * k->kw, depth = (uint32_t)k->cin / k->groups;
    if (depth == 1 && k->groups == k->cout && k->cout > 1) {
        return c < k->split ? CF(k->wt)[c * taps + tap] : CF(k->w)[(c - k->split) * taps + tap];
    }
    uint32_t rest = depth - k->split;
    return i < k->split ? CF(k->wt)[(c * taps + tap) * k->split + i]
        : CF(k->w)[(c * taps + tap) * rest + i - k->split];
}

static inline int inside_f32(int32_t row, int32_t column, const net_conv_args *k) {
    return row >= 0 && row < k->h && column >= 0 && column < k->w_in;
}

/* 1 / x for x > 0 by Newton's steps: not every toolchain links a division into a module. */
static inline float inverse_f32(float x) {
    net_bits_f32 y = { .real = x };
    y.bits = 0x7EF311C3 - y.bits;
    for (int i = 0; i < 4; i++) {
        y.real *= 2.0f - x * y.real;
    }
    return y.real;
}

/* e^x for x <= 0: 2^n times a polynomial of |f| <= ln 2 / 2; 0 below -87. */
static inline float exponential_f32(float x) {
    if (!(x > -87.0f)) {
        return x == x ? 0.0f : x;
    }
    int32_t n = (int32_t)(x * 1.44269504f - 0.5f);
    float f = x - (float)n * 0.693359375f + (float)n * 2.12194440e-4f;
    float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.166666667f + f * (0.0416666667f
        + f * (0.00833333333f + f * 0.00138888889f)))));
    net_bits_f32 two = { .bits = (n + 127) * (1 << 23) };
    return p * two.real;
}

/* The rate times the largest gradient of n outputs is at most `share` of the largest output, which
 * counts as 1 at least: gradients above that are scaled. */
static inline void bound_f32(net_state *state, const float *y, float *g, uint32_t n, float share) {
    net_bits_f32 rate = { .bits = state->rate_mantissa };
    float largest = 1, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        float size = y[i] < 0 ? -y[i] : y[i], slope = g[i] < 0 ? -g[i] : g[i];
        largest = size > largest ? size : largest;
        most = slope > most ? slope : most;
    }
    if (rate.real * most > largest * share) {
        float kept = largest * share * inverse_f32(rate.real * most);
        state->rails++;
        for (uint32_t i = 0; i < n; i++) {
            g[i] *= kept;
        }
    }
}

/* As net_window. */
static inline float window_f32(const net_conv_args *k, uint32_t c, int32_t row, int32_t column,
    int is_max, uint32_t *more) {
    int32_t top = row * k->stride_h - k->pad_top, left = column * k->stride_w - k->pad_left;
    float found = 0;
    *more = 0;
    for (int32_t r = top < 0 ? 0 : top; r < top + k->kh && r < k->h; r++) {
        for (int32_t t = left < 0 ? 0 : left; t < left + k->kw && t < k->w_in; t++) {
            uint32_t at = (uint32_t)(r * k->w_in + t);
            float x = CF(k->x)[at * k->cin + c];
            if (!is_max) {
                found += x;
                ++*more;
            } else if (!*more || x > found) {
                found = x;
                *more = at + 1;
            }
        }
    }
    return found;
}

#endif
