/* SPDX-License-Identifier: MIT
 * Gradients of the input of layers and pools in plain C. */
#include "net_block.h"
#include "net_rows.h"

int net_has_output(int32_t at, uint32_t stride, uint32_t count, uint32_t *index) {
    if (at < 0) {
        return 0;
    }
    *index = (uint32_t)at;
    if (stride > 1) {
        __asm__("" : "+r"(stride)); /* as in net_row_of: no signed division */
        *index /= stride;
    }
    return *index * stride == (uint32_t)at && *index < count;
}

/* sums += h times the weights of one tap. */
static void spread(int32_t *sums, const net_row *w, uint32_t tap, int32_t h) {
    for (uint32_t i = 0, at = tap * w->depth; i < w->depth; i++, at++) {
        sums[i] += h * w->row[net_in_row(w->step, at)];
    }
}

/* Add what one output pixel gives to an input pixel through one tap. */
static void add_tap(const net_gradient_args *a, const int8_t *g, uint32_t tap) {
    const net_conv_args *k = a->layer;
    /* Output channels of a group, counted without a division. */
    uint32_t groups = k->groups, seen = 0, depth = k->cin;
    if (groups > 1) {
        __asm__("" : "+r"(groups));
        depth /= groups;
    }
    int32_t *to = a->work;
    for (uint32_t c = 0; c < k->cout; c++) {
        int32_t h = net_fold(g[c], a->ratio[c], a->fold);
        net_row row = net_row_of(k, k->wt, c, k->split);
        spread(to, &row, tap, h);
        row = net_row_of(k, k->w, c, depth - k->split);
        spread(to + k->split, &row, tap, h);
        seen += k->groups;
        if (seen >= k->cout) {
            seen = 0;
            to += depth;
        }
    }
}

static void pixel(const net_gradient_args *a, int32_t row, int32_t column) {
    const net_conv_args *k = a->layer;
    uint32_t r, t;
    for (uint32_t c = 0; c < k->cin; c++) {
        a->work[c] = 0;
    }
    for (int32_t i = 0; i < k->kh; i++) {
        if (!net_has_output(row + k->pad_top - i, k->stride_h, k->oh, &r)) {
            continue;
        }
        for (int32_t j = 0; j < k->kw; j++) {
            if (net_has_output(column + k->pad_left - j, k->stride_w, k->ow, &t)) {
                add_tap(a, a->g + (r * k->ow + t) * k->cout,
                    (uint32_t)(i * k->kw + j));
            }
        }
    }
}

int net_input_gradient_plain(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    int8_t *at = a->gx;
    int s = 0;
    for (int32_t row = 0; row < k->h; row++) {
        for (int32_t column = 0; column < k->w_in; column++, at += k->cin) {
            pixel(a, row, column);
            s = net_store_block(a->work, k->cin, at, 1, s, a->gx, 1, (uint32_t)(at - a->gx), 0);
        }
    }
    return s;
}

int net_lanes_shift(const net_gradient_args *a, int32_t most, uint32_t c, uint32_t count,
    int32_t row, int s) {
    const net_conv_args *k = a->layer;
    int to = net_block_shift(most, s);
    net_halve(a->gx, (uint32_t)k->h * k->w_in, c, k->cin, to - s);
    net_halve(a->gx + c, (uint32_t)row * k->w_in, count, k->cin, to - s);
    return to;
}

void net_store_lanes(const net_gradient_args *a, const int32_t *sums, uint32_t c, uint32_t count,
    int32_t row, int s) {
    const net_conv_args *k = a->layer;
    int8_t *at = a->gx + (uint32_t)row * k->w_in * k->cin + c;
    for (; count; count--) {
        net_store_sums(sums++, 4, k->w_in, at++, k->cin, s);
    }
}

/* The sums of one channel of a pool over the whole input. */
static void plane(const net_gradient_args *a, uint32_t c) {
    const net_conv_args *k = a->layer;
    uint32_t pixels = (uint32_t)k->h * k->w_in, more;
    const int8_t *g = a->g + c;
    for (uint32_t i = 0; i < pixels; i++) {
        a->work[i] = 0;
    }
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++, g += k->cout) {
            int32_t h = *g;
            net_window(k, c, r, t, a->pools > 1, &more);
            if (!more) {
                continue;
            }
            if (a->pools > 1) {
                a->work[more - 1] += h;
                continue;
            }
            h *= (int32_t)(((1u << (a->fold - 1)) + more / 2) / more);
            int32_t top = r * k->stride_h - k->pad_top, left = t * k->stride_w - k->pad_left;
            for (int32_t i = top < 0 ? 0 : top; i < top + k->kh && i < k->h; i++) {
                for (int32_t j = left < 0 ? 0 : left; j < left + k->kw && j < k->w_in; j++) {
                    a->work[i * k->w_in + j] += h;
                }
            }
        }
    }
}

int net_pool_gradient(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    uint32_t pixels = (uint32_t)k->h * k->w_in;
    int s = 0;
    for (uint32_t c = 0; c < k->cin; c++) {
        plane(a, c);
        s = net_store_block(a->work, pixels, a->gx + c, k->cin, s, a->gx, pixels, c, k->cin);
    }
    return s;
}

void net_clamp_gradient(const int8_t *g, const uint8_t *mask, int8_t *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        y[i] = mask[i >> 3] >> (i & 7) & 1 ? g[i] : 0;
    }
}

int32_t net_sum_gradients(const int8_t *a, const int8_t *b, int8_t *y, uint32_t n, int32_t ea,
    int32_t eb) {
    int32_t apart = ea - eb, e = apart < 0 ? ea : eb, fa = 1, fb = 1;
    uint32_t most = 0;
    if (apart > 16 || apart < -16) {
        e = apart < 0 ? eb : ea;
        fa = apart > 0;
        fb = apart < 0;
    } else {
        fa = apart > 0 ? 1 << apart : 1;
        fb = apart < 0 ? 1 << -apart : 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = net_magnitude(a[i] * fa + b[i] * fb);
        most = size > most ? size : most;
    }
    int s = net_gradient_shift((int32_t)most);
    for (uint32_t i = 0; i < n; i++) {
        y[i] = (int8_t)net_even_shift(a[i] * fa + b[i] * fb, s);
    }
    return e + s;
}
