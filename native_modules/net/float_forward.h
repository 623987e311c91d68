/* SPDX-License-Identifier: MIT
 * Kernels of float32 programs: the forward pass. */
#ifndef FLOAT_FORWARD_H
#define FLOAT_FORWARD_H

#include "float_shared.h"

/* x points at the first input channel that output c takes. */
static float sum_f32(const net_conv_args *k, uint32_t c, int32_t top, int32_t left,
    const float *x) {
    uint32_t depth = (uint32_t)k->cin / k->groups;
    float sum = CF(k->bias)[c];
    for (uint32_t tap = 0; tap < (uint32_t)k->kh * k->kw; tap++) {
        int32_t row = top + (int32_t)(tap / k->kw), column = left + (int32_t)(tap % k->kw);
        if (inside_f32(row, column, k)) {
            const float *at = x + row * k->x_pitch + column * k->x_step;
            for (uint32_t i = 0; i < depth; i++) {
                sum += at[i] * weight_f32(k, c, tap, i);
            }
        }
    }
    return sum;
}

static void conv_f32(const net_conv_args *k, uint32_t first, uint32_t end, int depthwise) {
    uint32_t depth = (uint32_t)k->cin / k->groups, per_group = (uint32_t)k->cout / k->groups;
    float low = CF(k->multiplier)[0], high = CF(k->multiplier)[1];
    for (uint32_t c = first; c < end; c++) {
        const float *x = CF(k->x) + (depthwise ? c - first : c / per_group * depth);
        for (int32_t r = 0; r < k->oh; r++) {
            for (int32_t t = 0; t < k->ow; t++) {
                float sum = sum_f32(k, c, r * k->stride_h - k->pad_top,
                    t * k->stride_w - k->pad_left, x);
                float y = sum < low ? low : sum > high ? high : sum;
                uint32_t bit = (uint32_t)(r * k->ow + t) * k->cout + c;
                int32_t at = r * k->y_pitch + t * k->y_step + (int32_t)(c - first);
                if (k->mask && y == sum) {
                    k->mask[bit >> 3] |= (uint8_t)(1u << (bit & 7));
                }
                F(k->y)[at] = k->add ? y + CF(k->other)[at] : y;
            }
        }
    }
}

static int net_conv_f32(const net_conv_args *k, uint32_t first, uint32_t end) {
    conv_f32(k, first, end, 0);
    return 0;
}

static int net_depthwise_f32(const net_conv_args *k, uint32_t first, uint32_t end) {
    conv_f32(k, first, end, 1);
    return 0;
}

void net_add_f32(const net_add_rule *rule, const int8_t *a, const int8_t *b, int8_t *y,
    uint32_t n) {
    (void)rule;
    for (uint32_t i = 0; i < n; i++) {
        F(y)[i] = CF(a)[i] + CF(b)[i];
    }
}

void net_pool_f32(const net_conv_args *k, int is_max) {
    for (int32_t place = 0; place < k->oh * k->ow * k->cin; place++) {
        int32_t pixel = place / k->cin;
        uint32_t n, c = (uint32_t)(place % k->cin);
        float found = window_f32(k, c, pixel / k->ow, pixel % k->ow, is_max, &n);
        F(k->y)[place] = is_max || !n ? found : found * inverse_f32((float)n);
    }
}

void net_pad_f32(const net_conv_args *k) {
    for (int32_t place = 0; place < k->oh * k->ow * k->cin; place++) {
        int32_t pixel = place / k->cin, c = place % k->cin;
        int32_t r = pixel / k->ow - k->pad_top, t = pixel % k->ow - k->pad_left;
        F(k->y)[place] = inside_f32(r, t, k) ? CF(k->x)[(r * k->w_in + t) * k->cin + c] : 0.0f;
    }
}

#endif
