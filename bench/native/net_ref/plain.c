/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include "net_block.h"
#include "net_math.h"

static int8_t store(const plain_layer *k, int32_t sum, int32_t multiplier, int shift) {
    return (int8_t)net_clamp(net_requantize(sum, multiplier, shift) + k->zero_y, k->low, k->high);
}

static int32_t conv_sum(const plain_layer *k, const int8_t *x, const int8_t *w, int32_t row,
    int32_t column) {
    int32_t sum = 0;
    for (int32_t r = 0; r < k->kh; r++) {
        for (int32_t t = 0; t < k->kw; t++, w += k->cin) {
            int32_t at = row + r, beside = column + t;
            if (at < 0 || at >= k->h || beside < 0 || beside >= k->w) {
                continue;
            }
            const int8_t *pixel = x + (at * k->w + beside) * k->cin;
            for (int32_t i = 0; i < k->cin; i++) {
                sum += (pixel[i] - k->zero_x) * w[i];
            }
        }
    }
    return sum;
}

void plain_conv(const plain_layer *k, const int8_t *x, const int8_t *w, const int32_t *bias,
    const int32_t *multiplier, const int8_t *shift, int8_t *y) {
    int32_t depth = k->kh * k->kw * k->cin;
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++) {
            for (int32_t c = 0; c < k->cout; c++) {
                int32_t sum = conv_sum(k, x, w + c * depth, r * k->stride - k->pad,
                    t * k->stride - k->pad);
                *y++ = store(k, sum + bias[c], multiplier[c], shift[c]);
            }
        }
    }
}

static int32_t depthwise_sum(const plain_layer *k, const int8_t *x, const int8_t *w, int32_t row,
    int32_t column) {
    int32_t sum = 0;
    for (int32_t r = 0; r < k->kh; r++) {
        for (int32_t t = 0; t < k->kw; t++, w += k->cin) {
            int32_t at = row + r, beside = column + t;
            if (at >= 0 && at < k->h && beside >= 0 && beside < k->w) {
                sum += (x[(at * k->w + beside) * k->cin] - k->zero_x) * *w;
            }
        }
    }
    return sum;
}

void plain_depthwise(const plain_layer *k, const int8_t *x, const int8_t *w, const int32_t *bias,
    const int32_t *multiplier, const int8_t *shift, int8_t *y) {
    for (int32_t r = 0; r < k->oh; r++) {
        for (int32_t t = 0; t < k->ow; t++) {
            for (int32_t c = 0; c < k->cout; c++) {
                int32_t sum = depthwise_sum(k, x + c, w + c, r * k->stride - k->pad,
                    t * k->stride - k->pad);
                *y++ = store(k, sum + bias[c], multiplier[c], shift[c]);
            }
        }
    }
}

int plain_pointwise_gradient(const plain_layer *k, const int8_t *g, const int8_t *w,
    const uint16_t *ratio, int32_t *sums, int8_t *gx) {
    int s = 0;
    int8_t *at = gx;
    for (int32_t p = 0; p < k->h * k->w; p++, g += k->cout, at += k->cin) {
        for (int32_t i = 0; i < k->cin; i++) {
            sums[i] = 0;
        }
        for (int32_t c = 0; c < k->cout; c++) {
            int32_t h = net_fold(g[c], ratio[c], k->fold);
            for (int32_t i = 0; i < k->cin; i++) {
                sums[i] += h * w[c * k->cin + i];
            }
        }
        s = net_store_block(sums, (uint32_t)k->cin, at, 1, s, gx, 1, (uint32_t)(at - gx), 0);
    }
    return s;
}
