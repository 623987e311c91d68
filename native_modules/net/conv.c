/* SPDX-License-Identifier: MIT
 * Convolution in plain C: the reference of every faster kernel. */
#include "net_rows.h"
#include "net_store.h"

/* Taps first <= t < end of a kernel that lie inside [0, size) from `at` on. */
static void inside(int32_t at, uint32_t taps, uint32_t size, uint32_t *first, uint32_t *end) {
    *first = at < 0 ? (uint32_t)-at : 0;
    int32_t room = (int32_t)size - at;
    *end = room < (int32_t)taps ? (room < 0 ? 0 : (uint32_t)room) : taps;
}

static int32_t dot(const int8_t *x, const net_row *w, uint32_t tap, int32_t zero) {
    int32_t sum = 0;
    for (uint32_t i = 0, at = tap * w->depth; i < w->depth; i++, at++) {
        sum += (x[i] - zero) * w->row[net_in_row(w->step, at)];
    }
    return sum;
}

/* The sum of one output element; x points at the group's first channel. */
static int32_t element(const net_conv_args *k, uint32_t c, int32_t top, int32_t left,
    const int8_t *x, uint32_t depth) {
    uint32_t r0, r1, c0, c1;
    inside(top, k->kh, k->h, &r0, &r1);
    inside(left, k->kw, k->w_in, &c0, &c1);
    net_row trained = net_row_of(k, k->wt, c, k->split);
    net_row frozen = net_row_of(k, k->w, c, depth - k->split);
    int32_t sum = k->bias[c];
    for (uint32_t r = r0; r < r1; r++) {
        for (uint32_t t = c0; t < c1; t++) {
            const int8_t *at = x + (top + (int32_t)r) * k->x_pitch
                + (left + (int32_t)t) * k->x_step;
            sum += dot(at, &trained, r * k->kw + t, k->zero_x);
            sum += dot(at + k->split, &frozen, r * k->kw + t, k->zero_x);
        }
    }
    return sum;
}

int net_conv_plain(const net_conv_args *k, uint32_t first, uint32_t end) {
    uint32_t depth = (uint32_t)k->cin / k->groups, per_group = (uint32_t)k->cout / k->groups;
    for (uint32_t r = 0; r < k->oh; r++) {
        for (uint32_t t = 0; t < k->ow; t++) {
            int32_t top = (int32_t)(r * k->stride_h) - k->pad_top;
            int32_t left = (int32_t)(t * k->stride_w) - k->pad_left;
            int32_t at = (int32_t)r * k->y_pitch + (int32_t)(t * k->y_step);
            for (uint32_t c = first; c < end; c++) {
                const int8_t *x = k->x + c / per_group * depth;
                net_store(k, element(k, c, top, left, x, depth), c, at + (int32_t)(c - first),
                    (r * k->ow + t) * k->cout + c);
            }
        }
    }
    return 0;
}

static int32_t tap_sum(const net_conv_args *k, const int8_t *x, const int8_t *w, int32_t top,
    int32_t left) {
    uint32_t r0, r1, c0, c1;
    inside(top, k->kh, k->h, &r0, &r1);
    inside(left, k->kw, k->w_in, &c0, &c1);
    int32_t sum = 0;
    for (uint32_t r = r0; r < r1; r++) {
        const int8_t *row = x + (top + (int32_t)r) * k->x_pitch + left * k->x_step;
        for (uint32_t t = c0; t < c1; t++) {
            sum += (row[(int32_t)t * k->x_step] - k->zero_x) * w[r * k->kw + t];
        }
    }
    return sum;
}

int net_depthwise_plain(const net_conv_args *k, uint32_t first, uint32_t end) {
    uint32_t taps = (uint32_t)k->kh * k->kw;
    for (uint32_t c = first; c < end; c++) {
        const int8_t *w = c < k->split ? k->wt + c * taps : k->w + (c - k->split) * taps;
        for (uint32_t r = 0; r < k->oh; r++) {
            for (uint32_t t = 0; t < k->ow; t++) {
                int32_t top = (int32_t)(r * k->stride_h) - k->pad_top;
                int32_t left = (int32_t)(t * k->stride_w) - k->pad_left;
                int32_t sum = k->bias[c] + tap_sum(k, k->x + (c - first), w, top, left);
                net_store(k, sum, c,
                    (int32_t)r * k->y_pitch + (int32_t)(t * k->y_step + c - first),
                    (r * k->ow + t) * k->cout + c);
            }
        }
    }
    return 0;
}
