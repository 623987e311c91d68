/* SPDX-License-Identifier: MIT
 * Updates of weights and biases in place, from gradients that exist one channel at a time. */
#include "net_format.h"
#include "net_math.h"
#include "net_rows.h"

typedef struct {
    int32_t c;
    int32_t e;
} factor;

/* C and E of one channel, for steps in 1/2^bits. */
static factor channel_factor(const net_update_rule *rule, uint32_t ratio, int bits) {
    int64_t c = (int64_t)((1u << 30) / ratio) * rule->p;
    factor f = {0, rule->e + bits};
    while (c > INT32_MAX) {
        c >>= 1;
        f.e++;
    }
    f.c = (int32_t)c;
    return f;
}

/* Section 6: a * c * 2^e, rounded at random. */
static int32_t random_step(int32_t a, factor f, uint32_t *seed) {
    int64_t t = (int64_t)a * f.c;
    uint32_t u = net_draw(seed);
    int32_t d = -f.e;
    if (d <= 0) {
        int64_t most = d < -31 ? 0 : INT64_C(1) << (31 + d);
        if (t > most || t < -most) {
            return t > 0 ? INT32_MAX : -INT32_MAX;
        }
        t = d < -31 ? 0 : t * (INT64_C(1) << -d);
    } else {
        if (d > 31) {
            t >>= d - 31 > 63 ? 63 : d - 31;
            d = 31;
        }
        t = (t + (u >> (32 - d))) >> d;
    }
    return t > INT32_MAX ? INT32_MAX : t < -INT32_MAX ? -INT32_MAX : (int32_t)t;
}

/* old - step within +-most, and what is counted. */
static int32_t moved_by(const net_update_rule *rule, int32_t old, int64_t step, int32_t most) {
    int64_t to = old - step;
    if (to > most || to < -most) {
        ++*rule->rails;
        to = to > 0 ? most : -most;
    }
    *rule->moved += to != old;
    return (int32_t)to;
}

static int32_t within(int64_t v, int32_t most) {
    return v > most ? most : v < -most ? -most : (int32_t)v;
}

/* v mu / 256, halves to even. */
static int64_t decayed(int64_t v, int32_t mu) {
    int64_t x = v * mu, down = x >> 8;
    int32_t rest = (int32_t)(x & 255);
    return down + (rest > 128 || (rest == 128 && (down & 1)));
}

static int state_bits(const net_update_rule *rule) {
    return rule->optimizer == NET_OPT_PLAIN ? 0 : rule->optimizer == NET_OPT_MOMENTUM8 ? 4 : 8;
}

/* 256 w + f moves by a step in 1/256. */
static void move_wide(const net_update_rule *rule, int8_t *w, uint32_t i, int32_t step) {
    int8_t *rest = (int8_t *)rule->v + i;
    int32_t to = moved_by(rule, 256 * w[0] + *rest, step, 127 * 256);
    w[0] = (int8_t)((to + 128) >> 8);
    *rest = (int8_t)(to - 256 * w[0]);
}

/* Weight number i of the layer, at w, has the gradient sum a. */
static void move_weight(const net_update_rule *rule, int8_t *w, uint32_t i, int32_t a, factor f) {
    int32_t step = random_step(a, f, rule->seed);
    if (rule->optimizer == NET_OPT_WIDE) {
        move_wide(rule, w, i, step);
        return;
    }
    if (rule->optimizer != NET_OPT_PLAIN) {
        int bits = state_bits(rule);
        int16_t *wide = (int16_t *)rule->v + i;
        int8_t *narrow = (int8_t *)rule->v + i;
        int32_t v = bits == 8 ? *wide : *narrow;
        v = within(decayed(v, rule->momentum) + step, bits == 8 ? 32767 : 127);
        int32_t kept = rule->optimizer == NET_OPT_ACCUMULATE && rule->move ? 0 : v;
        if (bits == 8) {
            *wide = (int16_t)kept;
        } else {
            *narrow = (int8_t)v;
        }
        if (!rule->move) {
            return;
        }
        step = (v + (int32_t)(net_draw(rule->seed) >> (32 - bits))) >> bits;
    }
    *w = (int8_t)moved_by(rule, *w, step, 127);
}

static int is_dead(const net_update_rule *rule, uint32_t c) {
    int dead = rule->ratio[c] < 8;
    *rule->dead += (uint32_t)dead;
    return dead;
}

void net_bias_update_ref(const net_update_rule *rule, const int8_t *g, int32_t *bias,
    uint32_t pixels, uint32_t channels) {
    for (uint32_t c = 0; c < channels; c++) {
        if (is_dead(rule, c)) {
            continue;
        }
        int32_t a = 0;
        for (uint32_t p = 0; p < pixels; p++) {
            a += g[p * channels + c];
        }
        int64_t step = random_step(a, channel_factor(rule, rule->ratio[c], 0), rule->seed);
        if (rule->v) {
            int32_t *v = (int32_t *)rule->v + c;
            step = *v = within(decayed(*v, rule->momentum) + step, INT32_MAX);
            if (!rule->move) {
                continue;
            }
            *v = rule->optimizer == NET_OPT_ACCUMULATE ? 0 : *v;
        }
        bias[c] = moved_by(rule, bias[c], step, 1 << 30);
    }
}

/* Sums over the pixels for one tap: n channels of x from `from` on, of `step` a pixel. */
static void tap_sums(const net_weight_args *a, uint32_t c, uint32_t tap, uint32_t from, uint32_t n,
    uint32_t step) {
    const net_conv_args *k = a->layer;
    int32_t i = (int32_t)(tap / k->kw), j = (int32_t)(tap % k->kw);
    const int8_t *g = a->g + c;
    for (uint32_t b = 0; b < n; b++) {
        a->work[b] = 0;
    }
    for (int32_t r = 0; r < k->oh; r++) {
        int32_t row = r * k->stride_h - k->pad_top + i;
        for (int32_t t = 0; t < k->ow; t++, g += k->cout) {
            int32_t column = t * k->stride_w - k->pad_left + j;
            if (row < 0 || row >= k->h || column < 0 || column >= k->w_in) {
                continue;
            }
            const int8_t *x = a->x + ((uint32_t)row * k->w_in + (uint32_t)column) * step + from;
            for (uint32_t b = 0; b < n; b++) {
                a->work[b] += *g * (x[b] - k->zero_x);
            }
        }
    }
}

void net_weight_update_ref(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw, per_group = (uint32_t)k->cout / k->groups, at = 0;
    for (uint32_t c = 0; c < k->cout; c++) {
        if (is_dead(rule, c)) {
            at += taps * k->split;
            continue;
        }
        factor f = channel_factor(rule, rule->ratio[c], state_bits(rule));
        net_row row = net_row_of(k, k->wt, c, k->split);
        for (uint32_t tap = 0; tap < taps; tap++) {
            tap_sums(a, c, tap, c / per_group * k->split, k->split,
                (uint32_t)k->split * k->groups);
            for (uint32_t i = 0; i < k->split; i++, at++) {
                uint32_t in_row = net_in_row(row.step, tap * k->split + i);
                move_weight(rule, (int8_t *)row.row + in_row, at, a->work[i], f);
            }
        }
    }
}

void net_depthwise_update_ref(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (uint32_t c = 0; c < k->split; c++) {
        if (is_dead(rule, c)) {
            continue;
        }
        factor f = channel_factor(rule, rule->ratio[c], state_bits(rule));
        for (uint32_t tap = 0; tap < taps; tap++) {
            uint32_t at = c * taps + tap;
            tap_sums(a, c, tap, c, 1, k->split);
            move_weight(rule, (int8_t *)k->wt + at, at, a->work[0], f);
        }
    }
}
