/* SPDX-License-Identifier: MIT
 * Kernels of float32 programs: loss, backward pass and updates. */
#ifndef FLOAT_TRAINING_H
#define FLOAT_TRAINING_H

#include "float_shared.h"

/* The label's share in 1/32768, or -1 where the loss is not finite. */
int32_t net_softmax_loss_f32(const int8_t *x, uint32_t n, const uint16_t *table,
    uint32_t label, int8_t *g, int32_t *exponent, int32_t *work) {
    float most = CF(x)[0], sum = 0;
    (void)table;
    (void)work;
    *exponent = 0;
    for (uint32_t i = 1; i < n; i++) {
        most = CF(x)[i] > most ? CF(x)[i] : most;
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += F(g)[i] = exponential_f32(CF(x)[i] - most);
    }
    float inverse = inverse_f32(sum);
    for (uint32_t i = 0; i < n; i++) {
        F(g)[i] *= inverse;
    }
    float share = F(g)[label];
    F(g)[label] -= 1.0f;
    return sum - sum == 0 && share == share ? (int32_t)(share * 32768.0f + 0.5f) : -1;
}

void net_clamp_gradient_f32(const int8_t *g, const uint8_t *mask, int8_t *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        F(y)[i] = mask[i >> 3] >> (i & 7) & 1 ? CF(g)[i] : 0.0f;
    }
}

int32_t net_sum_gradients_f32(const int8_t *a, const int8_t *b, int8_t *y, uint32_t n,
    int32_t ea, int32_t eb) {
    (void)ea;
    (void)eb;
    for (uint32_t i = 0; i < n; i++) {
        F(y)[i] = CF(a)[i] + CF(b)[i];
    }
    return 0;
}

/* Spread the gradient of output c over the sums of its input channels, `step` a pixel. */
static void spread_f32(const net_conv_args *k, const float *g, uint32_t c, float *sums,
    uint32_t step, uint32_t depth) {
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++) {
            float h = g[(uint32_t)(r * k->ow + t) * k->cout + c];
            for (uint32_t tap = 0; tap < (uint32_t)k->kh * k->kw; tap++) {
                int32_t row = r * k->stride_h - k->pad_top + (int32_t)(tap / k->kw);
                int32_t column = t * k->stride_w - k->pad_left + (int32_t)(tap % k->kw);
                if (inside_f32(row, column, k)) {
                    float *to = sums + (uint32_t)(row * k->w_in + column) * step;
                    for (uint32_t i = 0; i < depth; i++) {
                        to[i] += h * weight_f32(k, c, tap, i);
                    }
                }
            }
        }
    }
}

static int net_input_gradient_f32(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t depth = (uint32_t)k->cin / k->groups, per_group = (uint32_t)k->cout / k->groups;
    for (uint32_t i = 0; i < (uint32_t)k->h * k->w_in * k->cin; i++) {
        F(a->gx)[i] = 0;
    }
    for (uint32_t c = 0; c < k->cout; c++) {
        spread_f32(k, CF(a->g), c, F(a->gx) + c / per_group * depth, k->cin, depth);
    }
    return 0;
}

/* Spread the gradient of one channel of a pool over the sums of its input. */
static void spread_pool_f32(const net_gradient_args *a, uint32_t c, float *sums) {
    const net_conv_args *k = a->layer;
    for (int32_t place = 0; place < k->oh * k->ow; place++) {
        int32_t r = place / k->ow, t = place % k->ow;
        float h = CF(a->g)[(uint32_t)place * k->cin + c];
        uint32_t more;
        window_f32(k, c, r, t, a->pools > 1, &more);
        if (a->pools > 1 && more) {
            sums[more - 1] += h;
        }
        if (a->pools > 1 || !more) {
            continue;
        }
        int32_t top = r * k->stride_h - k->pad_top, left = t * k->stride_w - k->pad_left;
        h *= inverse_f32((float)more);
        for (int32_t i = top < 0 ? 0 : top; i < top + k->kh && i < k->h; i++) {
            for (int32_t j = left < 0 ? 0 : left; j < left + k->kw && j < k->w_in; j++) {
                sums[i * k->w_in + j] += h;
            }
        }
    }
}

/* Channel by channel through the work area: gx may be g, and the x of a pool. */
int net_depthwise_gradient_f32(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t pixels = (uint32_t)k->h * k->w_in;
    for (uint32_t c = 0; c < k->cin; c++) {
        for (uint32_t p = 0; p < pixels; p++) {
            F(a->work)[p] = 0;
        }
        if (a->pools) {
            spread_pool_f32(a, c, F(a->work));
        } else {
            spread_f32(k, CF(a->g), c, F(a->work), 1, 1);
        }
        for (uint32_t p = 0; p < pixels; p++) {
            F(a->gx)[p * k->cin + c] = F(a->work)[p];
        }
    }
    return 0;
}

/* Move one parameter by its gradient; one that would not stay finite keeps its value. */
static void move_f32(const net_update_rule *rule, float *w, uint32_t i, float gradient) {
    net_bits_f32 rate = { .bits = rule->state->rate_mantissa };
    float step = rate.real * gradient, mu = (float)rule->momentum * 0.00390625f;
    if (rule->v) {
        float *v = F(rule->v) + i;
        step += mu * *v;
        *v = step;
        if (!rule->move) {
            return;
        }
        *v = rule->optimizer == NET_OPT_ACCUMULATE ? 0.0f : step;
    }
    float to = *w - step;
    if (to - to != 0) {
        rule->state->rails++;
        return;
    }
    rule->state->moved += to != *w;
    *w = to;
}

void net_bias_update_f32(const net_update_rule *rule, const int8_t *g, int32_t *bias,
    uint32_t pixels, uint32_t channels) {
    for (uint32_t c = 0; c < channels; c++) {
        float sum = 0;
        for (uint32_t p = 0; p < pixels; p++) {
            sum += CF(g)[p * channels + c];
        }
        move_f32(rule, F(bias) + c, c, sum);
    }
}

/* The gradient of one weight: input channel `from` of x, which has `step` channels. */
static float weight_gradient_f32(const net_weight_args *a, uint32_t c, uint32_t tap, uint32_t from,
    uint32_t step) {
    const net_conv_args *k = a->layer;
    float sum = 0;
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++) {
            int32_t row = r * k->stride_h - k->pad_top + (int32_t)(tap / k->kw);
            int32_t column = t * k->stride_w - k->pad_left + (int32_t)(tap % k->kw);
            if (inside_f32(row, column, k)) {
                sum += CF(a->g)[(uint32_t)(r * k->ow + t) * k->cout + c]
                    * CF(a->x)[(uint32_t)(row * k->w_in + column) * step + from];
            }
        }
    }
    return sum;
}

static void net_weight_update_f32(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw, per_group = (uint32_t)k->cout / k->groups, at = 0;
    for (uint32_t c = 0; c < k->cout; c++) {
        uint32_t from = c / per_group * k->split;
        for (uint32_t tap = 0; tap < taps; tap++) {
            for (uint32_t i = 0; i < k->split; i++, at++) {
                move_f32(rule, F(k->wt) + at, at,
                    weight_gradient_f32(a, c, tap, from + i, (uint32_t)k->split * k->groups));
            }
        }
    }
}

static void net_depthwise_update_f32(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (uint32_t at = 0; at < k->split * taps; at++) {
        uint32_t c = at / taps;
        move_f32(rule, F(k->wt) + at, at, weight_gradient_f32(a, c, at % taps, c, k->split));
    }
}

#endif
