/* SPDX-License-Identifier: MIT
 * Kernels of float32 programs: the structures of net_kernels.h over floats. Weights lie as output
 * channel, row, column, input channel; where int8 has multipliers, low and high follow. */
#ifndef FLOAT_KERNELS_H
#define FLOAT_KERNELS_H

#include "net_kernels.h"

#define F(p) ((float *)(p))
#define CF(p) ((const float *)(p))

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

/* 1 / x for x > 0 by Newton's steps: not every toolchain links a division into a module. */
static float inverse_f32(float x) {
    union {
        float real;
        int32_t bits;
    } y = { .real = x };
    y.bits = 0x7EF311C3 - y.bits;
    for (int i = 0; i < 4; i++) {
        y.real *= 2.0f - x * y.real;
    }
    return y.real;
}

/* As net_window. */
static float window_f32(const net_conv_args *k, uint32_t c, int32_t row, int32_t column,
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

/* e^x for x <= 0: 2^n times a polynomial of |f| <= ln 2 / 2; 0 below -87. */
static float exponential_f32(float x) {
    if (!(x > -87.0f)) {
        return x == x ? 0.0f : x;
    }
    int32_t n = (int32_t)(x * 1.44269504f - 0.5f);
    float f = x - (float)n * 0.693359375f + (float)n * 2.12194440e-4f;
    float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.166666667f + f * (0.0416666667f
        + f * (0.00833333333f + f * 0.00138888889f)))));
    union {
        float real;
        int32_t bits;
    } two = { .bits = (n + 127) * (1 << 23) };
    return p * two.real;
}

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
    net_add_f32(0, a, b, y, n);
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
    union {
        int32_t bits;
        float real;
    } rate = { .bits = rule->state->rate_mantissa };
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
