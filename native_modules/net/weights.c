/* SPDX-License-Identifier: MIT
 * Updates of weights in place, from gradients that exist one tap at a time. */
#include "net_format.h"
#include "net_math.h"
#include "net_rows.h"
#include "net_update.h"

#if !defined(NET_DENSE)

int net_state_bits(const net_update_rule *rule) {
    return rule->optimizer == NET_OPT_PLAIN ? 0 : rule->optimizer == NET_OPT_MOMENTUM8 ? 4 : 8;
}

/* 256 w + f moves by a step in 1/256. */
static void move_wide(const net_update_rule *rule, int8_t *w, uint32_t i, int32_t step) {
    int8_t *rest = (int8_t *)rule->v + i;
    int32_t to = net_moved_by(rule, 256 * w[0] + *rest, step, 127 * 256);
    w[0] = (int8_t)((to + 128) >> 8);
    *rest = (int8_t)(to - 256 * w[0]);
}

void net_move_weight(const net_update_rule *rule, int8_t *w, uint32_t i, int32_t a, net_factor f) {
    int32_t step = net_random_step(a, f, &rule->state->seed);
    if (rule->optimizer == NET_OPT_WIDE) {
        move_wide(rule, w, i, step);
        return;
    }
    if (rule->optimizer != NET_OPT_PLAIN) {
        int bits = net_state_bits(rule);
        int16_t *wide = (int16_t *)rule->v + i;
        int8_t *narrow = (int8_t *)rule->v + i;
        int32_t v = bits == 8 ? *wide : *narrow;
        v = net_within(net_decayed(v, rule->momentum) + step, bits == 8 ? 32767 : 127);
        int32_t kept = rule->optimizer == NET_OPT_ACCUMULATE && rule->move ? 0 : v;
        if (bits == 8) {
            *wide = (int16_t)kept;
        } else {
            *narrow = (int8_t)v;
        }
        if (!rule->move) {
            return;
        }
        step = (v + (int32_t)(net_draw(&rule->state->seed) >> (32 - bits))) >> bits;
    }
    *w = (int8_t)net_moved_by(rule, *w, step, 127);
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

void net_weight_update_plain(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw, per_group = (uint32_t)k->cout / k->groups, at = 0;
    for (uint32_t c = 0; c < k->cout; c++) {
        if (net_is_dead(rule, c)) {
            at += taps * k->split;
            continue;
        }
        net_factor f = net_channel_factor(rule, rule->ratio[c], net_state_bits(rule));
        net_row row = net_row_of(k, k->wt, c, k->split);
        for (uint32_t tap = 0; tap < taps; tap++) {
            tap_sums(a, c, tap, c / per_group * k->split, k->split,
                (uint32_t)k->split * k->groups);
            for (uint32_t i = 0; i < k->split; i++, at++) {
                uint32_t in_row = net_in_row(row.step, tap * k->split + i);
                net_move_weight(rule, (int8_t *)row.row + in_row, at, a->work[i], f);
            }
        }
    }
}

void net_depthwise_update_plain(const net_update_rule *rule, const net_weight_args *a,
    uint32_t c) {
    const net_conv_args *k = a->layer;
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (; c < k->split; c++) {
        if (net_is_dead(rule, c)) {
            continue;
        }
        net_factor f = net_channel_factor(rule, rule->ratio[c], net_state_bits(rule));
        for (uint32_t tap = 0; tap < taps; tap++) {
            uint32_t at = c * taps + tap;
            tap_sums(a, c, tap, c, 1, k->split);
            net_move_weight(rule, (int8_t *)k->wt + at, at, a->work[0], f);
        }
    }
}

#else

/* Weight by weight, for a module that trains dense layers only. */
void net_weight_update_plain(const net_update_rule *rule, const net_weight_args *a) {
    const net_conv_args *k = a->layer;
    for (uint32_t c = 0; c < k->cout; c++) {
        if (net_is_dead(rule, c)) {
            continue;
        }
        net_factor f = net_channel_factor(rule, rule->ratio[c], 0);
        net_row row = net_row_of(k, k->wt, c, k->split);
        for (uint32_t i = 0; i < k->split; i++) {
            int8_t *w = (int8_t *)row.row + net_in_row(row.step, i);
            int32_t step = net_random_step(a->g[c] * (a->x[i] - k->zero_x), f, &rule->state->seed);
            *w = (int8_t)net_moved_by(rule, *w, step, 127);
        }
    }
}

#endif
