/* SPDX-License-Identifier: MIT
 * Gradients of the input of layers with paired rows, two pixels at a time. */
#include "net_block.h"
#include "net_kernels.h"
#include "net_fast.h"
#include "net_order.h"
#include "net_sums.h"

typedef struct {
    const net_gradient_args *a;
    int16_t *factors; /* of each two output channels: two for each pixel */
    int32_t rows, columns; /* of the input, in one row where pixels only follow each other */
    int32_t pixels; /* at hand, 1 or 2 */
    int is_flat;
    int32_t apart; /* sums of a pixel; those behind its channels belong to filled words */
} job;

/* H of section 5 of one pixel, whose gradient is g; none: 0. Two numbers of 16 bits at once. */
static void fold_pixel(const job *j, const int8_t *g, uint32_t *to) {
    const uint16_t *ratio = j->a->ratio, *end = ratio + j->a->layer->cout;
    int fold = j->a->fold, half = 1 << (fold - 1), step = j->pixels;
    if (!g) {
        for (; ratio != end; ratio += 2, to += step) {
            *to = 0;
        }
    }
    for (; ratio != end; ratio += 2, g += 2, to += step) {
        int32_t first = (g[0] * (int32_t)ratio[0] + half) >> fold;
        int32_t second = (g[1] * (int32_t)ratio[1] + half) >> fold;
        *to = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
    }
}

/* Both pixels' factors through tap (i, t); whether there are any. */
static int fold_tap(const job *j, int32_t row, int32_t column, int32_t i, int32_t t) {
    const net_conv_args *k = j->a->layer;
    int32_t x = column + k->pad_left - t;
    uint32_t y = 0, z;
    const int8_t *g[2] = { 0, 0 };
    int has_row = j->is_flat || net_has_output(row + k->pad_top - i, k->stride_h, k->oh, &y);
    for (int32_t n = 0; n < j->pixels && has_row; n++, x++) {
        if (j->is_flat) {
            g[n] = j->a->g + x * k->cout;
        } else if (net_has_output(x, k->stride_w, k->ow, &z)) {
            g[n] = j->a->g + (y * k->ow + z) * k->cout;
        }
    }
    if (!g[0] && !g[1]) {
        return 0;
    }
    for (int32_t n = 0; n < j->pixels; n++) {
        fold_pixel(j, g[n], (uint32_t *)j->factors + n);
    }
    return 1;
}

/* Add what comes through one tap of n input channels, whose weights are w. */
static void spread(const job *j, const int8_t *w, uint32_t n, uint32_t tap, int32_t *sums) {
    const net_conv_args *k = j->a->layer;
    if (!n) {
        return;
    }
    net_spread_args s;
    s.rows = w + 2 * tap * n;
    s.step = 2 * net_row_bytes(n * k->kh * k->kw);
    s.apart = 4;
    s.next = 8;
    s.factors = j->factors;
    s.end = j->factors + j->pixels * k->cout;
    s.sums = sums;
    s.others = sums + j->apart;
    s.words = (int32_t)((n + 3) >> 2);
    if (j->pixels == 2) {
        net_spread_2(&s);
    } else {
        net_spread_1(&s);
    }
}

static void pixels(const job *j, int32_t row, int32_t column) {
    const net_conv_args *k = j->a->layer;
    int32_t *sums = j->a->work;
    net_clear(sums, (uint32_t)(j->pixels * j->apart + 3) >> 2);
    uint32_t tap = 0;
    for (int32_t i = 0; i < k->kh; i++) {
        for (int32_t t = 0; t < k->kw; t++, tap++) {
            if (fold_tap(j, row, column, i, t)) {
                spread(j, k->wt, k->split, tap, sums);
                spread(j, k->w, (uint32_t)k->cin - k->split, tap, sums + k->split);
            }
        }
    }
}

/* Whether every tap of a row of weights begins with a word. */
static int has_words(const net_conv_args *k) {
    return k->kh * k->kw == 1 || !((k->cin | k->split) & 3);
}

static int store_pixel(const net_gradient_args *a, const int32_t *sums, int8_t *at, int s) {
    uint32_t n = a->layer->cin;
    if (n & 3) {
        return net_store_block(sums, n, at, 1, s, a->gx, 1, (uint32_t)(at - a->gx), 0);
    }
    if (!s || !net_is_small(net_bits(sums, n >> 2), s)) {
        int from = s;
        s = net_block_shift(net_most(sums, n >> 2), s);
        net_halve(a->gx, 1, (uint32_t)(at - a->gx), 0, s - from);
    }
    net_store_words(sums, n >> 2, at, 4, s);
    return s;
}

int net_input_gradient_fast(const net_gradient_args *a) {
    const net_conv_args *k = a->layer;
    if (k->groups > 1 || !k->cout || (k->cout & 1) || !has_words(k)) {
        return net_input_gradient_plain(a);
    }
    job j = { a, (int16_t *)(a->work + 2 * (k->cin + 3)), k->h, k->w_in, 1, 0, k->cin + 3 };
    j.is_flat = k->kh * k->kw * k->stride_h * k->stride_w == 1 && !k->pad_top && !k->pad_left
        && k->oh == k->h && k->ow == k->w_in;
    if (j.is_flat) {
        j.columns *= j.rows;
        j.rows = 1;
    }
    int8_t *at = a->gx;
    int s = 0;
    for (int32_t row = 0; row < j.rows; row++) {
        for (int32_t column = 0; column < j.columns; column += j.pixels) {
            j.pixels = column + 1 < j.columns ? 2 : 1;
            pixels(&j, row, column);
            for (int32_t n = 0; n < j.pixels; n++, at += k->cin) {
                s = store_pixel(a, a->work + n * j.apart, at, s);
            }
        }
    }
    return s;
}
